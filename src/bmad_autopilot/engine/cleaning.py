"""Runs whose time has come go to the archive, with what git holds for them let go of."""

from collections.abc import Collection, Iterable
from contextlib import suppress

from ..core.errors import AutopilotError
from ..github.git import Git
from ..github.holding import let_go
from ..project.root import Root
from ..runs.layout import runs_folder
from ..runs.retention import Old, clean_at_start


def clean_runs(root: Root, now: float, *, busy: Collection[str] = ()) -> list[Old]:
    """Silent where nothing is due, and no reason not to start."""
    moved = clean_at_start(runs_folder(root.path), now, busy=busy)
    let_go_of(root, [old.run for old in moved])
    return moved


def let_go_of(root: Root, runs: Iterable[str]) -> None:
    """The trees that were held while these runs went on. What git refuses stays held."""
    git = Git(root.path) if root.common_dir is not None else None
    for run in runs:
        with suppress(AutopilotError):
            if git is not None:
                let_go(git, run)

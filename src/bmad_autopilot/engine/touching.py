"""Which paths a story's calls have changed, from the trees that their supervisors saw before and after."""

from collections.abc import Callable, Iterable

from ..agents.attempts import read_result, read_spec
from ..core.errors import FileError
from ..github.git import Git
from ..github.trees import changes


def touched_paths(
    git: Git, folders: Iterable[str], otherwise: Callable[[], tuple[str | None, str | None]]
) -> set[str]:
    """`otherwise`: the trees to compare where a call was cut off before anybody could look."""
    paths: set[str] = set()
    for before, after in {trees_of(folder) or otherwise() for folder in folders}:
        if before and after and before != after:
            found = changes(git, before, after)
            paths |= {path for change in found for path in (change.path, change.old_path)}
    return paths


def trees_of(folder: str) -> tuple[str, str] | None:
    try:
        spec, result = read_spec(folder), read_result(folder)
    except FileError:
        return None
    return (spec.tree, result.tree) if spec.tree and result and result.tree else None

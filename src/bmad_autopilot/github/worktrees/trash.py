"""Folders on their way out, renamed first: a kill in the middle leaves a worktree that is whole, or none."""

import os
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress

PREFIX = ".bmad-removed-"


def set_aside(folder: str) -> str:
    parent, name = os.path.split(folder)
    aside = os.path.join(parent, f"{PREFIX}{name}-{os.urandom(4).hex()}")
    os.rename(folder, aside)
    return aside


def throw_away(aside: str) -> bool:
    """Whether all of it is gone. Links are not followed."""
    shutil.rmtree(aside, onerror=_insist)
    return not os.path.lexists(aside)


def sweep(parent: str) -> None:
    """What earlier ones have left."""
    try:
        names = os.listdir(parent)
    except OSError:
        return
    for name in names:
        if name.startswith(PREFIX):
            throw_away(os.path.join(parent, name))


def _insist(function: Callable[[str], object], path: str, error: object) -> None:
    """Some package managers write folders that nobody may write to."""
    with suppress(OSError):
        for folder in (os.path.dirname(path), path):
            if stat.S_ISDIR(os.lstat(folder).st_mode):
                os.chmod(folder, 0o700)
        if function in (os.unlink, os.rmdir):
            function(path)
        else:
            shutil.rmtree(path, ignore_errors=True)

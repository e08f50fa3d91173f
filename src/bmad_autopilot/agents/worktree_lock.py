"""One agent per work tree: a lock that the shim holds for as long as its agent may be working."""

import fcntl
import os
import time
from contextlib import suppress

from ..core.errors import ConflictError, FileError, Place
from ..files import read_bytes, write_atomic
from ..project.gitdir import find_work_tree
from .attempts import State, state_of
from .settling import settle_lost

OWNER = "bmad-autopilot-agent"  # a file beside it that says whose it is
SECONDS = 5.0  # a shim that has written its result is gone within milliseconds


def lock_path(worktree: str) -> str:
    """The work tree's own git folder: whatever path leads to the work tree, it is the same. The folder itself is
    locked, because a file in it can be removed."""
    tree = find_work_tree(os.path.realpath(worktree))
    return tree.git_dir if tree is not None else os.path.realpath(worktree)


def take(worktree: str, folder: str, seconds: float = SECONDS) -> int:
    """The lock, for the attempt in `folder`, as an open descriptor. What an earlier attempt there has left
    behind, killed with its shim, is ended first."""
    path = lock_path(worktree)
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        _wait(fd, path, seconds)
        before = _owner(path)
        if before and before != folder and state_of(before) is State.LOST:
            with suppress(FileError):  # its record is gone or broken: nobody can say more of it
                settle_lost(before)
        write_atomic(os.path.join(path, OWNER), folder.encode("utf-8", "surrogateescape") + b"\n")
    except BaseException:
        os.close(fd)
        raise
    return fd


def _wait(fd: int, path: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            owner = _owner(path)
            # Its shim is only tidying up once there is a result; before that there is no use in waiting.
            tidying = owner and state_of(owner) is not State.RUNNING
            if time.monotonic() >= deadline or not tidying:
                raise ConflictError(
                    "another agent works in this work tree",
                    place=Place(path),
                    found=owner or None,
                    expected="one agent per work tree",
                    hint="bmad agent list",
                ) from None
        time.sleep(0.002)


def _owner(path: str) -> str:
    """Who had it last."""
    try:
        return read_bytes(os.path.join(path, OWNER), limit=8192).decode("utf-8", "surrogateescape").strip()
    except FileError:
        return ""

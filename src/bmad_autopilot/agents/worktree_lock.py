"""One agent per work tree: a lock that the shim holds for as long as its agent may be working."""

import fcntl
import os
import time

from ..core.errors import ConflictError, Place
from ..files import read_bytes
from ..project.gitdir import find_work_tree
from .attempts import State, settle_lost, state_of

NAME = "bmad-autopilot-agent.lock"
SECONDS = 5.0  # a shim that has written its result is gone within milliseconds


def lock_path(worktree: str) -> str:
    """In the work tree's own git folder: whatever path leads to the work tree, the lock is the same file."""
    tree = find_work_tree(os.path.realpath(worktree))
    if tree is not None:
        return os.path.join(tree.git_dir, NAME)
    return os.path.join(os.path.realpath(worktree), f".{NAME}")


def take(worktree: str, folder: str, seconds: float = SECONDS) -> int:
    """The lock, for the attempt in `folder`, as an open descriptor. What an earlier attempt there has left
    behind, killed with its shim, is ended first."""
    path = lock_path(worktree)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _wait(fd, path, seconds)
        before = _owner(path)
        if before and before != folder and state_of(before) is State.LOST:
            settle_lost(before)
        data = folder.encode("utf-8", "surrogateescape")
        os.pwrite(fd, data + b"\n", 0)
        os.ftruncate(fd, len(data) + 1)
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
    return read_bytes(path, limit=8192).decode("utf-8", "surrogateescape").strip()

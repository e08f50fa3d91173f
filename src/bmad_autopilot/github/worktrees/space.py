"""Is there room for another worktree?"""

import os
from stat import S_ISREG

from ...core.errors import AutopilotError, Place
from ..git import Git
from ..paths import encode

FACTOR = 1.5  # for what is built there
RESERVE = 256_000_000


def tracked_bytes(git: Git) -> int:
    """Of the files in the checkout: a sparse one holds fewer than git tracks, LFS makes them larger."""
    top, total = os.fsencode(git.top), 0
    for path in git.ask("ls-files", "-z", "--cached").fields:
        try:
            info = os.lstat(os.path.join(top, encode(path)))
        except OSError:
            continue
        total += info.st_size if S_ISREG(info.st_mode) else 0
    return total


def refuse_full(folder: str, tracked: int, copied: int) -> None:
    disk = os.statvfs(folder)
    free, needed = disk.f_bavail * disk.f_frsize, int(tracked * FACTOR) + copied + RESERVE
    if free < needed:
        raise AutopilotError(
            "there is not enough room on the disk",
            place=Place(folder),
            found=f"{free / 1e6:.0f} MB free",
            expected=f"{needed / 1e6:.0f} MB",
            hint="make room, work on fewer epics at once, or set `[worktrees] folder` to another disk",
        )

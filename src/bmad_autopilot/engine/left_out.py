"""What was changed or untracked before a run began, and is left out of its commits: a file of the run, since the
journal clips what is long, and a path lost there would be committed after a resume."""

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from ..core.errors import FileError, Place
from ..files import read_bytes, write_atomic
from .lane import Lane, lane_from_json

NAME = "left-out"
MAX_BYTES = 256 * 1024 * 1024  # git lists no more of them


def keep_left_out(run: str, paths: Iterable[str]) -> None:
    write_atomic(
        os.path.join(run, NAME), b"".join(path.encode("utf-8", "surrogateescape") + b"\0" for path in paths)
    )


def leave_out_output(run: str, lane: Lane, top: str) -> Lane:
    """With the files of this work tree that our own words go to. They change with every line: no tree would stay
    what it was when it was checked."""
    added = tuple(path for path in own_output(top) if path not in lane.dirty)
    if added:
        lane = lane._replace(dirty=(*lane.dirty, *added))
        keep_left_out(run, lane.dirty)
    return lane


def own_output(top: str) -> tuple[str, ...]:
    """By their paths from the top of the work tree."""
    inside = os.path.realpath(top) + os.sep
    found = []
    for number in (1, 2):
        with suppress(OSError):  # closed; or a system that does not tell its path
            if stat.S_ISREG(os.fstat(number).st_mode):
                found.append(os.readlink(f"/proc/self/fd/{number}"))
    return tuple(dict.fromkeys(path[len(inside) :] for path in found if path.startswith(inside)))


def frozen_lane(run: str, head: Mapping[str, Any]) -> Lane:
    """The lane of a run's first entry, with what is left out. Without all of that nobody goes on: it would be
    committed."""
    lane, count = lane_from_json(head), head.get("dirty")
    path = os.path.join(run, NAME)
    raw = read_bytes(path, limit=MAX_BYTES) if count or os.path.exists(path) else b""
    dirty = tuple(name.decode("utf-8", "surrogateescape") for name in raw.split(b"\0")[:-1])
    if not isinstance(count, int) or len(dirty) < count:  # more: a log of ours that came later
        raise FileError(
            "does not name what was changed before the run began",
            place=Place(path),
            found=f"{len(dirty)} paths",
            expected=f"{count} paths",
            hint=f"commit or stash what is yours, then remove the run: rm -r {run}",
        )
    return lane._replace(dirty=dirty)

"""What was changed or untracked before a run began, and is left out of its commits: a file of the run, since the
journal clips what is long, and a path lost there would be committed after a resume."""

import os
from collections.abc import Iterable, Mapping
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


def frozen_lane(run: str, head: Mapping[str, Any]) -> Lane:
    """The lane of a run's first entry, with what is left out. Without all of that nobody goes on: it would be
    committed."""
    lane, count = lane_from_json(head), head.get("dirty")
    path = os.path.join(run, NAME)
    raw = read_bytes(path, limit=MAX_BYTES) if count else b""
    dirty = tuple(name.decode("utf-8", "surrogateescape") for name in raw.split(b"\0")[:-1])
    if len(dirty) != count:
        raise FileError(
            "does not name what was changed before the run began",
            place=Place(path),
            found=f"{len(dirty)} paths",
            expected=f"{count} paths",
            hint=f"commit or stash what is yours, then remove the run: rm -r {run}",
        )
    return lane._replace(dirty=dirty)

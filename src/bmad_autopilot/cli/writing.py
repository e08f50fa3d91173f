"""Putting a file into a project: written, already so, kept because it is the user's, or refused."""

import os
from collections.abc import Callable
from typing import NamedTuple

from ..core.errors import AutopilotError
from ..files import read_bytes, write_atomic

WRITTEN = "written"
UNCHANGED = "unchanged"
KEPT = "kept"
REFUSED = "refused"


class Outcome(NamedTuple):
    what: str
    path: str
    why: str = ""


def put(
    path: str, make: Callable[[bytes], bytes], *, inside: str, ours: Callable[[bytes], bool], dry_run: bool
) -> Outcome:
    """Write what `make` gives for the file's present content (b"" where there is none). A file that is there and
    not `ours` is kept. Links may not lead out of `inside`."""
    real = os.path.realpath(path)
    if not real.startswith(os.path.realpath(inside) + os.sep):
        return Outcome(REFUSED, path, f"a link leads out of the project, to {real}")
    try:
        there = os.path.lexists(real)
        before = read_bytes(real) if there else b""
        after = make(before)
        if there and before == after:
            return Outcome(UNCHANGED, path, "already up to date")
        if there and not ours(before):
            return Outcome(KEPT, path, "yours")
        if not dry_run:
            os.makedirs(os.path.dirname(real), exist_ok=True)
            write_atomic(real, after)
    except AutopilotError as error:
        return Outcome(REFUSED, path, ", found ".join(filter(None, (error.message, error.found))))
    except OSError as error:
        return Outcome(REFUSED, path, str(error.strerror))
    return Outcome(WRITTEN, path)

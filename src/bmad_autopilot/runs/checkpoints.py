"""Checkpoints: a run as it stood after a completed step, recorded in the journal entry of that step."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ..core.errors import FileError, Place, UsageError
from ..files import TEMPORARY, write_atomic
from .journal import Journal
from .journal_lines import Entry
from .json_files import list_of, number_of, text_of
from .layout import find_runs
from .state import SHORT_ID, Artefact, artefact_of

ARTEFACTS = "artefacts"
MAX_ARTEFACT = 4 * 1024 * 1024  # bytes of a step's output
MAX_SHOWN = 8  # that one prefix may mean

_DIGEST = re.compile(r"[0-9a-f]{64}")
_PREFIX = re.compile(r"[0-9a-f]{1,64}")
_CUT = "\n\n… [cut: {} of {} bytes are kept]\n"


class Checkpoint(NamedTuple):
    id: str  # the digest's first six digits, unless several share them
    digest: str
    step: int  # its number in the run
    name: str
    story: str
    variables: Mapping[str, Any]
    artefacts: tuple[Artefact, ...]
    rows: Mapping[str, str]  # of the board
    head: str | None
    branch: str
    tree: str | None  # the work tree, with what was not committed
    ref: str  # holds that tree
    run: str
    folder: str
    session: str
    at: float
    entry: int  # the number of its entry in the journal


def checkpoints_of(folder: str, session: str = "", *, taken_over: bool = False) -> list[Checkpoint]:
    """Of one run, the oldest first. A step that was completed twice in the same state counts once, the last time.
    A journal that cannot be read holds none. `taken_over`: also those of the run whose checkpoint it began at."""
    try:
        entries = Journal(folder, lambda value: value).entries()
    except FileError:
        return []
    found: dict[str, Checkpoint] = {}
    for entry in entries if taken_over else entries[_taken_over(entries) :]:
        one = _checkpoint(entry, folder, session or os.path.basename(os.path.dirname(folder)))
        if one is not None:
            found.pop(one.digest, None)
            found[one.digest] = one
    return list(found.values())


def _taken_over(entries: list[Entry]) -> int:
    """How many entries a run that began at a checkpoint has from another: what they hold is that one's."""
    forked = entries[0].data.get("forked_from") if entries else None
    last = number_of(forked.get("entry")) if isinstance(forked, dict) else 0
    return sum(entry.n <= last for entry in entries)


def all_checkpoints(runs: str) -> list[Checkpoint]:
    """Of every run that is not in the archive, the newest first."""
    found = [
        one
        for session, name in find_runs(runs)
        for one in checkpoints_of(os.path.join(runs, session, name), session)
    ]
    found.sort(key=lambda one: (one.at, one.run, one.entry), reverse=True)
    return found


def find_checkpoint(runs: str, prefix: str) -> Checkpoint:
    """The one whose id or digest begins so."""
    wanted = prefix.strip().lower()
    known = all_checkpoints(runs)
    found = [one for one in known if one.digest.startswith(wanted)] if _PREFIX.fullmatch(wanted) else []
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"{len(found)} checkpoints begin with {wanted}",
            found=_named(found, _telling_length(found)),
            hint="give more of its digits",
        )
    raise UsageError(
        f"there is no checkpoint {prefix[:80]!r}",
        expected=_named(known, SHORT_ID) if known else "none is recorded in this project yet",
        hint="bmad resume --list shows them all",
    )


def entries_until(at: Checkpoint) -> list[Entry]:
    """What the run's journal said by then."""
    return [entry for entry in Journal(at.folder, lambda value: value).entries() if entry.n <= at.entry]


def artefacts_until(at: Checkpoint) -> tuple[Artefact, ...]:
    """What the run had produced by then, the last of each path."""
    before = (one for one in checkpoints_of(at.folder, at.session, taken_over=True) if one.entry <= at.entry)
    return tuple({made.path: made for one in (*before, at) for made in one.artefacts}.values())


def write_artefact(run: str, step: int, text: str) -> str:
    """A step's output, whole or cut with a mark. Its path from the run's folder comes back."""
    path = os.path.join(ARTEFACTS, f"step-{step:02}-output.md")
    folder, target = os.path.join(run, ARTEFACTS), os.path.join(run, path)
    for place in (folder, target):
        if os.path.islink(place):  # an agent may have put it there
            raise FileError("is a link", place=Place(place), expected="a place of our own", hint=f"rm {place}")
    os.makedirs(folder, exist_ok=True)
    write_atomic(target, _bounded(text.encode("utf-8", "replace")))
    return path


def sweep_artefacts(run: str) -> None:
    """What a kill in the middle of a write has left there. For whoever is the only one to write."""
    folder = os.path.join(run, ARTEFACTS)
    with suppress(OSError):
        for name in os.listdir(folder):
            if name.endswith(TEMPORARY):
                os.unlink(os.path.join(folder, name))


def _bounded(raw: bytes) -> bytes:
    if len(raw) <= MAX_ARTEFACT:
        return raw
    kept = raw[:MAX_ARTEFACT].decode("utf-8", "ignore").encode()
    return kept + _CUT.format(f"{len(kept):,}", f"{len(raw):,}").encode()


def _checkpoint(entry: Entry, folder: str, session: str) -> Checkpoint | None:
    """None: the entry holds none that can be understood."""
    data = entry.data.get("checkpoint")
    if not isinstance(data, dict) or data.get("saved") is False:  # its step is over, and nobody can go back to it
        return None
    digest = text_of(data.get("digest"))
    if not _DIGEST.fullmatch(digest):
        return None
    return Checkpoint(
        id=digest[:SHORT_ID],
        digest=digest,
        step=number_of(data.get("step")),
        name=text_of(data.get("name")),
        story=text_of(data.get("story")),
        variables=_mapping(data.get("variables")),
        artefacts=tuple(artefact_of(one) for one in list_of(data.get("artefacts")) if isinstance(one, dict)),
        rows={name: text_of(value) for name, value in _mapping(data.get("rows")).items()},
        head=text_of(data.get("head")) or None,
        branch=text_of(data.get("branch")),
        tree=text_of(data.get("tree")) or None,
        ref=text_of(data.get("ref")),
        run=os.path.basename(folder),
        folder=folder,
        session=session,
        at=entry.at,
        entry=entry.n,
    )


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _telling_length(found: list[Checkpoint]) -> int:
    """As many digits as it takes to tell these apart."""
    digests = {one.digest for one in found}
    lengths = range(SHORT_ID, len(found[0].digest) + 1)
    return next((n for n in lengths if len({digest[:n] for digest in digests}) == len(digests)), SHORT_ID)


def _named(found: list[Checkpoint], length: int) -> str:
    listed = [f"{one.digest[:length]} ({one.run} step {one.step} {one.name})" for one in found[:MAX_SHOWN]]
    more = f", … {len(found) - MAX_SHOWN} more" if len(found) > MAX_SHOWN else ""
    return ", ".join(listed) + more

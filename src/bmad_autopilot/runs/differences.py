"""What two checkpoints differ in, beside the files of their work trees: variables, the board's rows, artefacts."""

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ..core.errors import FileError
from ..files import read_bytes
from .checkpoints import MAX_ARTEFACT, Checkpoint
from .layout import is_within

_MISSING = object()


class Difference(NamedTuple):
    name: str
    before: Any  # None: it was not there
    after: Any
    was_there: bool = True
    is_there: bool = True


class Differences(NamedTuple):
    variables: tuple[Difference, ...]
    rows: tuple[Difference, ...]
    artefacts: tuple[Difference, ...]  # by path; before and after are what they are called
    head: Difference | None


def differences(one: Checkpoint, other: Checkpoint) -> Differences:
    head = Difference("head", one.head, other.head) if one.head != other.head else None
    return Differences(
        _changed(one.variables, other.variables), _changed(one.rows, other.rows), _artefacts(one, other), head
    )


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Difference, ...]:
    found = []
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name, _MISSING), after.get(name, _MISSING)
        if was is _MISSING or now is _MISSING or was != now:
            there = (was is not _MISSING, now is not _MISSING)
            found.append(Difference(name, was if there[0] else None, now if there[1] else None, *there))
    return tuple(found)


def _artefacts(one: Checkpoint, other: Checkpoint) -> tuple[Difference, ...]:
    """One of the same path in two runs is the same where it holds the same."""
    before = {artefact.path: artefact.name for artefact in one.artefacts}
    after = {artefact.path: artefact.name for artefact in other.artefacts}
    changed = _changed(before, after)
    if one.folder == other.folder:
        return changed
    named = {difference.name for difference in changed}
    both = [path for path in before if path in after and path not in named]
    differing = [path for path in both if _content(one.folder, path) != _content(other.folder, path)]
    return (*changed, *(Difference(path, before[path], after[path]) for path in differing))


def _content(folder: str, path: str) -> bytes | None:
    """Of a file inside the run; nothing else is opened, whatever its journal names."""
    if not is_within(folder, path):
        return None
    with suppress(FileError):
        return read_bytes(os.path.join(folder, path), limit=2 * MAX_ARTEFACT)
    return None

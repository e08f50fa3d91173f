"""A run's folder as it stood at a checkpoint, as the beginning of another run. What came later is not in it."""

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ..core.errors import FileError, Place
from ..files import copy_file, kind_of, write_atomic
from .checkpoints import Checkpoint, entries_until
from .journal import NAME as JOURNAL
from .journal_lines import Entry, make
from .questions import FOLDER as QUESTIONS

MAX_COPIED = 1024 * 1024 * 1024  # bytes of one file: the log of a long call is the largest
_KEPT = ("left-out", "settings.toml")  # files that a run begins with


def copy_run(at: Checkpoint, folder: str, head: Mapping[str, Any], forked: Entry) -> None:
    """Everything up to the checkpoint, into the new run's folder. `head`: what its first entry says otherwise;
    `forked`: the entry that follows the last one taken over. The journal comes last: without one a folder is no
    run."""
    entries = entries_until(at)
    if not entries:
        raise FileError("has no entry up to this checkpoint", place=Place(os.path.join(at.folder, JOURNAL)))
    for name in _KEPT:
        _copy(os.path.join(at.folder, name), os.path.join(folder, name))
    _copy_steps(at.folder, folder, {_number(entry) for entry in entries if entry.kind == "step"})
    _copy_questions(at.folder, folder, {str(entry.data.get("question")) for entry in entries if _asks(entry)})
    _copy_artefacts(at.folder, folder, entries)
    first = entries[0]._replace(data={**entries[0].data, **head})
    written = [first, *entries[1:], forked._replace(n=entries[-1].n + 1)]
    lines = [make(entry.n, entry.at, entry.kind, entry.data, lambda value: value)[1] for entry in written]
    write_atomic(os.path.join(folder, JOURNAL), b"".join(lines))


def _number(entry: Entry) -> int:
    number = entry.data.get("number")
    return number if isinstance(number, int) else 0


def _asks(entry: Entry) -> bool:
    return entry.kind == "asked"


def _copy_steps(old: str, new: str, numbers: set[int]) -> None:
    """Calls that have ended do not change any more: a link will do, where the file system has them."""
    with suppress(FileNotFoundError):
        for name in os.listdir(f"{old}/steps"):
            if name.split("-")[0].isdigit() and int(name.split("-")[0]) in numbers:
                shutil.copytree(f"{old}/steps/{name}", f"{new}/steps/{name}", copy_function=_link, ignore=_odd)


def _copy_questions(old: str, new: str, ids: set[str]) -> None:
    for id in sorted(ids):
        name = f"{int(id[1:]):03}.json" if id[1:].isdigit() else ""
        if name:
            os.makedirs(f"{new}/{QUESTIONS}", exist_ok=True)
            _copy(f"{old}/{QUESTIONS}/{name}", f"{new}/{QUESTIONS}/{name}")


def _copy_artefacts(old: str, new: str, entries: list[Entry]) -> None:
    made = (entry.data.get("checkpoint") for entry in entries)
    pages = (one for checkpoint in made if isinstance(checkpoint, dict) for one in checkpoint.get("artefacts", ()))
    for page in pages:
        path = os.path.normpath(str(page.get("path", "")) if isinstance(page, dict) else "")
        if path.startswith("artefacts/"):
            os.makedirs(os.path.dirname(f"{new}/{path}"), exist_ok=True)
            _copy(f"{old}/{path}", f"{new}/{path}")


def _copy(source: str, target: str) -> None:
    """One that is missing is no error; a link or a device in its place is, because agents can write there."""
    if os.path.lexists(source):
        copy_file(source, target, limit=MAX_COPIED)


def _odd(folder: str, names: list[str]) -> list[str]:
    """A link, a pipe or a device that an agent left in a folder of ours stays behind."""
    kept = ("a regular file", "a directory")
    return [name for name in names if kind_of(os.path.join(folder, name)) not in kept]


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        copy_file(source, target, limit=MAX_COPIED)
    return target

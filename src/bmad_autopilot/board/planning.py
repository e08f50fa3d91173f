"""How far planning has come: which documents are there, on the way from an idea to the board.

The folder decides. bmm-workflow-status.yaml is believed where the file it names is there, and what it says was
skipped is kept; bmad-help.csv leads to folders that no setting names."""

import os
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, NamedTuple

from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import Place
from ..project.bmad import Bmad
from ..project.folders import Folders
from .epics import read_all_epics
from .epics_files import find_epics_files
from .planning_names import ARTEFACTS, BOARD, EPICS, UX, named, order
from .planning_places import Places, find_places
from .planning_progress import why_unfinished
from .planning_status import read_said
from .planning_walk import walk

MAX_OPENED = 20  # of the files that may be one document


class Source(Enum):
    """How we know of a document."""

    FILE = "in the planning folders"
    STATUS = "named in bmm-workflow-status.yaml"
    HELP = "where bmad-help.csv leads"


class Artefact(NamedTuple):
    """One planning document."""

    name: str
    path: str | None = None  # None: it is not there, or not finished
    source: Source | None = None
    skipped: bool = False  # bmm-workflow-status.yaml says that it was left out on purpose
    begun: str | None = None  # one that was not finished, where there is no other


class Planning(NamedTuple):
    artefacts: Mapping[str, Artefact]  # all of ARTEFACTS, in their order
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def there(self) -> frozenset[str]:
        return frozenset(name for name, one in self.artefacts.items() if one.path is not None)

    @property
    def skipped(self) -> frozenset[str]:
        return frozenset(name for name, one in self.artefacts.items() if one.skipped and one.path is None)

    @property
    def is_over(self) -> bool:
        """There is a board: from here on it says what comes next."""
        return self.artefacts[BOARD].path is not None


def planning(folders: Folders, bmad: Bmad, knowledge: str | None = None) -> Planning:
    """`knowledge`: BMAD's project_knowledge, where the settings name it."""
    said = read_said(folders)
    look = _Look(folders, list(said.notes))
    found: dict[str, tuple[str, Source]] = {}
    for name, path in said.done:
        # What sprint planning left counts only where it is the board that the settings lead to.
        if name not in found and name != BOARD and look.is_finished(name, path):
            found[name] = path, Source.STATUS
    places = find_places(folders, bmad, knowledge, said.file)
    for name, inferred in look.infer(places, said.others).items():
        found.setdefault(name, inferred)
    artefacts = {}
    for name in ARTEFACTS:
        path_, source = found.get(name, (None, None))
        begun = None if path_ else look.begun.get(name)
        artefacts[name] = Artefact(name, path_, source, name in said.skipped, begun)
    return Planning(artefacts, tuple(look.notes))


class _Candidate(NamedTuple):
    order: tuple[Any, ...]
    path: str
    source: Source


class _Look:
    """One look at the folders of one project."""

    def __init__(self, folders: Folders, notes: list[Diagnostic]) -> None:
        self.folders = folders
        self.notes = notes
        self.begun: dict[str, str] = {}

    def infer(self, places: Places, others: frozenset[str]) -> dict[str, tuple[str, Source]]:
        found: dict[str, tuple[str, Source]] = {}
        for name, listed in self._candidates(places, others).items():
            chosen = self._first_finished(name, sorted(listed)[:MAX_OPENED])
            if chosen is not None:
                found[name] = chosen
        epics = self._epics(places.own)
        if epics is not None:
            found[EPICS] = epics, Source.FILE
        board = self.folders.board
        if board is not None and os.path.lexists(board):
            found[BOARD] = board, Source.FILE
        return found

    def _candidates(self, places: Places, others: frozenset[str]) -> dict[str, list[_Candidate]]:
        leave_out = [path for path in (self.folders.implementation, self.folders.stories) if path]
        walked = walk([*places.own, *places.told], leave_out)
        if not walked.complete:
            self._note("search-cut", "is too large to be searched whole for plans", self.folders.output)
        found: dict[str, list[_Candidate]] = {}
        for root, part in walked.files:
            path = f"{root}/{part}"
            match = named(part) if path not in others else None
            if match is None or _is_empty(path):
                continue
            name, rank = match
            if root in places.own:
                candidate = _Candidate((places.own.index(root), *order(part, rank)), path, Source.FILE)
            elif name in places.told[root]:
                candidate = _Candidate((len(places.own), *order(part, rank)), path, Source.HELP)
            else:
                continue
            found.setdefault(name, []).append(candidate)
        return found

    def _first_finished(self, name: str, listed: Iterable[_Candidate]) -> tuple[str, Source] | None:
        for one in listed:
            if name == UX and _lacks_peer(one.path):
                self._unfinished(name, one.path, "was begun and not finished: it is one of two files")
            elif self.is_finished(name, one.path):
                return one.path, one.source
        return None

    def _epics(self, own: Iterable[str]) -> str | None:
        """Epics without a story are a list of wishes: sprint planning could make no board of them."""
        others = [root for root in own if root != self.folders.planning]
        files = find_epics_files(self.folders.planning, others)
        if not files:
            return None
        if next(read_all_epics(files).stories(), None) is None:
            self._unfinished(EPICS, files[0], "has no story yet")
            return None
        return files[0] if all(self.is_finished(EPICS, path) for path in files) else None

    def is_finished(self, name: str, path: str) -> bool:
        reason = why_unfinished(name, path)
        if reason is not None:
            self._unfinished(name, path, reason)
        return reason is None

    def _unfinished(self, name: str, path: str, reason: str) -> None:
        self.begun.setdefault(name, path)
        self._note("unfinished-document", reason, path, "its step goes on with it: bmad flow run")

    def _note(self, code: str, message: str, path: str, hint: str | None = None) -> None:
        note = Diagnostic(Severity.WARNING, code, message, Place(path), hint)
        if note not in self.notes:
            self.notes.append(note)


def _is_empty(path: str) -> bool:
    try:
        return os.path.getsize(path) == 0
    except OSError:  # gone meanwhile
        return True


def _lacks_peer(path: str) -> bool:
    """The UX skill's two files count together."""
    folder, _, name = path.rpartition("/")
    peer = {"DESIGN.md": "EXPERIENCE.md", "EXPERIENCE.md": "DESIGN.md"}.get(name)
    return peer is not None and "/ux-designs/" in path and not os.path.isfile(f"{folder}/{peer}")

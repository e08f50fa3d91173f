"""Finds the planning documents that exist, to determine how far planning has come.

The folder decides. bmm-workflow-status.yaml counts if the file it names exists, and its skipped documents count as
skipped; bmad-help.csv names folders that no setting names."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

from ..core.errors import Diagnostic, FileError, Location, Severity
from ..io.files import read_text
from ..project.bmad_install import BmadInstall, Era
from ..project.folders import Folders, resolve_path
from ..project.root import BMAD_FOLDERS
from . import markdown
from .epics_file import find_epics_files, read_all_epics
from .markdown import read_front_matter, text_field
from .planning_names import (
    ARCHITECTURE,
    ARTEFACTS,
    BOARD,
    BRIEF,
    EPICS,
    MEMLOG,
    PRD,
    READINESS,
    RESEARCH,
    UX,
    classify_document,
    document_of_workflow,
    read_help,
    sort_key,
)
from .workflow_status import read_planning_status

# The folders to search for planning documents.


class PlanningFolders(NamedTuple):
    general: tuple[str, ...]  # folders for any document
    from_help: dict[str, set[str]]  # folders that only bmad-help.csv names, with their documents


def find_planning_folders(
    folders: Folders, bmad: BmadInstall, knowledge: str | None, status_file: str | None
) -> PlanningFolders:
    own = [folders.planning, folders.output]
    if status_file is not None:
        own.append(os.path.dirname(status_file))
    if bmad.era is Era.V4:
        own.append(f"{folders.base}/docs")
    own = list(dict.fromkeys(root.rstrip("/") for root in own))
    # Settings that name the project's top would make us search all of its sources.
    own = [root for root in own if root != folders.base] or own[:1]
    told: dict[str, set[str]] = {}
    for row in read_help(bmad.folder):
        name = document_of_workflow(row.workflow)
        for location in row.locations if name else ():
            folder = _folder(location, folders, knowledge or f"{folders.base}/docs")
            if name and folder and not any(f"{folder}/".startswith(f"{root}/") for root in own):
                told.setdefault(folder, set()).add(name)
    return PlanningFolders(tuple(own), told)


def _folder(location: str, folders: Folders, knowledge: str) -> str | None:
    """`planning_artifacts`, `{planning_artifacts}/research`, `{output_folder}/brainstorming/x-{{date}}.md`."""
    known = {
        "planning_artifacts": folders.planning,
        "implementation_artifacts": folders.implementation,
        "output_folder": folders.output,
        "project_knowledge": knowledge,
    }
    if location.endswith(".md"):
        location = os.path.dirname(location)
    first, _, rest = location.partition("/")
    start = known.get(first.strip("{} ").replace("-", "_"))
    if start is not None:
        location = os.path.join(os.path.relpath(start, folders.base), rest)
    path = resolve_path(location, folders.base).path  # `repo root` and other prose resolve to no folder
    return path.rstrip("/") if path and path != folders.base and os.path.isdir(path) else None


# One bounded walk over the planning folders.

MAX_ENTRIES = 20_000
MAX_DEPTH = 4  # output/planning-artifacts/prds/prd-shop-2026-01-15/prd.md

_PRUNED = frozenset(
    "archive archives archived backup backups old stories implementation-artifacts sprint-artifacts sprints epics"
    " node_modules vendor __pycache__ target dist venv site-packages fixtures src digests imports mockups".split()
).union(BMAD_FOLDERS)


class WalkResult(NamedTuple):
    files: tuple[tuple[str, str], ...]  # (root folder, path below it), in order
    is_complete: bool


def walk_documents(roots: Iterable[str], excluded: Iterable[str]) -> WalkResult:
    """Find every Markdown file, and a few others. The files of a root inside another root count for the inner
    one."""
    wanted = list(dict.fromkeys(root.rstrip("/") for root in roots))
    outside = {path.rstrip("/") for path in excluded} - set(wanted)
    files: list[tuple[str, str]] = []
    entries, seen = 0, set[str]()
    queue = [(root, root, 0) for root in sorted(wanted, key=lambda root: -root.count("/"))]
    while queue:
        folder, root, depth = queue.pop(0)
        if folder in seen or folder in outside:
            continue
        seen.add(folder)
        for entry in _entries(folder, MAX_ENTRIES - entries):
            entries += 1
            if entry.is_dir(follow_symlinks=False):
                if depth < MAX_DEPTH and _is_searched(entry.name):
                    queue.append((entry.path, root, depth + 1))
            elif _is_text(entry):
                files.append((root, entry.path[len(root) + 1 :]))
        if entries >= MAX_ENTRIES:
            return WalkResult(tuple(files), False)
    return WalkResult(tuple(files), True)


def _entries(folder: str, limit: int) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry, _ in zip(entries, range(max(limit, 0)), strict=False)]
    except OSError:  # missing or unreadable
        return
    yield from sorted(found, key=lambda entry: entry.name)


def _is_searched(name: str) -> bool:
    return not name.startswith(".") and name.lower() not in _PRUNED


def _is_text(entry: os.DirEntry[str]) -> bool:
    name = entry.name.lower()
    if name != MEMLOG and (name.startswith(".") or not name.endswith((".md", ".html"))):
        return False
    try:
        return entry.is_file()
    except OSError:
        return False


# Whether a planning document is finished. A skill creates its file first and fills it in over many steps, so an
# interrupted one leaves a document that looks like any other.

MAX_DOCUMENT = 4 * 1024 * 1024

# The step that completes the document. Later steps polish it and differ between versions.
_LAST_STEPS = {PRD: 10, UX: 13, ARCHITECTURE: 7, BRIEF: 5, RESEARCH: 4, EPICS: 3, READINESS: 5}
_FINISHED = ("complete", "completed", "final", "done", "approved", "ready")
_BEGUN = ("draft", "in-progress", "in progress", "wip")
_STEP = re.compile(r"(?:step-)?[a-z-]*?(\d{1,2})")
_SECTION = re.compile(r"^#{1,3}\s+\S", re.MULTILINE)
_VERDICT = re.compile(
    r"(?:readiness(?: status| assessment| verdict| decision)?|verdict|gate|recommendation)\b[^\n\w]{0,20}\n{0,2}"
    r"[^\n\w]{0,20}(?P<said>not[ -]ready|fail(?:ed)?|no[- ]go|blocked)\b",
    re.IGNORECASE,
)


def unfinished_reason(artefact: str, path: str) -> str | None:
    """Why the document does not count, as text that follows its path; None: it is finished."""
    if not path.lower().endswith(".md"):
        return None
    try:
        text = read_text(path, limit=MAX_DOCUMENT)
        body = markdown.unify_line_ends(text.text)
    except FileError as error:
        return f"cannot be read: {error.message}"
    ignored: list[Diagnostic] = []
    fields = read_front_matter(text, ignored)
    status = (text_field(fields, "status") or "").lower()
    if path.endswith(MEMLOG):
        return None if status in _FINISHED else "is of a session that was not brought to its end"
    if artefact == READINESS and (verdict := _VERDICT.search(body)):
        return f"says that the plan is not ready: {verdict['said']}"
    if status in _FINISHED:
        return None
    highest = max(_steps(fields.get("stepsCompleted")), default=0)
    if 0 < highest < _LAST_STEPS.get(artefact, 0):
        return f"was begun and not finished: it ends with step {highest}"
    # The skill of a brief never changes `draft`, so only an empty brief is unfinished.
    if status in _BEGUN and _in_run_folder(path) and (artefact != BRIEF or len(_SECTION.findall(body)) < 2):
        return f"was begun and not finished: its status is {status}"
    return None


def _steps(value: object) -> Iterator[int]:
    for item in value if isinstance(value, list) else ():
        if isinstance(item, int):
            yield item
        elif isinstance(item, str) and (match := _STEP.match(item)):
            yield int(match[1])


def _in_run_folder(path: str) -> bool:
    """`prds/prd-shop-2026-01-15/prd.md`: since 6.10, where the skill maintains the front matter's status."""
    return path.split("/")[-3:-2] in (["prds"], ["briefs"], ["ux-designs"], ["architecture"], ["research"])


MAX_OPENED = 20  # candidate files per document


class DocumentSource(Enum):
    """How a document was found."""

    FILE = "in the planning folders"
    STATUS = "named in bmm-workflow-status.yaml"
    HELP = "where bmad-help.csv leads"


class PlanningArtefact(NamedTuple):
    """One planning document."""

    name: str
    path: str | None = None  # None: missing or not finished
    source: DocumentSource | None = None
    is_skipped: bool = False  # bmm-workflow-status.yaml marks it as skipped
    unfinished_path: str | None = None  # an unfinished document, if there is no finished one


class PlanningState(NamedTuple):
    artefacts: Mapping[str, PlanningArtefact]  # all of ARTEFACTS, in their order
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def finished(self) -> frozenset[str]:
        return frozenset(name for name, one in self.artefacts.items() if one.path is not None)

    @property
    def skipped(self) -> frozenset[str]:
        return frozenset(name for name, one in self.artefacts.items() if one.is_skipped and one.path is None)

    @property
    def is_complete(self) -> bool:
        """Whether there is a board: from then on the board decides the next action."""
        return self.artefacts[BOARD].path is not None


def inspect_planning(folders: Folders, bmad: BmadInstall, knowledge: str | None = None) -> PlanningState:
    """Find all planning documents. `knowledge`: BMAD's project_knowledge folder, if the settings name it."""
    status = read_planning_status(folders)
    search = _DocumentSearch(folders, list(status.notes))
    found: dict[str, tuple[str, DocumentSource]] = {}
    for name, path in status.done:
        # The output of sprint planning counts only if it is the board that find_folders found.
        if name not in found and name != BOARD and search.is_finished(name, path):
            found[name] = path, DocumentSource.STATUS
    places = find_planning_folders(folders, bmad, knowledge, status.file)
    for name, inferred in search.find_documents(places, status.others).items():
        found.setdefault(name, inferred)
    artefacts = {}
    for name in ARTEFACTS:
        path_, source = found.get(name, (None, None))
        begun = None if path_ else search.unfinished.get(name)
        artefacts[name] = PlanningArtefact(name, path_, source, name in status.skipped, begun)
    return PlanningState(artefacts, tuple(search.notes))


class _Candidate(NamedTuple):
    order: tuple[Any, ...]
    path: str
    source: DocumentSource


class _DocumentSearch:
    """Searches the folders of one project for documents."""

    def __init__(self, folders: Folders, notes: list[Diagnostic]) -> None:
        self.folders = folders
        self.notes = notes
        self.unfinished: dict[str, str] = {}

    def find_documents(
        self, places: PlanningFolders, others: frozenset[str]
    ) -> dict[str, tuple[str, DocumentSource]]:
        found: dict[str, tuple[str, DocumentSource]] = {}
        for name, listed in self._candidates(places, others).items():
            chosen = self._first_finished(name, sorted(listed)[:MAX_OPENED])
            if chosen is not None:
                found[name] = chosen
        epics = self._epics(places.general)
        if epics is not None:
            found[EPICS] = epics, DocumentSource.FILE
        board = self.folders.board
        if board is not None and os.path.lexists(board):
            found[BOARD] = board, DocumentSource.FILE
        return found

    def _candidates(self, places: PlanningFolders, others: frozenset[str]) -> dict[str, list[_Candidate]]:
        leave_out = [path for path in (self.folders.implementation, self.folders.stories) if path]
        walked = walk_documents([*places.general, *places.from_help], leave_out)
        if not walked.is_complete:
            self._note("search-cut", "is too large to be searched whole for plans", self.folders.output)
        found: dict[str, list[_Candidate]] = {}
        for root, part in walked.files:
            path = f"{root}/{part}"
            match = classify_document(part) if path not in others else None
            if match is None or _is_empty(path):
                continue
            name, rank = match
            if root in places.general:
                candidate = _Candidate(
                    (places.general.index(root), *sort_key(part, rank)), path, DocumentSource.FILE
                )
            elif name in places.from_help[root]:
                candidate = _Candidate((len(places.general), *sort_key(part, rank)), path, DocumentSource.HELP)
            else:
                continue
            found.setdefault(name, []).append(candidate)
        return found

    def _first_finished(self, name: str, listed: Iterable[_Candidate]) -> tuple[str, DocumentSource] | None:
        for one in listed:
            if name == UX and _lacks_peer(one.path):
                self._note_unfinished(name, one.path, "was begun and not finished: it is one of two files")
            elif self.is_finished(name, one.path):
                return one.path, one.source
        return None

    def _epics(self, own: Iterable[str]) -> str | None:
        """The epics file, if it has stories: sprint planning cannot make a board from epics without any."""
        others = [root for root in own if root != self.folders.planning]
        files = find_epics_files(self.folders.planning, others)
        if not files:
            return None
        if next(read_all_epics(files).stories(), None) is None:
            self._note_unfinished(EPICS, files[0], "has no story yet")
            return None
        return files[0] if all(self.is_finished(EPICS, path) for path in files) else None

    def is_finished(self, name: str, path: str) -> bool:
        reason = unfinished_reason(name, path)
        if reason is not None:
            self._note_unfinished(name, path, reason)
        return reason is None

    def _note_unfinished(self, name: str, path: str, reason: str) -> None:
        self.unfinished.setdefault(name, path)
        self._note("unfinished-document", reason, path, "its step goes on with it: bmad flow run")

    def _note(self, code: str, message: str, path: str, hint: str | None = None) -> None:
        note = Diagnostic(Severity.WARNING, code, message, Location(path), hint)
        if note not in self.notes:
            self.notes.append(note)


def _is_empty(path: str) -> bool:
    try:
        return os.path.getsize(path) == 0
    except OSError:  # gone meanwhile
        return True


def _lacks_peer(path: str) -> bool:
    """Whether one of the UX skill's two files is missing: they count only together."""
    folder, _, name = path.rpartition("/")
    peer = {"DESIGN.md": "EXPERIENCE.md", "EXPERIENCE.md": "DESIGN.md"}.get(name)
    return peer is not None and "/ux-designs/" in path and not os.path.isfile(f"{folder}/{peer}")

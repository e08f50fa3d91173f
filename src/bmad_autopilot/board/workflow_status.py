"""Reads bmm-workflow-status.yaml, the planning progress that BMAD's alpha versions recorded.

Its known shapes: a map of id to value; a map of id to fields; a list of phases with their workflows; a map of such
phases; a list of workflows; and, in a monorepo, one of these per component."""

import os
import re
from bisect import bisect_left
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from ..core.errors import Diagnostic, FileError, Location, Severity
from ..io.files import TextFile, read_text
from ..io.yaml_reader import MappingNode, Node, ScalarNode, SequenceNode, parse_yaml
from ..project.folders import Folders, resolve_path
from ..project.root import OUTPUT_FOLDER
from .planning_names import document_of_workflow
from .story_file import unsafe_path_reason

_PHASE_COMMENT = re.compile(r"^[ \t]*#[^\n]*?\bphase[ _]?(\d+)", re.IGNORECASE | re.MULTILINE)
_PHASE_KEY = re.compile(r"phase[-_ ]?(\d+)", re.IGNORECASE)
_EXTENSION = re.compile(r"\.(?:md|ya?ml|json|html|xml|pdf|txt)$", re.IGNORECASE)
_SECTIONS = ("workflow_status", "workflows")
_OUTPUTS = ("output_file", "output", "outputs", "file", "path")


class WorkflowState(Enum):
    DONE = "done"
    REQUIRED = "required"
    OPTIONAL = "optional"
    RECOMMENDED = "recommended"
    CONDITIONAL = "conditional"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


_WORDS = {state.value: state for state in WorkflowState if state is not WorkflowState.UNKNOWN} | {
    "complete": WorkflowState.DONE,
    "completed": WorkflowState.DONE,
}


class PlanningWorkflow(NamedTuple):
    id: str
    phase: str | None
    state: WorkflowState
    raw: str  # the value as written
    path: str | None  # its output, if the file names it
    line: int
    component: str | None = None


class WorkflowStatus(NamedTuple):
    fields: dict[str, str]  # project, selected_track, field_type …
    workflows: tuple[PlanningWorkflow, ...]
    diagnostics: tuple[Diagnostic, ...]


def read_workflow_status(text: TextFile) -> WorkflowStatus:
    root = parse_yaml(text)
    if not isinstance(root, MappingNode):
        location = Location(text.path, root.line if root is not None else 1)
        raise FileError("holds no workflow status", location=location, expected="a `workflow_status:` section")
    reader = _Reader(text)
    reader.component(root, None)
    if not reader.workflows:
        for key, value in root.items:
            if isinstance(value, MappingNode):
                reader.component(value, key.value)
    if not reader.workflows:
        location = Location(text.path, root.line)
        raise FileError("holds no workflow status", location=location, expected="a `workflow_status:` section")
    fields = {key.value or "": value.value or "" for key, value in root.items if isinstance(value, ScalarNode)}
    return WorkflowStatus(fields, tuple(reader.workflows), tuple(reader.diagnostics))


class _Reader:
    def __init__(self, text: TextFile) -> None:
        self.text = text
        self.workflows: list[PlanningWorkflow] = []
        self.diagnostics: list[Diagnostic] = []
        self.phases = list(_phase_comments(text.text))

    def component(self, node: MappingNode, name: str | None) -> None:
        for key, value in node.items:
            if key.value in _SECTIONS:
                self.section(value, key.line, name)
                return

    def section(self, node: Node, first_line: int, component: str | None) -> None:
        if isinstance(node, SequenceNode):
            for item in node.items:
                if isinstance(item, MappingNode):
                    self.entry(item, None, None, component)
        elif isinstance(node, MappingNode):
            for key, value in node.items:
                if isinstance(value, ScalarNode):
                    phase = self.phase_above(key.line, first_line)
                    self.add(key.value or "", phase, value.value, None, key.line, component)
                elif isinstance(value, MappingNode):
                    self.entry(value, key, self.phase_above(key.line, first_line), component)

    def entry(self, node: MappingNode, key: ScalarNode | None, phase: str | None, component: str | None) -> None:
        """A workflow with fields, or a phase with workflows in it."""
        fields = {name.value or "": value for name, value in node.items}
        named = _PHASE_KEY.match(key.value or "") if key else None
        phase = _text(fields.get("phase")) or (named[1] if named else phase)
        inner = fields.get("workflows")
        if isinstance(inner, SequenceNode):
            for item in inner.items:
                if isinstance(item, MappingNode):
                    self.entry(item, None, phase, component)
            return
        name = _text(fields.get("id")) or (key.value if key else None) or _text(fields.get("name"))
        line = key.line if key else node.line
        if name:
            self.add(name, phase, _text(fields.get("status")), _output(fields), line, component)

    def add(
        self, name: str, phase: str | None, raw: str | None, output: str | None, line: int, component: str | None
    ) -> None:
        value = (raw or "").strip()
        state = _WORDS.get(value.lower(), WorkflowState.UNKNOWN)
        path = output if state is WorkflowState.DONE else None
        if state is WorkflowState.UNKNOWN and ("/" in value or _EXTENSION.search(value)):
            state, path = WorkflowState.DONE, value
        if path is not None and (problem := unsafe_path_reason(path)) is not None:
            message = f"{name} names {path[:100]!r}, which {problem}"
            self.note("unsafe-path", message, line, "paths are relative to the project")
            path = None
        if state is WorkflowState.UNKNOWN:
            self.note("unknown-status", f"{name} has the unknown status {value[:80]!r}", line, None)
        self.workflows.append(PlanningWorkflow(name, phase, state, value, path, line, component))

    def note(self, code: str, message: str, line: int, hint: str | None) -> None:
        self.diagnostics.append(Diagnostic(Severity.WARNING, code, message, Location(self.text.path, line), hint))

    def phase_above(self, line: int, first_line: int) -> str | None:
        """The phase from the comment above a line: in a flat map only comments name the phases."""
        index = bisect_left(self.phases, (line, "")) - 1
        return self.phases[index][1] if index >= 0 and self.phases[index][0] >= first_line else None


def _phase_comments(text: str) -> Iterator[tuple[int, str]]:
    line, at = 1, 0
    for match in _PHASE_COMMENT.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        yield line, match[1]


def _text(node: Node | None) -> str | None:
    return node.value if isinstance(node, ScalarNode) else None


def _output(fields: dict[str, Node]) -> str | None:
    """The first output that is a path; in some files `output` is a sentence."""
    for name in _OUTPUTS:
        node = fields.get(name)
        candidates = node.items if isinstance(node, SequenceNode) else [node]
        for candidate in candidates:
            value = _text(candidate) or ""
            if value and " " not in value and ("/" in value or _EXTENSION.search(value)):
                return value
    return None


# The planning documents in bmm-workflow-status.yaml, as far as their files exist.

STATUS_NAME = "bmm-workflow-status.yaml"


class PlanningStatus(NamedTuple):
    file: str | None = None
    done: tuple[tuple[str, str], ...] = ()  # a document's name and the path of an existing file
    skipped: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()  # outputs of workflows that write no planning document
    notes: tuple[Diagnostic, ...] = ()


def read_planning_status(folders: Folders) -> PlanningStatus:
    base = folders.base
    places = (folders.planning, folders.output, f"{base}/docs", f"{base}/{OUTPUT_FOLDER}", base)
    file = next((path for location in places if os.path.isfile(path := f"{location}/{STATUS_NAME}")), None)
    if file is None:
        return PlanningStatus()
    try:
        status = read_workflow_status(read_text(file))
    except FileError as error:
        location = error.location or Location(file)
        message = f"{error.message}; it is left out"
        return PlanningStatus(
            file, notes=(Diagnostic(Severity.WARNING, "bad-workflow-status", message, location, error.hint),)
        )
    notes = list(status.diagnostics)
    done: list[tuple[str, str]] = []
    states: dict[str, set[WorkflowState]] = {}
    others: set[str] = set()
    for one in status.workflows:
        name = document_of_workflow(one.id)
        left = _find_output(one, base, file, notes)
        if name is None:
            others.update((left,) if left else ())
            continue
        states.setdefault(name, set()).add(one.state)
        if left is not None:
            done.append((name, left))
    # In a monorepo a document is skipped only if every component skips it.
    skipped = frozenset(name for name, found_states in states.items() if found_states == {WorkflowState.SKIPPED})
    return PlanningStatus(file, tuple(done), skipped, frozenset(others), tuple(notes))


def _find_output(one: PlanningWorkflow, base: str, file: str, notes: list[Diagnostic]) -> str | None:
    """The existing file that the workflow names; for a folder, its first Markdown file."""
    if one.state is not WorkflowState.DONE or one.path is None:
        return None
    path = resolve_path(one.path, base).path
    if path is not None and os.path.isdir(path):
        path = _first_file(path)
    if path is not None and os.path.isfile(path) and os.path.getsize(path):
        return path
    message = f"{one.id} is done by this file, but {one.path[:100]!r} is not there"
    hint = "put that file back, or correct this line"
    notes.append(Diagnostic(Severity.WARNING, "planned-file-missing", message, Location(file, one.line), hint))
    return None


def _first_file(folder: str) -> str | None:
    try:
        names = sorted(name for name in os.listdir(folder) if name.lower().endswith(".md"))
    except OSError:
        return None
    return os.path.join(folder, names[0]) if names else None

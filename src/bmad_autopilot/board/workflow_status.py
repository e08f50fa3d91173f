"""bmm-workflow-status.yaml: how far planning has come, as BMAD's alpha versions wrote it down.

The shapes met: a map of id to value; a map of id to fields; a list of phases with their workflows; a map of such
phases; a list of workflows; and, in a monorepo, one of these per component."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import FileError, Place
from ..files import Text
from ..yamls import Mapping, Node, Scalar, Sequence, parse
from .file_list import why_unsafe

_PHASE_COMMENT = re.compile(r"^[ \t]*#[^\n]*?\bphase[ _]?(\d+)", re.IGNORECASE | re.MULTILINE)
_PHASE_KEY = re.compile(r"phase[-_ ]?(\d+)", re.IGNORECASE)
_EXTENSION = re.compile(r"\.(?:md|ya?ml|json|html|xml|pdf|txt)$", re.IGNORECASE)
_SECTIONS = ("workflow_status", "workflows")
_OUTPUTS = ("output_file", "output", "outputs", "file", "path")


class State(Enum):
    DONE = "done"
    REQUIRED = "required"
    OPTIONAL = "optional"
    RECOMMENDED = "recommended"
    CONDITIONAL = "conditional"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


_WORDS = {state.value: state for state in State if state is not State.UNKNOWN} | {
    "complete": State.DONE,
    "completed": State.DONE,
}


class Workflow(NamedTuple):
    id: str
    phase: str | None
    state: State
    raw: str  # the value as written
    path: str | None  # what it produced, where the file says
    line: int
    component: str | None = None


class WorkflowStatus(NamedTuple):
    fields: dict[str, str]  # project, selected_track, field_type …
    workflows: tuple[Workflow, ...]
    diagnostics: tuple[Diagnostic, ...]


def read_workflow_status(text: Text) -> WorkflowStatus:
    root = parse(text)
    if not isinstance(root, Mapping):
        place = Place(text.path, root.line if root is not None else 1)
        raise FileError("holds no workflow status", place=place, expected="a `workflow_status:` section")
    reader = _Reader(text)
    reader.component(root, None)
    if not reader.workflows:
        for key, value in root.items:
            if isinstance(value, Mapping):
                reader.component(value, key.value)
    if not reader.workflows:
        place = Place(text.path, root.line)
        raise FileError("holds no workflow status", place=place, expected="a `workflow_status:` section")
    fields = {key.value or "": value.value or "" for key, value in root.items if isinstance(value, Scalar)}
    return WorkflowStatus(fields, tuple(reader.workflows), tuple(reader.diagnostics))


class _Reader:
    def __init__(self, text: Text) -> None:
        self.text = text
        self.workflows: list[Workflow] = []
        self.diagnostics: list[Diagnostic] = []
        self.phases = list(_phase_comments(text.text))

    def component(self, node: Mapping, name: str | None) -> None:
        for key, value in node.items:
            if key.value in _SECTIONS:
                self.section(value, key.line, name)
                return

    def section(self, node: Node, first_line: int, component: str | None) -> None:
        if isinstance(node, Sequence):
            for item in node.items:
                if isinstance(item, Mapping):
                    self.entry(item, None, None, component)
        elif isinstance(node, Mapping):
            for key, value in node.items:
                if isinstance(value, Scalar):
                    phase = self.phase_above(key.line, first_line)
                    self.add(key.value or "", phase, value.value, None, key.line, component)
                elif isinstance(value, Mapping):
                    self.entry(value, key, self.phase_above(key.line, first_line), component)

    def entry(self, node: Mapping, key: Scalar | None, phase: str | None, component: str | None) -> None:
        """A workflow with fields, or a phase with workflows in it."""
        fields = {name.value or "": value for name, value in node.items}
        named = _PHASE_KEY.match(key.value or "") if key else None
        phase = _text(fields.get("phase")) or (named[1] if named else phase)
        inner = fields.get("workflows")
        if isinstance(inner, Sequence):
            for item in inner.items:
                if isinstance(item, Mapping):
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
        state = _WORDS.get(value.lower(), State.UNKNOWN)
        path = output if state is State.DONE else None
        if state is State.UNKNOWN and ("/" in value or _EXTENSION.search(value)):
            state, path = State.DONE, value
        if path is not None and (problem := why_unsafe(path)) is not None:
            message = f"{name} names {path[:100]!r}, which {problem}"
            self.note("unsafe-path", message, line, "paths are relative to the project")
            path = None
        if state is State.UNKNOWN:
            self.note("unknown-status", f"{name} has the unknown status {value[:80]!r}", line, None)
        self.workflows.append(Workflow(name, phase, state, value, path, line, component))

    def note(self, code: str, message: str, line: int, hint: str | None) -> None:
        self.diagnostics.append(Diagnostic(Severity.WARNING, code, message, Place(self.text.path, line), hint))

    def phase_above(self, line: int, first_line: int) -> str | None:
        """In a flat map only comments name the phases."""
        index = bisect_left(self.phases, (line, "")) - 1
        return self.phases[index][1] if index >= 0 and self.phases[index][0] >= first_line else None


def _phase_comments(text: str) -> Iterator[tuple[int, str]]:
    line, at = 1, 0
    for match in _PHASE_COMMENT.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        yield line, match[1]


def _text(node: Node | None) -> str | None:
    return node.value if isinstance(node, Scalar) else None


def _output(fields: dict[str, Node]) -> str | None:
    """The first output that is a path; `output` also holds a sentence about it in some files."""
    for name in _OUTPUTS:
        node = fields.get(name)
        candidates = node.items if isinstance(node, Sequence) else [node]
        for candidate in candidates:
            value = _text(candidate) or ""
            if value and " " not in value and ("/" in value or _EXTENSION.search(value)):
                return value
    return None

"""Reads the additional keys of a flow's file: how the flow is recognised, and how a step's completion is detected.

Also defines the conditions these keys consist of. Each mistake is reported with its line."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

from ..io.patterns import placeholder_names
from ..io.yaml_reader import MappingNode as Table
from ..io.yaml_reader import Node, ScalarNode, SequenceNode
from ..project.config_reader import format_value, suggest_name
from .step_entry import STEP_KEYS, StepReader
from .workflow import DecisionGate, FlowPart

# Conditions: their syntax, and their evaluation against a project's folder.

MAX_CONDITION = 300
MAX_ONE_OF = 10

RECORDED = "recorded"
CONDITION_WORDS = (RECORDED, "sources", "ui", "bmad", "board")
ARTEFACTS = ("brainstorm", "research", "brief", "prd", "ux", "architecture", "epics", "readiness")
FOLDER_PLACEHOLDERS = ("output", "planning", "implementation", "knowledge")  # BMAD's folders, as `{output}`

_ARTEFACT = "artefact"
_WORD = re.compile(r"[a-z]+(?:[ -][a-z]+)*")  # a file with such a name at the top is written `./name`


class FolderState(Protocol):
    """The facts about a project's folder that conditions can test."""

    @property
    def sources(self) -> bool: ...
    @property
    def ui(self) -> bool: ...
    @property
    def bmad(self) -> bool: ...
    @property
    def board(self) -> bool: ...
    @property
    def artefacts(self) -> frozenset[str]: ...

    def has(self, glob: str) -> bool:
        """Whether a non-empty file matches; for a glob that ends with `/`, whether one is below that folder."""
        ...


class ConditionTerm(NamedTuple):
    """One alternative of a condition."""

    value: str  # a glob, a word, or an artefact's name
    is_word: bool = False
    is_artefact: bool = False
    negated: bool = False


class ConditionFault(NamedTuple):
    message: str
    found: str
    expected: str = ""
    hint: str | None = None


def find_condition_fault(condition: str, *, recorded: bool = True) -> ConditionFault | None:
    """The first mistake in a condition. `recorded`: whether it may refer to the state file."""
    parts = [part.strip() for part in condition.split("|")]
    if len(condition) > MAX_CONDITION or len(parts) > MAX_ONE_OF:
        expected = f"at most {MAX_CONDITION} characters, and {MAX_ONE_OF} parts"
        return ConditionFault("a condition is too long", f"{condition[:40]}…", expected)
    faults = (_fault_of_part(part, recorded) for part in parts)
    return next(filter(None, faults), None)


def _fault_of_part(part: str, recorded: bool) -> ConditionFault | None:
    body = part.removeprefix("!").strip()
    if not body or body.startswith("!"):
        return ConditionFault(
            "a condition says nothing", part or "nothing", "a path, or one of: " + ", ".join(CONDITION_WORDS)
        )
    if body == RECORDED and (part != body or not recorded):
        return ConditionFault("`recorded` does not fit here", part, "what can be seen in the folder")
    if body.partition(" ")[0] == _ARTEFACT:
        name = body.removeprefix(_ARTEFACT).strip()
        hint = suggest_name(name, {one: one for one in ARTEFACTS})
        return (
            None if name in ARTEFACTS else ConditionFault("this is no artefact", body, ", ".join(ARTEFACTS), hint)
        )
    if _WORD.fullmatch(body):
        hint = (
            suggest_name(body, {one: one for one in CONDITION_WORDS}) or f"a file at the top is written ./{body}"
        )
        return (
            None
            if body in CONDITION_WORDS
            else ConditionFault("a condition has an unknown word", body, ", ".join(CONDITION_WORDS), hint)
        )
    return _fault_of_glob(body)


def _fault_of_glob(glob: str) -> ConditionFault | None:
    unknown = next((name for name in placeholder_names([glob]) if name not in FOLDER_PLACEHOLDERS), None)
    if unknown is not None:
        expected = ", ".join(f"{{{name}}}" for name in FOLDER_PLACEHOLDERS)
        return ConditionFault("a condition has an unknown placeholder", f"{{{unknown}}}", expected)
    odd = any(char < " " or char in "\\\x7f" for char in glob)
    if odd or glob.startswith(("/", "~")) or ".." in glob.split("/") or not glob.strip("./*"):
        return ConditionFault("a condition leads out of the project", glob, "a path from the project's top")
    return None


@lru_cache(maxsize=1024)
def parse_condition(condition: str) -> tuple[ConditionTerm, ...]:
    """The condition's terms; empty for an invalid condition, which therefore never holds."""
    if find_condition_fault(condition) is not None:
        return ()
    return tuple(_parse_term(part.strip()) for part in condition.split("|"))


def _parse_term(part: str) -> ConditionTerm:
    body = part.removeprefix("!").strip()
    negated = body != part
    if body.partition(" ")[0] == _ARTEFACT:
        return ConditionTerm(body.removeprefix(_ARTEFACT).strip(), is_artefact=True, negated=negated)
    return ConditionTerm(body.removeprefix("./"), is_word=body in CONDITION_WORDS, negated=negated)


def condition_holds(condition: str, folder: FolderState, recorded: bool = False) -> bool:
    """`recorded`: whether the state file records the step as done."""
    return any(_is_true(term, folder, recorded) is not term.negated for term in parse_condition(condition))


def _is_true(term: ConditionTerm, folder: FolderState, recorded: bool) -> bool:
    if term.is_artefact:
        return term.value in folder.artefacts
    if not term.is_word:
        return folder.has(term.value)
    return recorded if term.value == RECORDED else bool(getattr(folder, term.value))


def unmet_conditions(conditions: Iterable[str], folder: FolderState, recorded: bool = False) -> tuple[str, ...]:
    """The conditions that do not hold."""
    return tuple(one for one in conditions if not condition_holds(one, folder, recorded))


def needs_record(conditions: Iterable[str]) -> bool:
    """Whether a condition refers to the state file, so that the folder alone cannot decide it."""
    return any(term.is_word and term.value == RECORDED for one in conditions for term in parse_condition(one))


def condition_globs(conditions: Iterable[str]) -> Sequence[str]:
    """The globs to search for in the folder."""
    terms = (term for one in conditions for term in parse_condition(one))
    return list(dict.fromkeys(term.value for term in terms if not term.is_word and not term.is_artefact))


STATE_FILE = "_docs/_autopilot_state.md"
MAX_CONDITIONS = 20
MAX_SUB_STEPS = 30
MAX_LINE = 200
MAX_TRIES = 10

_FLOW_STEP_KEYS = (
    "skills",
    "sub_steps",
    "done_when",
    "optional",
    "only",
    "gate",
    "boundary",
    "tasks",
    "loops",
    "checks",
    "tries",
)
_GATE_KEYS = ("ask", "again", "go_on", "recommended", "because", "passed_when")
_FLOW_KEYS = ("state", "begins", "continues")
_GATE_CHOICES = ("proceed", "again")
_NO_AGENT = ("instructions", "prompt", "description", "skill", "skills", "run")


class FlowHead(NamedTuple):
    """How a project in this flow is recognised."""

    description: str = ""
    state: str = STATE_FILE  # relative to the project's top; may use the placeholders of BMAD's folders
    begins: tuple[str, ...] = ()  # conditions that hold where the flow starts; none: it is started by name only
    continues: tuple[str, ...] = ()  # conditions that hold where it is in progress


class FlowReader(StepReader):
    """Reads the steps of a flow."""

    keys = (*STEP_KEYS, *_FLOW_STEP_KEYS)

    def head(self, root: Node | None) -> FlowHead:
        node = self.value(root, "flow")
        description = " ".join((self.text_value(root, "description") or "").split())
        if node is None or (isinstance(node, ScalarNode) and node.value is None):
            return FlowHead(description)
        if not isinstance(node, Table):
            line = self.line_of(root, "flow") or node.line
            raise self.error(line, "`flow` is not a mapping", self.describe(node), "`begins: […]`")
        self.refuse_duplicate_keys(node, "`flow`")
        self.warn_unknown(node, _FLOW_KEYS, "a flow")
        begins, continues = (self._conditions(node, key, recorded=False) for key in ("begins", "continues"))
        return FlowHead(description, self._state(node), begins, continues)

    def flow_part(self, node: Table, number: int, name: str) -> FlowPart:
        tasks = self._line(node, "tasks")
        if tasks:
            self._refuse_beside_tasks(node, name)
        return FlowPart(
            number,
            self._conditions(node, "done_when") or (RECORDED,),
            tuple(self.skill_name(one) for one in self._texts(node, "skills", MAX_CONDITIONS)),
            tuple(one.value or "" for one in self._texts(node, "sub_steps", MAX_SUB_STEPS)),
            self._flag(node, "optional"),
            self._only(node),
            self._gate(node),
            self._line(node, "boundary"),
            tasks,
            self._flag(node, "loops"),
            self._flag(node, "checks"),
            self._tries(node),
        )

    # parts of a step

    def _refuse_beside_tasks(self, node: Table, name: str) -> None:
        found = self.text_node(node, "tasks", MAX_LINE)
        assert found is not None
        if not all(part.isalnum() and part.isascii() for part in (found.value or "").strip().split("-")):
            expected = "a word such as `features`, which the report is named after"
            raise self.error(found.line, "`tasks` is no name of a report", self.describe(found), expected)
        for key in _NO_AGENT:
            line = self.line_of(node, key)
            if line is not None:
                message = f"the step {format_value(name)} goes through tasks, and has `{key}`"
                raise self.error(line, message, "", "tasks or an agent", "leave one of them out")

    def _only(self, node: Table) -> str:
        found = self.text_node(node, "only", MAX_LINE)
        return self._condition(found, recorded=False) if found is not None else ""

    def _gate(self, node: Table) -> DecisionGate | None:
        found = self.value(node, "gate")
        if found is None or (isinstance(found, ScalarNode) and found.value is None):
            return None
        line = self.line_of(node, "gate") or found.line
        if not isinstance(found, Table):
            raise self.error(
                line, "`gate` is not a mapping", self.describe(found), "`ask: …`, `again: …`, `go_on: …`"
            )
        self.refuse_duplicate_keys(found, "`gate`")
        self.warn_unknown(found, _GATE_KEYS, "a gate")
        texts = {key: self._line(found, key) for key in ("ask", "again", "go_on")}
        for key, text in texts.items():
            if not text:
                raise self.error(self.line_of(found, key) or line, f"the gate has no `{key}`", "", "a text")
        choice = self._line(found, "recommended") or _GATE_CHOICES[0]
        if choice not in _GATE_CHOICES:
            spot = self.line_of(found, "recommended") or line
            raise self.error(
                spot, "`recommended` is none of the two", format_value(choice), " or ".join(_GATE_CHOICES)
            )
        passed = self._conditions(found, "passed_when", recorded=False)
        return DecisionGate(**texts, recommended=choice, because=self._line(found, "because"), passed=passed)

    def _tries(self, node: Table) -> int:
        usual: int = FlowPart._field_defaults["tries"]
        found = self.value(node, "tries")
        if found is None or (isinstance(found, ScalarNode) and found.value is None):
            return usual
        said = found.value if isinstance(found, ScalarNode) else None
        if said is None or not said.isascii() or not said.isdigit() or not 0 < int(said[:9]) <= MAX_TRIES:
            line = self.line_of(node, "tries") or found.line
            raise self.error(line, "`tries` is out of range", self.describe(found), f"1 to {MAX_TRIES}")
        return int(said)

    def _state(self, node: Table) -> str:
        found = self.text_node(node, "state", MAX_LINE)
        if found is None or found.value is None:
            return STATE_FILE
        path = found.value.strip()
        fault = find_condition_fault(path, recorded=False)
        if fault is not None or not path.endswith(".md") or any(char in path for char in "*?|!"):
            hint = fault.message if fault is not None else None
            raise self.error(found.line, "this is no path of a state file", format_value(path), STATE_FILE, hint)
        return path.removeprefix("./")

    # conditions and plain values

    def _conditions(self, node: Table, key: str, *, recorded: bool = True) -> tuple[str, ...]:
        texts = self._texts(node, key, MAX_CONDITIONS)
        return tuple(dict.fromkeys(self._condition(one, recorded=recorded) for one in texts))

    def _condition(self, found: ScalarNode, *, recorded: bool) -> str:
        condition = " ".join((found.value or "").split())
        fault = find_condition_fault(condition, recorded=recorded)
        if fault is not None:
            raise self.error(found.line, fault.message, format_value(fault.found), fault.expected, fault.hint)
        return condition

    def _texts(self, node: Table, key: str, most: int) -> tuple[ScalarNode, ...]:
        """A list of strings, or a single string."""
        found = self.value(node, key)
        if found is None or (isinstance(found, ScalarNode) and found.value is None):
            return ()
        items = found.items if isinstance(found, SequenceNode) else [found]
        if len(items) > most:
            line = self.line_of(node, key) or found.line
            raise self.error(line, f"`{key}` is too long", f"{len(items)} entries", f"at most {most}")
        texts = tuple(item for item in items if isinstance(item, ScalarNode) and (item.value or "").strip())
        odd = next((item for item in items if item not in texts), None)
        if odd is not None:
            raise self.error(odd.line, f"`{key}` holds what is no text", self.describe(odd), "a list of texts")
        for text in texts:
            self.check_text(text, key, MAX_CONDITION)
        return texts

    def _line(self, node: Table, key: str) -> str:
        return " ".join((self.text_value(node, key, MAX_CONDITION) or "").split())

    def _flag(self, node: Table, key: str) -> bool:
        found = self.value(node, key)
        if found is None or (isinstance(found, ScalarNode) and found.value is None):
            return False
        return self.bool_value(found, key)

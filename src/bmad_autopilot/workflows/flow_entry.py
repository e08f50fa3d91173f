"""What stands in a flow's file beside other workflows' keys: how the flow is recognised, and how each of its steps
is found done. Each mistake with its line."""

from typing import NamedTuple

from ..project.settings_errors import shown
from ..yamls import Mapping as Table
from ..yamls import Node, Scalar, Sequence
from . import flow_rules
from .pipelines import FlowPart, Gate
from .step_entry import KEYS, Reader

STATE_FILE = "_docs/_autopilot_state.md"
MAX_CONDITIONS = 20
MAX_SUB_STEPS = 30
MAX_LINE = 200
MAX_TRIES = 10

_PART = (
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
_GATE = ("ask", "again", "go_on", "recommended", "because", "passed_when")
_HEAD = ("state", "begins", "continues")
_WAYS = ("proceed", "again")
_NO_AGENT = ("instructions", "prompt", "description", "skill", "skills", "run")


class FlowHead(NamedTuple):
    """How a project is recognised that is in this flow."""

    description: str = ""
    state: str = STATE_FILE  # from the project's top; BMAD's folders by their placeholders
    begins: tuple[str, ...] = ()  # conditions, all of which hold where it begins; none: it is begun by its name
    continues: tuple[str, ...] = ()  # or where it is under way


class FlowReader(Reader):
    """Reads the steps of a flow."""

    keys = (*KEYS, *_PART)

    def head(self, root: Node | None) -> FlowHead:
        node = self.value(root, "flow")
        description = " ".join((self.text_value(root, "description") or "").split())
        if node is None or (isinstance(node, Scalar) and node.value is None):
            return FlowHead(description)
        if not isinstance(node, Table):
            line = self.line_of(root, "flow") or node.line
            raise self.error(line, "`flow` is not a mapping", self.shown(node), "`begins: […]`")
        self.refuse_twice(node, "`flow`")
        self.warn_unknown(node, _HEAD, "a flow")
        begins, continues = (self._conditions(node, key, recorded=False) for key in ("begins", "continues"))
        return FlowHead(description, self._state(node), begins, continues)

    def flow_part(self, node: Table, number: int, name: str) -> FlowPart:
        tasks = self._line(node, "tasks")
        if tasks:
            self._refuse_beside_tasks(node, name)
        return FlowPart(
            number,
            self._conditions(node, "done_when") or (flow_rules.RECORDED,),
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

    # its parts

    def _refuse_beside_tasks(self, node: Table, name: str) -> None:
        found = self.text_node(node, "tasks", MAX_LINE)
        assert found is not None
        if not all(part.isalnum() and part.isascii() for part in (found.value or "").strip().split("-")):
            expected = "a word such as `features`, which the report is named after"
            raise self.error(found.line, "`tasks` is no name of a report", self.shown(found), expected)
        for key in _NO_AGENT:
            line = self.line_of(node, key)
            if line is not None:
                message = f"the step {shown(name)} goes through tasks, and has `{key}`"
                raise self.error(line, message, "", "tasks or an agent", "leave one of them out")

    def _only(self, node: Table) -> str:
        found = self.text_node(node, "only", MAX_LINE)
        return self._condition(found, recorded=False) if found is not None else ""

    def _gate(self, node: Table) -> Gate | None:
        found = self.value(node, "gate")
        if found is None or (isinstance(found, Scalar) and found.value is None):
            return None
        line = self.line_of(node, "gate") or found.line
        if not isinstance(found, Table):
            raise self.error(
                line, "`gate` is not a mapping", self.shown(found), "`ask: …`, `again: …`, `go_on: …`"
            )
        self.refuse_twice(found, "`gate`")
        self.warn_unknown(found, _GATE, "a gate")
        texts = {key: self._line(found, key) for key in ("ask", "again", "go_on")}
        for key, text in texts.items():
            if not text:
                raise self.error(self.line_of(found, key) or line, f"the gate has no `{key}`", "", "a text")
        way = self._line(found, "recommended") or _WAYS[0]
        if way not in _WAYS:
            spot = self.line_of(found, "recommended") or line
            raise self.error(spot, "`recommended` is none of the two", shown(way), " or ".join(_WAYS))
        passed = self._conditions(found, "passed_when", recorded=False)
        return Gate(**texts, recommended=way, because=self._line(found, "because"), passed=passed)

    def _tries(self, node: Table) -> int:
        usual: int = FlowPart._field_defaults["tries"]
        found = self.value(node, "tries")
        if found is None or (isinstance(found, Scalar) and found.value is None):
            return usual
        said = found.value if isinstance(found, Scalar) else None
        if said is None or not said.isascii() or not said.isdigit() or not 0 < int(said[:9]) <= MAX_TRIES:
            line = self.line_of(node, "tries") or found.line
            raise self.error(line, "`tries` is out of range", self.shown(found), f"1 to {MAX_TRIES}")
        return int(said)

    def _state(self, node: Table) -> str:
        found = self.text_node(node, "state", MAX_LINE)
        if found is None or found.value is None:
            return STATE_FILE
        path = found.value.strip()
        fault = flow_rules.fault_of(path, recorded=False)
        if fault is not None or not path.endswith(".md") or any(char in path for char in "*?|!"):
            hint = fault.message if fault is not None else None
            raise self.error(found.line, "this is no path of a state file", shown(path), STATE_FILE, hint)
        return path.removeprefix("./")

    # conditions, and plain values

    def _conditions(self, node: Table, key: str, *, recorded: bool = True) -> tuple[str, ...]:
        texts = self._texts(node, key, MAX_CONDITIONS)
        return tuple(dict.fromkeys(self._condition(one, recorded=recorded) for one in texts))

    def _condition(self, found: Scalar, *, recorded: bool) -> str:
        condition = " ".join((found.value or "").split())
        fault = flow_rules.fault_of(condition, recorded=recorded)
        if fault is not None:
            raise self.error(found.line, fault.message, shown(fault.found), fault.expected, fault.hint)
        return condition

    def _texts(self, node: Table, key: str, most: int) -> tuple[Scalar, ...]:
        """A list of texts, or one alone."""
        found = self.value(node, key)
        if found is None or (isinstance(found, Scalar) and found.value is None):
            return ()
        items = found.items if isinstance(found, Sequence) else [found]
        if len(items) > most:
            line = self.line_of(node, key) or found.line
            raise self.error(line, f"`{key}` is too long", f"{len(items)} entries", f"at most {most}")
        texts = tuple(item for item in items if isinstance(item, Scalar) and (item.value or "").strip())
        odd = next((item for item in items if item not in texts), None)
        if odd is not None:
            raise self.error(odd.line, f"`{key}` holds what is no text", self.shown(odd), "a list of texts")
        for text in texts:
            self.check_text(text, key, flow_rules.MAX_CONDITION)
        return texts

    def _line(self, node: Table, key: str) -> str:
        return " ".join((self.text_value(node, key, flow_rules.MAX_CONDITION) or "").split())

    def _flag(self, node: Table, key: str) -> bool:
        found = self.value(node, key)
        if found is None or (isinstance(found, Scalar) and found.value is None):
            return False
        return self.truth(found, key)

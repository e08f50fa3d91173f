"""One step of a step file: its keys read, each mistake with its line."""

from typing import NamedTuple

from ..project.config import ROLES
from ..project.placeholders import quoted
from ..project.settings_errors import shown, suggest
from ..yamls import Mapping as Table
from ..yamls import Node, Scalar, Sequence
from .pipelines import FlowPart, Step
from .step_nodes import MAX_TEXT, Nodes
from .step_variables import NAME_RULE, is_name

MAX_NAME = 80
MAX_WORDS = 200
COMMAND = "command"  # the type of a step without an agent, and its role
AGENTS_ROLE = "dev"

KEYS = ("step", "name", "type", "role", "skill", "instructions", "prompt", "description", "run", "checkpoint")
_CHECKPOINT = ("save", "variables_to_persist")
_TRUTHS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class Written(NamedTuple):
    """A step, and where it stands."""

    step: Step
    line: int
    texts: tuple[Scalar, ...] = ()  # in which variables are filled in


class Reader(Nodes):
    """Reads the steps of one file."""

    keys: tuple[str, ...] = KEYS

    def step(self, node: Node, number: int) -> Written:
        if not isinstance(node, Table):
            raise self.error(node.line, f"step {number} is not a mapping", self.shown(node), "`- step: NAME`")
        self.refuse_twice(node, f"step {number}")
        self.warn_unknown(node, self.keys, "a step")
        name = self._step_name(node, number)
        part = self.flow_part(node, number, name)
        save, persist = self._checkpoint(node)
        if part is not None and part.tasks:
            return Written(Step(name, self._role(node), checkpoint=save, flow=part), node.line)
        said = self.text_value(node, "type") or ""
        if said.strip().lower() == COMMAND or self.value(node, "run") is not None:
            words, texts, shell = self._run(node, name)
            step = Step(name, COMMAND, command=words, shell=shell, persist=persist, checkpoint=save, flow=part)
            return Written(step, node.line, texts)
        told = self._told(node, name)
        skill = self._skill(node)
        if told is None and skill is None and not (part and part.skills):
            expected = "`instructions`, a `skill`, or `run`"
            raise self.error(node.line, f"the step {shown(name)} has nothing to do", "", expected)
        text = told.value if told else None
        step = Step(name, self._role(node), skill, text, persist=persist, checkpoint=save, flow=part)
        return Written(step, node.line, (told,) if told else ())

    def flow_part(self, node: Table, number: int, name: str) -> FlowPart | None:
        """What a step of a flow has beside the rest: flow_entry.py."""
        return None

    def _step_name(self, node: Table, number: int) -> str:
        found = self.text_node(node, "step", MAX_NAME) or self.text_node(node, "name", MAX_NAME)
        if found is None or found.value is None:
            raise self.error(node.line, f"step {number} has no name", "", "`- step: NAME`")
        name = found.value.strip()
        if not name.isprintable():
            raise self.error(found.line, "a step's name is one line of text", shown(name))
        return name

    def _told(self, node: Table, name: str) -> Scalar | None:
        """`description` counts where nothing else says what to do."""
        both = [self.text_node(node, key) for key in ("instructions", "prompt")]
        if all(both):
            line = self.line_of(node, "prompt") or node.line
            raise self.error(line, f"the step {shown(name)} has both `instructions` and a `prompt`", "", "one")
        told = both[0] or both[1] or self.text_node(node, "description")
        if told is not None and (told.value or "").lstrip().startswith("-"):  # some clients take it as an argument
            raise self.error(told.line, "the instructions begin like an option", shown(told.value), "a sentence")
        return told

    def _role(self, node: Table) -> str:
        found = self.text_node(node, "role")
        if found is None or found.value is None:
            return AGENTS_ROLE
        role = found.value.strip()
        if role not in ROLES:
            hint = suggest(role, {one: one for one in ROLES})
            raise self.error(found.line, "this is no role", shown(role), ", ".join(ROLES), hint)
        return role

    def _skill(self, node: Table) -> str | None:
        found = self.text_node(node, "skill")
        if found is None or found.value is None:
            return None
        return self.skill_name(found)

    def skill_name(self, found: Scalar) -> str:
        skill = (found.value or "").strip()
        bare = skill.removeprefix("/").removeprefix("bmad-")
        if bare != skill or not all(part.isalnum() and part.isascii() for part in skill.split("-")):
            hint = f"write it as BMAD calls it, without `bmad-`: {bare}" if bare != skill else None
            expected = "letters, digits and -, such as `create-architecture`"
            raise self.error(found.line, "this is no skill's name", shown(skill), expected, hint)
        return skill

    def _run(self, node: Table, name: str) -> tuple[tuple[str, ...], tuple[Scalar, ...], bool]:
        for key in ("skill", "instructions", "prompt"):
            line = self.line_of(node, key)
            if line is not None:
                message = f"the step {shown(name)} is a command, and has `{key}`"
                raise self.error(line, message, "", "a command or an agent", "leave one of them out")
        found = self.value(node, "run")
        if isinstance(found, Scalar) and (found.value or "").strip():
            script = self.text_node(node, "run")
            assert script is not None
            inside = quoted(script.value or "")
            if inside is not None:
                line = self.line_in(script, f"{{{inside}}}")
                hint = "leave the quotes out: it is one word as it is"
                raise self.error(line, "a variable stands inside quotes", f"{{{inside}}}", "", hint)
            return (script.value or "",), (script,), True
        line = self.line_of(node, "run") or node.line
        if not isinstance(found, Sequence) or not found.items:
            shows = "nothing" if found is None or isinstance(found, Sequence) else self.shown(found)
            expected = '`run: ["npm", "test"]`, or a text for sh'
            raise self.error(line, f"the step {shown(name)} has no command", shows, expected)
        if len(found.items) > MAX_WORDS:
            raise self.error(line, "`run` has too many words", str(len(found.items)), f"at most {MAX_WORDS}")
        words = tuple(self._word(item) for item in found.items)
        return tuple(word.value or "" for word in words), words, False

    def _word(self, node: Node) -> Scalar:
        if not isinstance(node, Scalar) or node.value is None:
            raise self.error(node.line, "a word of `run` is not a text", self.shown(node), "a text")
        self.check_text(node, "run", MAX_TEXT)
        return node

    # its checkpoint

    def _checkpoint(self, node: Table) -> tuple[bool, tuple[str, ...]]:
        found = self.value(node, "checkpoint")
        if found is None or isinstance(found, Scalar):
            return (True, ()) if found is None or found.value is None else (self.truth(found, "checkpoint"), ())
        if not isinstance(found, Table):
            line = self.line_of(node, "checkpoint") or found.line
            raise self.error(line, "`checkpoint` is not a mapping", self.shown(found), "`save: true`")
        self.refuse_twice(found, "`checkpoint`")
        self.warn_unknown(found, _CHECKPOINT, "a checkpoint")
        save = self.value(found, "save")
        return True if save is None else self.truth(save, "save"), self._persist(found)

    def truth(self, node: Node, key: str) -> bool:
        word = (node.value or "").lower() if isinstance(node, Scalar) else ""
        if word not in _TRUTHS:
            raise self.error(node.line, f"`{key}` is neither true nor false", self.shown(node), "true or false")
        return _TRUTHS[word]

    def _persist(self, table: Table) -> tuple[str, ...]:
        key = "variables_to_persist"
        found = self.value(table, key)
        if found is None or (isinstance(found, Scalar) and found.value is None):
            return ()
        if not isinstance(found, Sequence):
            line = self.line_of(table, key) or found.line
            raise self.error(line, f"`{key}` is not a list", self.shown(found), "a list of names")
        for item in found.items:
            if not isinstance(item, Scalar) or not is_name(item.value or ""):
                raise self.error(item.line, "this is no variable's name", self.shown(item), NAME_RULE)
        return tuple(dict.fromkeys(item.value or "" for item in found.items if isinstance(item, Scalar)))

"""Reads one step of a step file, reporting each mistake with its line, and validates workflow variables."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ..core.errors import Diagnostic, FileError, Location, Severity, UsageError
from ..io.files import TextFile
from ..io.patterns import fill_placeholders, find_quoted_placeholder
from ..io.yaml_reader import MappingNode as Table
from ..io.yaml_reader import Node, ScalarNode, SequenceNode
from ..project.config import ROLES
from ..project.config_reader import format_value, suggest_name
from .workflow import FlowPart, Step

# Access to a step file's YAML nodes by key; errors name the line.

MAX_TEXT = 20_000


class NodeReader:
    """Reads nodes of one file and collects warnings."""

    def __init__(self, text: TextFile) -> None:
        self.text = text
        self.notes: list[Diagnostic] = []

    # diagnostics

    def error(
        self, line: int, message: str, found: str = "", expected: str = "", hint: str | None = None
    ) -> FileError:
        place = Location(self.text.path, line)
        return FileError(message, location=place, found=found or None, expected=expected or None, hint=hint)

    def describe(self, node: Node) -> str:
        if isinstance(node, ScalarNode):
            return "nothing" if node.value is None else format_value(node.value)
        return "a mapping" if isinstance(node, Table) else "a list"

    def line_in(self, node: ScalarNode, part: str) -> int:
        """The line of `part` within a multi-line text."""
        at = self.text.text.find(part, node.start, node.end)
        return self.text.text.count("\n", 0, at) + 1 if at >= 0 else node.line

    def warn_unknown(self, table: Table, known: Iterable[str], what: str) -> None:
        names = {name: name for name in known}
        for key, _ in table.items:
            if key.value not in names:
                hint = suggest_name(key.value or "", names) or f"{what} has: {', '.join(names)}"
                message = f"{format_value(key.value or '')} is not known, and passed over"
                place = Location(self.text.path, key.line)
                self.notes.append(Diagnostic(Severity.WARNING, "unknown-key", message, place, hint))

    def refuse_duplicate_keys(self, table: Table, what: str) -> None:
        seen: dict[str | None, int] = {}
        for key, _ in table.items:
            if key.value in seen:
                found = f"{self.describe(key)}, also on line {seen[key.value]}"
                raise self.error(key.line, f"a key stands twice in {what}", found, "each key once")
            seen[key.value] = key.line

    # values

    def value(self, table: Node | None, key: str) -> Node | None:
        items = table.items if isinstance(table, Table) else ()
        return next((value for name, value in items if name.value == key), None)

    def line_of(self, table: Node | None, key: str) -> int | None:
        items = table.items if isinstance(table, Table) else ()
        return next((name.line for name, _ in items if name.value == key), None)

    def text_node(self, table: Node | None, key: str, most: int = MAX_TEXT) -> ScalarNode | None:
        """None if missing or empty."""
        node = self.value(table, key)
        if node is None or (isinstance(node, ScalarNode) and not (node.value or "").strip()):
            return None
        if not isinstance(node, ScalarNode) or node.value is None:
            line = self.line_of(table, key) or node.line
            raise self.error(line, f"`{key}` is not a text", self.describe(node), "a text")
        self.check_text(node, key, most)
        return node

    def text_value(self, table: Node | None, key: str, most: int = MAX_TEXT) -> str | None:
        node = self.text_node(table, key, most)
        return node.value if node is not None else None

    def check_text(self, node: ScalarNode, key: str, most: int) -> None:
        value = node.value or ""
        if len(value) > most:
            raise self.error(node.line, f"`{key}` is too long", f"{len(value)} characters", f"at most {most}")
        odd = next((char for char in value if char < " " and char not in "\n\t"), None)
        if odd is not None:
            raise self.error(node.line, f"`{key}` holds a control character", repr(odd), "text")


# Workflow variables: names, size limits, and substitution.
#
# A step passes them on as one JSON object in a file, so no value ever becomes part of a script or a path.

MAX_VARIABLES = 200
MAX_VALUE = 16_000  # characters of JSON: the journal truncates a longer text
MAX_TOTAL = 32_000

_NAME = re.compile(r"[a-z_][a-z0-9_]{0,63}")
NAME_RULE = "small letters, digits and _, 64 at most"

Variables = Mapping[str, Any]


def is_name(word: str) -> bool:
    return _NAME.fullmatch(word) is not None


def parse_variable_options(pairs: Iterable[str]) -> dict[str, str]:
    """Parse `--var depth=2` options; the last value of a name wins."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not is_name(name):
            raise UsageError(
                "--var needs a name and a value",
                found=pair[:60],
                expected=f"NAME=VALUE, the name in {NAME_RULE}",
            )
        found[name] = value
    problem = find_variables_problem(found)
    if problem:
        raise UsageError(f"--var: {problem}")
    return found


def read_variables(raw: bytes) -> dict[str, Any]:
    """Parse the variables a step has written. ValueError describes the problem to the step's author."""
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        raise ValueError("it is not valid JSON") from None
    if not isinstance(data, dict):
        raise ValueError("it is not a JSON object")
    problem = find_variables_problem(data)
    if problem:
        raise ValueError(problem)
    return data


def find_variables_problem(variables: Variables) -> str:
    """Why these cannot be a run's variables; empty if they can."""
    if len(variables) > MAX_VARIABLES:
        return f"{len(variables)} variables are too many: {MAX_VARIABLES} at most"
    odd = next((name for name in variables if not is_name(name)), None)
    if odd is not None:
        return f"{odd[:60]!r} is no variable's name: {NAME_RULE}"
    sizes = {name: len(as_json(value)) for name, value in variables.items()}
    large = next((name for name, size in sizes.items() if size > MAX_VALUE), None)
    if large is not None:
        return f"{large} is too long: {MAX_VALUE} characters at most; leave a file's path instead"
    if sum(sizes.values()) > MAX_TOTAL:
        return f"they are too long together: {MAX_TOTAL} characters at most; leave a file's path instead"
    if any("\\u0000" in as_json(value) for value in variables.values()):
        return "a value holds a NUL character"
    return ""


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)


def as_text(value: Any) -> str:
    """A string unchanged, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def fill_words(words: Iterable[str], variables: Variables) -> tuple[str, ...]:
    """Fill placeholders; each word stays one word. A placeholder without a value is left unchanged."""
    return tuple(
        fill_placeholders(word, lambda name: as_text(variables[name]) if name in variables else f"{{{name}}}")
        for word in words
    )


MAX_NAME = 80
MAX_WORDS = 200
COMMAND = "command"  # the type of a step without an agent, and its role
DEFAULT_ROLE = "dev"

STEP_KEYS = ("step", "name", "type", "role", "skill", "instructions", "prompt", "description", "run", "checkpoint")
_CHECKPOINT = ("save", "variables_to_persist")
_TRUTHS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class ParsedStep(NamedTuple):
    """A step and its position in the file."""

    step: Step
    line: int
    texts: tuple[ScalarNode, ...] = ()  # nodes in which variables are substituted


class StepReader(NodeReader):
    """Reads the steps of one file."""

    keys: tuple[str, ...] = STEP_KEYS

    def step(self, node: Node, number: int) -> ParsedStep:
        if not isinstance(node, Table):
            raise self.error(node.line, f"step {number} is not a mapping", self.describe(node), "`- step: NAME`")
        self.refuse_duplicate_keys(node, f"step {number}")
        self.warn_unknown(node, self.keys, "a step")
        name = self._step_name(node, number)
        part = self.flow_part(node, number, name)
        save, persist = self._checkpoint(node)
        if part is not None and part.tasks:
            return ParsedStep(Step(name, self._role(node), checkpoint=save, flow=part), node.line)
        kind = self.text_value(node, "type") or ""
        if kind.strip().lower() == COMMAND or self.value(node, "run") is not None:
            words, texts, shell = self._run(node, name)
            step = Step(name, COMMAND, command=words, shell=shell, persist=persist, checkpoint=save, flow=part)
            return ParsedStep(step, node.line, texts)
        instructions = self._instructions(node, name)
        skill = self._skill(node)
        if instructions is None and skill is None and not (part and part.skills):
            expected = "`instructions`, a `skill`, or `run`"
            raise self.error(node.line, f"the step {format_value(name)} has nothing to do", "", expected)
        text = instructions.value if instructions else None
        step = Step(name, self._role(node), skill, text, persist=persist, checkpoint=save, flow=part)
        return ParsedStep(step, node.line, (instructions,) if instructions else ())

    def flow_part(self, node: Table, number: int, name: str) -> FlowPart | None:
        """The additional data of a flow's step; overridden in flow_file.py."""
        return None

    def _step_name(self, node: Table, number: int) -> str:
        found = self.text_node(node, "step", MAX_NAME) or self.text_node(node, "name", MAX_NAME)
        if found is None or found.value is None:
            raise self.error(node.line, f"step {number} has no name", "", "`- step: NAME`")
        name = found.value.strip()
        if not name.isprintable():
            raise self.error(found.line, "a step's name is one line of text", format_value(name))
        return name

    def _instructions(self, node: Table, name: str) -> ScalarNode | None:
        """`description` is used only if there are no `instructions` and no `prompt`."""
        both = [self.text_node(node, key) for key in ("instructions", "prompt")]
        if all(both):
            line = self.line_of(node, "prompt") or node.line
            raise self.error(
                line, f"the step {format_value(name)} has both `instructions` and a `prompt`", "", "one"
            )
        instructions = both[0] or both[1] or self.text_node(node, "description")
        if instructions is not None and (instructions.value or "").lstrip().startswith(
            "-"
        ):  # some clients parse it as an option
            raise self.error(
                instructions.line,
                "the instructions begin like an option",
                format_value(instructions.value),
                "a sentence",
            )
        return instructions

    def _role(self, node: Table) -> str:
        found = self.text_node(node, "role")
        if found is None or found.value is None:
            return DEFAULT_ROLE
        role = found.value.strip()
        if role not in ROLES:
            hint = suggest_name(role, {one: one for one in ROLES})
            raise self.error(found.line, "this is no role", format_value(role), ", ".join(ROLES), hint)
        return role

    def _skill(self, node: Table) -> str | None:
        found = self.text_node(node, "skill")
        if found is None or found.value is None:
            return None
        return self.skill_name(found)

    def skill_name(self, found: ScalarNode) -> str:
        skill = (found.value or "").strip()
        bare = skill.removeprefix("/").removeprefix("bmad-")
        if bare != skill or not all(part.isalnum() and part.isascii() for part in skill.split("-")):
            hint = f"write it as BMAD calls it, without `bmad-`: {bare}" if bare != skill else None
            expected = "letters, digits and -, such as `create-architecture`"
            raise self.error(found.line, "this is no skill's name", format_value(skill), expected, hint)
        return skill

    def _run(self, node: Table, name: str) -> tuple[tuple[str, ...], tuple[ScalarNode, ...], bool]:
        for key in ("skill", "instructions", "prompt"):
            line = self.line_of(node, key)
            if line is not None:
                message = f"the step {format_value(name)} is a command, and has `{key}`"
                raise self.error(line, message, "", "a command or an agent", "leave one of them out")
        found = self.value(node, "run")
        if isinstance(found, ScalarNode) and (found.value or "").strip():
            script = self.text_node(node, "run")
            assert script is not None
            inside = find_quoted_placeholder(script.value or "")
            if inside is not None:
                line = self.line_in(script, f"{{{inside}}}")
                hint = "leave the quotes out: it is one word as it is"
                raise self.error(line, "a variable stands inside quotes", f"{{{inside}}}", "", hint)
            return (script.value or "",), (script,), True
        line = self.line_of(node, "run") or node.line
        if not isinstance(found, SequenceNode) or not found.items:
            shows = "nothing" if found is None or isinstance(found, SequenceNode) else self.describe(found)
            expected = '`run: ["npm", "test"]`, or a text for sh'
            raise self.error(line, f"the step {format_value(name)} has no command", shows, expected)
        if len(found.items) > MAX_WORDS:
            raise self.error(line, "`run` has too many words", str(len(found.items)), f"at most {MAX_WORDS}")
        words = tuple(self._word(item) for item in found.items)
        return tuple(word.value or "" for word in words), words, False

    def _word(self, node: Node) -> ScalarNode:
        if not isinstance(node, ScalarNode) or node.value is None:
            raise self.error(node.line, "a word of `run` is not a text", self.describe(node), "a text")
        self.check_text(node, "run", MAX_TEXT)
        return node

    # checkpoint

    def _checkpoint(self, node: Table) -> tuple[bool, tuple[str, ...]]:
        found = self.value(node, "checkpoint")
        if found is None or isinstance(found, ScalarNode):
            return (
                (True, ()) if found is None or found.value is None else (self.bool_value(found, "checkpoint"), ())
            )
        if not isinstance(found, Table):
            line = self.line_of(node, "checkpoint") or found.line
            raise self.error(line, "`checkpoint` is not a mapping", self.describe(found), "`save: true`")
        self.refuse_duplicate_keys(found, "`checkpoint`")
        self.warn_unknown(found, _CHECKPOINT, "a checkpoint")
        save = self.value(found, "save")
        return True if save is None else self.bool_value(save, "save"), self._persist(found)

    def bool_value(self, node: Node, key: str) -> bool:
        word = (node.value or "").lower() if isinstance(node, ScalarNode) else ""
        if word not in _TRUTHS:
            raise self.error(node.line, f"`{key}` is neither true nor false", self.describe(node), "true or false")
        return _TRUTHS[word]

    def _persist(self, table: Table) -> tuple[str, ...]:
        key = "variables_to_persist"
        found = self.value(table, key)
        if found is None or (isinstance(found, ScalarNode) and found.value is None):
            return ()
        if not isinstance(found, SequenceNode):
            line = self.line_of(table, key) or found.line
            raise self.error(line, f"`{key}` is not a list", self.describe(found), "a list of names")
        for item in found.items:
            if not isinstance(item, ScalarNode) or not is_name(item.value or ""):
                raise self.error(item.line, "this is no variable's name", self.describe(item), NAME_RULE)
        return tuple(dict.fromkeys(item.value or "" for item in found.items if isinstance(item, ScalarNode)))

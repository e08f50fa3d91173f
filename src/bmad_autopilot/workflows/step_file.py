"""A workflow in a file of its own: steps of 001's form, as YAML. What is wrong with it is said with its line."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..core.diagnostics import Diagnostic
from ..core.errors import FileError, Place
from ..files import Text, read_text
from ..project.placeholders import used
from ..yamls import Mapping as Table
from ..yamls import Node, Scalar, Sequence, parse, plain
from .flow_entry import FlowHead, FlowReader
from .flow_rules import PLACES
from .pipelines import FIX, Step, Workflow
from .step_entry import Reader, Written
from .step_variables import NAME_RULE, fault_of, is_name
from .workflow_json import MAX_STEPS

MAX_BYTES = 64 * 1024  # it is frozen in the first line of a run's journal
MAX_NAME = 60

_KEYS = ("name", "description", "variables", "flow", "steps")
_BMADS = ("installed_path", "config_source", "instructions", "template", "validation", "web_bundle")


class StepFile(NamedTuple):
    workflow: Workflow
    variables: Mapping[str, Any]  # what a run begins with
    notes: tuple[Diagnostic, ...] = ()
    flow: FlowHead | None = None  # of a flow


def read_step_file(path: str, given: Mapping[str, Any] | None = None) -> StepFile:
    """`given`: variables from the command line, in place of the file's own. FileError: its first mistake."""
    name = os.path.basename(path)
    if name.endswith((".xml", ".md")):
        what = "an XML file, as BMAD's own engine reads them" if name.endswith(".xml") else "a Markdown file"
        raise _not_ours(path, None, what)
    return step_file_from(read_text(path, limit=MAX_BYTES), given)


def step_file_from(text: Text, given: Mapping[str, Any] | None = None) -> StepFile:
    root = parse(text)
    is_flow = isinstance(root, Table) and any(key.value == "flow" for key, _ in root.items)
    reader = FlowReader(text) if is_flow else Reader(text)
    listed = _steps_node(reader, root)
    head = reader.head(root) if isinstance(reader, FlowReader) else None
    own, line = _own_variables(reader, root)
    variables = {**own, **(given or {})}
    problem = fault_of({name: value for name, value in variables.items() if value is not None})
    if problem:
        raise reader.error(line, f"the variables cannot be used: {problem}")
    steps = [reader.step(node, number) for number, node in enumerate(listed.items, 1)]
    if head is None:  # a flow's steps are told apart by their numbers: tests may be run twice
        _refuse_twice(reader, steps)
    _refuse_unknown_variables(reader, steps, {**variables, **dict.fromkeys(PLACES if head else ())})
    for name, value in variables.items():
        if value is None:
            hint = f"give it: --var {name}=…"
            raise reader.error(line, f"the variable {name} has no value", "nothing", "a value", hint)
    workflow = Workflow(_name(reader, root), tuple(one.step for one in steps), FIX)
    return StepFile(workflow, variables, tuple(reader.notes), head)


def _steps_node(reader: Reader, root: Node | None) -> Sequence:
    """The list of steps: alone, or under `steps`."""
    if isinstance(root, Table):
        keys = {key.value or "": value for key, value in root.items}
        if "steps" not in keys and any(key in keys for key in _BMADS):
            raise _not_ours(reader.text.path, root.line, "a workflow.yaml of BMAD's own")
        reader.refuse_twice(root, "the workflow")
        reader.warn_unknown(root, _KEYS, "a workflow")
        node = keys.get("steps")
        line = reader.line_of(root, "steps") or root.line
    else:
        node, line = root, root.line if root is not None else 1
    if not isinstance(node, Sequence) or not node.items:
        found = "nothing" if node is None or isinstance(node, Sequence) else reader.shown(node)
        raise reader.error(line, "there are no steps", found, "a list: `- step: …`")
    if len(node.items) > MAX_STEPS:
        raise reader.error(node.line, "there are too many steps", str(len(node.items)), f"at most {MAX_STEPS}")
    return node


def _not_ours(path: str, line: int | None, what: str) -> FileError:
    return FileError(
        "is no file of steps",
        place=Place(path, line),
        found=what,
        expected="a list of `- step: …` (docs/workflow-files.md)",
        hint="to have an agent run such a workflow: a step with `skill: NAME`, as BMAD calls it",
    )


def _own_variables(reader: Reader, root: Node | None) -> tuple[dict[str, Any], int]:
    node = reader.value(root, "variables")
    if node is None or (isinstance(node, Scalar) and node.value is None):
        return {}, 1
    if not isinstance(node, Table):
        line = reader.line_of(root, "variables") or node.line
        raise reader.error(line, "`variables` is not a mapping", reader.shown(node), "`name: value` lines")
    reader.refuse_twice(node, "`variables`")
    for key, _ in node.items:
        if not is_name(key.value or ""):
            raise reader.error(key.line, "this is no variable's name", reader.shown(key), NAME_RULE)
    return {key.value or "": plain(value) for key, value in node.items}, node.line


def _name(reader: Reader, root: Node | None) -> str:
    """As it can be part of a folder's name."""
    said = reader.text_value(root, "name")
    stem = os.path.basename(reader.text.path).rsplit(".", 1)[0]
    name = re.sub(r"[^\w.-]+", "-", said or stem).strip("-._")[:MAX_NAME]
    if not name:
        line = reader.line_of(root, "name") or 1
        raise reader.error(line, "the workflow has no name", said or stem, "letters, digits, - and _")
    return name


def _refuse_twice(reader: Reader, steps: Iterable[Written]) -> None:
    lines: dict[str, int] = {}
    for one in steps:
        if one.step.name in lines:
            found = f"{one.step.name}, also on line {lines[one.step.name]}"
            raise reader.error(one.line, "two steps have one name", found, "a name of its own for each")
        lines[one.step.name] = one.line


def _refuse_unknown_variables(reader: Reader, steps: Iterable[Written], variables: Mapping[str, Any]) -> None:
    known = set(variables)
    for one in steps:
        for word, line in _uses(reader, one):
            if word not in known:
                raise reader.error(
                    line,
                    f"nobody gives the variable {word}",
                    f"{{{word}}}",
                    f"one of: {', '.join(sorted(known))}" if known else "a variable that is given",
                    f"give it under `variables`, by --var {word}=…, or in a step's `variables_to_persist` before; "
                    f"{{{{{word}}}}} is left as it is",
                )
        known.update(one.step.persist)


def _uses(reader: Reader, one: Written) -> Iterator[tuple[str, int]]:
    step: Step = one.step
    for node in one.texts:
        if node.value is not None and (step.command or step.prompt):
            for word in used([node.value]):
                yield word, reader.line_in(node, f"{{{word}}}")

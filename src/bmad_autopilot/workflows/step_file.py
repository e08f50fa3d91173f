"""Reads a workflow from a YAML step file (docs/workflow-files.md), reporting each mistake with its line."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..core.errors import Diagnostic, FileError, Location
from ..io.files import TextFile, read_text
from ..io.patterns import placeholder_names
from ..io.yaml_reader import MappingNode as Table
from ..io.yaml_reader import Node, ScalarNode, SequenceNode, parse_yaml, to_data
from .flow_file import FOLDER_PLACEHOLDERS, FlowHead, FlowReader
from .step_entry import NAME_RULE, ParsedStep, StepReader, find_variables_problem, is_name
from .workflow import FIX, MAX_STEPS, Step, Workflow

MAX_BYTES = 64 * 1024  # the workflow is stored in the first line of a run's journal
MAX_NAME = 60

_KEYS = ("name", "description", "variables", "flow", "steps")
_BMAD_KEYS = ("installed_path", "config_source", "instructions", "template", "validation", "web_bundle")


class StepFile(NamedTuple):
    workflow: Workflow
    variables: Mapping[str, Any]  # a run's initial variables
    notes: tuple[Diagnostic, ...] = ()
    flow: FlowHead | None = None  # only for a flow


def read_step_file(path: str, overrides: Mapping[str, Any] | None = None) -> StepFile:
    """`overrides`: variables from the command line, which replace the file's. Raises FileError for the first
    mistake."""
    name = os.path.basename(path)
    if name.endswith((".xml", ".md")):
        what = "an XML file, as BMAD's own engine reads them" if name.endswith(".xml") else "a Markdown file"
        raise _not_a_step_file(path, None, what)
    return parse_step_file(read_text(path, limit=MAX_BYTES), overrides)


def parse_step_file(text: TextFile, overrides: Mapping[str, Any] | None = None) -> StepFile:
    root = parse_yaml(text)
    is_flow = isinstance(root, Table) and any(key.value == "flow" for key, _ in root.items)
    reader = FlowReader(text) if is_flow else StepReader(text)
    listed = _steps_node(reader, root)
    head = reader.head(root) if isinstance(reader, FlowReader) else None
    own, line = _file_variables(reader, root)
    variables = {**own, **(overrides or {})}
    problem = find_variables_problem({name: value for name, value in variables.items() if value is not None})
    if problem:
        raise reader.error(line, f"the variables cannot be used: {problem}")
    steps = [reader.step(node, number) for number, node in enumerate(listed.items, 1)]
    if head is None:  # a flow's steps are identified by number: tests, for example, may run twice
        _refuse_duplicate_names(reader, steps)
    _refuse_unknown_variables(reader, steps, {**variables, **dict.fromkeys(FOLDER_PLACEHOLDERS if head else ())})
    for name, value in variables.items():
        if value is None:
            hint = f"give it: --var {name}=…"
            raise reader.error(line, f"the variable {name} has no value", "nothing", "a value", hint)
    workflow = Workflow(_name(reader, root), tuple(one.step for one in steps), FIX)
    return StepFile(workflow, variables, tuple(reader.notes), head)


def _steps_node(reader: StepReader, root: Node | None) -> SequenceNode:
    """The list of steps: the whole document, or its key `steps`."""
    if isinstance(root, Table):
        keys = {key.value or "": value for key, value in root.items}
        if "steps" not in keys and any(key in keys for key in _BMAD_KEYS):
            raise _not_a_step_file(reader.text.path, root.line, "a workflow.yaml of BMAD's own")
        reader.refuse_duplicate_keys(root, "the workflow")
        reader.warn_unknown(root, _KEYS, "a workflow")
        node = keys.get("steps")
        line = reader.line_of(root, "steps") or root.line
    else:
        node, line = root, root.line if root is not None else 1
    if not isinstance(node, SequenceNode) or not node.items:
        found = "nothing" if node is None or isinstance(node, SequenceNode) else reader.describe(node)
        raise reader.error(line, "there are no steps", found, "a list: `- step: …`")
    if len(node.items) > MAX_STEPS:
        raise reader.error(node.line, "there are too many steps", str(len(node.items)), f"at most {MAX_STEPS}")
    return node


def _not_a_step_file(path: str, line: int | None, what: str) -> FileError:
    return FileError(
        "is no file of steps",
        location=Location(path, line),
        found=what,
        expected="a list of `- step: …` (docs/workflow-files.md)",
        hint="to have an agent run such a workflow: a step with `skill: NAME`, as BMAD calls it",
    )


def _file_variables(reader: StepReader, root: Node | None) -> tuple[dict[str, Any], int]:
    node = reader.value(root, "variables")
    if node is None or (isinstance(node, ScalarNode) and node.value is None):
        return {}, 1
    if not isinstance(node, Table):
        line = reader.line_of(root, "variables") or node.line
        raise reader.error(line, "`variables` is not a mapping", reader.describe(node), "`name: value` lines")
    reader.refuse_duplicate_keys(node, "`variables`")
    for key, _ in node.items:
        if not is_name(key.value or ""):
            raise reader.error(key.line, "this is no variable's name", reader.describe(key), NAME_RULE)
    return {key.value or "": to_data(value) for key, value in node.items}, node.line


def _name(reader: StepReader, root: Node | None) -> str:
    """The workflow's name, in a form that can be part of a folder's name."""
    said = reader.text_value(root, "name")
    stem = os.path.basename(reader.text.path).rsplit(".", 1)[0]
    name = re.sub(r"[^\w.-]+", "-", said or stem).strip("-._")[:MAX_NAME]
    if not name:
        line = reader.line_of(root, "name") or 1
        raise reader.error(line, "the workflow has no name", said or stem, "letters, digits, - and _")
    return name


def _refuse_duplicate_names(reader: StepReader, steps: Iterable[ParsedStep]) -> None:
    lines: dict[str, int] = {}
    for one in steps:
        if one.step.name in lines:
            found = f"{one.step.name}, also on line {lines[one.step.name]}"
            raise reader.error(one.line, "two steps have one name", found, "a name of its own for each")
        lines[one.step.name] = one.line


def _refuse_unknown_variables(
    reader: StepReader, steps: Iterable[ParsedStep], variables: Mapping[str, Any]
) -> None:
    known = set(variables)
    for one in steps:
        for word, line in _variable_uses(reader, one):
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


def _variable_uses(reader: StepReader, one: ParsedStep) -> Iterator[tuple[str, int]]:
    step: Step = one.step
    for node in one.texts:
        if node.value is not None and (step.command or step.prompt):
            for word in placeholder_names([node.value]):
                yield word, reader.line_in(node, f"{{{word}}}")

"""What an agent is told for one step of a workflow's own file."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from .contract import MAX_PATH, workflow_contract
from .invocations import own_text
from .prompts import history
from .quoting import inline, quoted
from .step_context import StepContext
from .step_variables import Variables, as_text

MAX_ARTEFACTS = 50
MAX_VALUE = 1000  # of a value among the instructions; the block below them has it whole


class Passing(NamedTuple):
    """What goes from step to step, and where: absolute paths."""

    workflow: str
    place: str  # `2 of 5`
    variables: Variables
    given: str  # the file that holds them
    artefacts: tuple[tuple[str, str], ...]  # step, path
    variables_file: str  # for the step to write
    output_file: str
    more: tuple[str, ...] = ()  # what else it is told, a paragraph each


def workflow_prompt(context: StepContext, passing: Passing) -> str:
    parts = [
        *_opening(context, passing),
        f"This is step {passing.place}, `{inline(context.step.name)}`, of the workflow `{passing.workflow}`.",
        *passing.more,
        *_before(passing),
        *history(context),
        _to_leave(context, passing),
        workflow_contract(context),
    ]
    return "\n\n".join(parts) + "\n"


def _opening(context: StepContext, passing: Passing) -> Iterator[str]:
    """A client starts a skill only where its name is the first thing it reads."""
    if context.invocation:
        yield context.invocation
    if context.step.prompt:
        values = {name: inline(as_text(value), MAX_VALUE) for name, value in passing.variables.items()}
        yield own_text(context.step, values)


def _before(passing: Passing) -> Iterator[str]:
    if passing.variables:
        listed = json.dumps(dict(passing.variables), indent=2, ensure_ascii=False)
        yield quoted("The workflow's variables", listed)
        yield f"All of them, whole: `{inline(passing.given, MAX_PATH)}`"
    if passing.artefacts:
        shown = passing.artefacts[-MAX_ARTEFACTS:]
        lines = (f"- {inline(step)}: `{inline(path, MAX_PATH)}`" for step, path in shown)
        yield "What the steps before have left, to be read where it helps:\n" + "\n".join(lines)


def _to_leave(context: StepContext, passing: Passing) -> str:
    output, variables = (inline(path, MAX_PATH) for path in (passing.output_file, passing.variables_file))
    owed = ", ".join(f"`{name}`" for name in context.step.persist)
    what = f"It must hold {owed}." if owed else "Write it only if there is something to hand on."
    example = json.dumps(dict.fromkeys(context.step.persist or ("some_name",), "…"), ensure_ascii=False)
    return (
        "Before you end, write these two files, by just these paths, wherever they lie:\n"
        f"- `{output}`: what came of this step, in Markdown, for people and for the steps after it.\n"
        f"- `{variables}`: one JSON object with values for the steps after it, such as\n"
        f"  {example}. Names in small letters, digits and _. {what}"
    )

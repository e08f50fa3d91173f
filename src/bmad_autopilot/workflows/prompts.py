"""Builds the prompt for one step: the skill's invocation or the step's own prompt, its history, the contract."""

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..core.errors import UsageError
from ..io.patterns import fill_placeholders
from .agent_call import AgentCall, PausedAttempt, PromptContext, PromptPoint
from .contract import (
    MAX_PATH,
    build_contract,
    build_workflow_contract,
    inline,
    new_story_path,
    quote_block,
)
from .step_entry import Variables, as_text
from .workflow import BUILD, RETROSPECTIVE, FlowPart, Step

# The opening line, which is all that a dry run shows of a prompt.


def opening_line(
    step: Step,
    story: str,
    invocation: str | None,
    *,
    version: str = "",
    spec: str | None = None,
    spec_folder: str | None = None,
) -> str:
    """A client starts a skill only if the prompt begins with its name."""
    if step.skill is None:
        return fill_prompt(step, {"story": story}).partition("\n")[0]
    if invocation is None:
        raise UsageError(f"the step {step.name} needs a skill that is not installed", found=step.skill)
    if step.skill == RETROSPECTIVE.skill:
        return f"{invocation} {_epic(story, version)}"
    if step.skill == BUILD.skill and spec:
        return f"{invocation} {spec}"
    if step.skill == BUILD.skill and spec_folder:
        return f"{invocation} Spec folder: {spec_folder}. Story id: {story}."
    return f"{invocation} {story}"


def fill_prompt(step: Step, values: Mapping[str, str]) -> str:
    """The step's own prompt, with its placeholders filled in one pass; one without a value is left unchanged."""
    if not step.prompt:
        raise UsageError(f"the step {step.name} has neither a skill nor a prompt", expected="one of them")
    return fill_placeholders(step.prompt, lambda name: values.get(name, f"{{{name}}}")).strip()


def _epic(key: str, version: str) -> str:
    """`epic-3` → `3`; from 6.11 on with the option for a headless run."""
    from .standing_answers import parse_version  # imported late: a dry run rarely needs it

    number = key.removesuffix("-retrospective").removeprefix("epic-")
    return f"-H {number}" if parse_version(version) >= (6, 11) else number


MAX_ARTIFACTS = 50
MAX_ANSWERS = 20
_CUT_SHORT = """\
An earlier attempt at this step was cut short from outside. Whatever changed since the baseline is this story's:
look at it first, keep what is good, and go on from there."""
_REVIEWED = "Reviewers of the pull request wrote this. Each point wants an answer."
_CONFLICT = """\
The base branch has changed these files in the same places. Each is shown as git would merge it: between the marks
stand this branch's lines and the base's. Write each file here as it should be with both changes in it, and without
marks. The base's other changes are not in this work tree yet; the project's checks are run once they are."""
_DECIDED = "the project's owner has decided that it is to be done as asked"
_SETTLED = "settles that question, and changes no other rule of this text"


def build_prompt(call: AgentCall, context: PromptContext) -> str:
    return (
        "\n\n".join([*_story_opening(call, context), *history_parts(call), build_contract(call, context)]) + "\n"
    )


def _story_opening(call: AgentCall, context: PromptContext) -> list[str]:
    step = call.step
    values = {
        "story": inline(call.story),
        "story_file": inline(context.story_file or new_story_path(call, context), MAX_PATH),
        "epic": inline(call.epic),
    }
    if step.skill is None:
        return [fill_prompt(step, values)]
    line = opening_line(
        step,
        values["story"],
        context.invocation,
        version=context.version,
        spec=context.spec and inline(context.spec, MAX_PATH),
        spec_folder=context.spec_folder and inline(context.spec_folder, MAX_PATH),
    )
    return [line, fill_prompt(step, values)] if step.prompt else [line]


def history_parts(call: AgentCall) -> list[str]:
    """What happened in earlier attempts at this step, with quoted text as data."""
    parts = []
    if call.review:
        parts.append("The last review asked for changes. Deal with each of its points before anything else.")
        parts.append(quote_block("Its summary", call.review))
    if call.checks:
        parts.append("The project's own checks fail on this work. Mend the cause; leave the checks as they are.")
        parts.append(quote_block("What they printed", call.checks))
    if call.points:
        parts.append(_CONFLICT if call.in_conflict else _REVIEWED)
        parts += [quote_block(_point_title(one), f"{one.title}\n\n{one.text}") for one in call.points]
    if call.logs:
        parts.append("These checks failed on the pull request. Mend the cause; leave the checks as they are.")
        parts += [
            quote_block(f"The check no. {number}, and the end of its log", f"{one.title}\n\n{one.text}")
            for number, one in enumerate(call.logs, 1)
        ]
    if call.failure:
        parts.append("An earlier attempt at this step failed. Find the cause; keep what that attempt did well.")
        parts.append(quote_block("What went wrong", call.failure))
    if call.cut_short:
        parts.append(_CUT_SHORT)
    if call.halfway:
        parts += _paused_parts(call.halfway)
    return parts


def _point_title(one: PromptPoint) -> str:
    """The user's decision is stated outside the quotation: inside, the reviewer could have forged it."""
    return f"{one.name}" + (f"; {_DECIDED}" if one.is_decided else "")


def _paused_parts(paused: PausedAttempt) -> list[str]:
    lines = ["An earlier attempt at this step stopped to ask. Go on from where it stopped."]
    if paused.blocked_at:
        lines.append(f"It stopped at: `{inline(paused.blocked_at)}`")
    if paused.last_completed:
        lines.append(f"Done, and not to be done again: `{inline(paused.last_completed)}`")
    if paused.artifacts:
        named = ", ".join(f"`{inline(name)}`" for name in paused.artifacts[:MAX_ARTIFACTS])
        lines.append(f"Written already, and not to be written anew: {named}")
    answers = [
        quote_block(
            f"Question {number}, answered by a human", "\n".join(_answered_lines(*answered)), label=_SETTLED
        )
        for number, answered in enumerate(paused.answers[:MAX_ANSWERS], 1)
    ]
    return ["\n".join(lines), *answers]


def _answered_lines(question: str, answer: str, context: str) -> list[str]:
    lines = [f"asked: {question}", f"answered: {answer}"]
    return [*lines, f"context: {context}"] if context else lines


# Prompts for steps of a workflow file.

MAX_ARTEFACTS = 50
MAX_VALUE = 1000  # of a value inside the instructions; the block below them contains it in full


class StepHandoff(NamedTuple):
    """What is passed from step to step; all paths are absolute."""

    workflow: str
    position: str  # `2 of 5`
    variables: Variables
    input_file: str  # the file with all variables
    artefacts: tuple[tuple[str, str], ...]  # step, path
    variables_file: str  # for the step to write
    output_file: str
    extra_paragraphs: tuple[str, ...] = ()  # additional paragraphs of the prompt


def build_workflow_prompt(call: AgentCall, context: PromptContext, handoff: StepHandoff) -> str:
    parts = [
        *_step_opening(call, context, handoff),
        f"This is step {handoff.position}, `{inline(call.step.name)}`, of the workflow `{handoff.workflow}`.",
        *handoff.extra_paragraphs,
        *_input_parts(handoff),
        *history_parts(call),
        _output_rules(call, handoff),
        build_workflow_contract(call, context),
    ]
    return "\n\n".join(parts) + "\n"


def _step_opening(call: AgentCall, context: PromptContext, handoff: StepHandoff) -> Iterator[str]:
    """A client starts a skill only if the prompt begins with its name."""
    if context.invocation:
        yield context.invocation
    if call.step.prompt:
        values = {name: inline(as_text(value), MAX_VALUE) for name, value in handoff.variables.items()}
        yield fill_prompt(call.step, values)


def _input_parts(handoff: StepHandoff) -> Iterator[str]:
    if handoff.variables:
        listed = json.dumps(dict(handoff.variables), indent=2, ensure_ascii=False)
        yield quote_block("The workflow's variables", listed)
        yield f"All of them, whole: `{inline(handoff.input_file, MAX_PATH)}`"
    if handoff.artefacts:
        shown = handoff.artefacts[-MAX_ARTEFACTS:]
        lines = (f"- {inline(step)}: `{inline(path, MAX_PATH)}`" for step, path in shown)
        yield "What the steps before have left, to be read where it helps:\n" + "\n".join(lines)


def _output_rules(call: AgentCall, handoff: StepHandoff) -> str:
    output, variables = (inline(path, MAX_PATH) for path in (handoff.output_file, handoff.variables_file))
    required = ", ".join(f"`{name}`" for name in call.step.persist)
    what = f"It must hold {required}." if required else "Write it only if there is something to hand on."
    example = json.dumps(dict.fromkeys(call.step.persist or ("some_name",), "…"), ensure_ascii=False)
    return (
        "Before you end, write these two files, by just these paths, wherever they lie:\n"
        f"- `{output}`: what came of this step, in Markdown, for people and for the steps after it.\n"
        f"- `{variables}`: one JSON object with values for the steps after it, such as\n"
        f"  {example}. Names in small letters, digits and _. {what}"
    )


# Additional paragraphs for a flow's step.

MAX_DECISIONS = 40


class FlowHandoff(NamedTuple):
    state: str  # the path of the state file
    decisions: tuple[str, ...]  # made so far
    substep: str  # the sub-step an earlier call had reached
    substep_file: str  # the file in which this call reports its sub-step


def flow_paragraphs(part: FlowPart, handoff: FlowHandoff) -> Iterator[str]:
    if handoff.decisions:
        listed = "\n".join(f"- {inline(one)}" for one in handoff.decisions[-MAX_DECISIONS:])
        yield quote_block("What was decided before, and holds", listed)
    if part.done and part.done != ("recorded",):
        listed = "\n".join(f"- `{inline(one)}`" for one in part.done if one != "recorded")
        yield f"What must be there when you end, each file with content (`!`: gone); it is checked:\n{listed}"
    yield from _substeps(part, handoff)
    yield (
        f"Leave `{inline(handoff.state, MAX_PATH)}` alone: it is kept for you. What you decide for good goes "
        'into\nthe JSON object named below, as "decisions": a list of short sentences.'
    )


def _substeps(part: FlowPart, handoff: FlowHandoff) -> Iterator[str]:
    if handoff.substep:
        yield (
            f"An earlier call was cut short at sub-step {inline(handoff.substep)}. Look at what it has left, go "
            "on\nthere, and do nothing again that is done."
        )
    where = inline(handoff.substep_file, MAX_PATH)
    if part.substeps:
        listed = "\n".join(f"- {inline(one)}" for one in part.substeps)
        yield f"Its sub-steps, in this order:\n{listed}"
    yield f"Whenever you begin a sub-step, write its number and name, one line, into `{where}`."

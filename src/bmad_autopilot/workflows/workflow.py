"""The step and workflow records, the built-in story pipelines `lean`, `full` and `build`, and their JSON form.

selection.py builds a project's own workflows from its settings."""

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from ..core.errors import FileError, Location
from ..core.statuses import BACKLOG, DONE, IN_PROGRESS, READY, REVIEW
from ..core.step_output import StepOutput

# Prompts of steps without a BMAD skill, or with additions to it.

VALIDATE_PROMPT = """\
Do not create a story: validate the one that exists. Work through the skill's own checklist.md against the story
file and the planning documents, correct the story file in place, and leave its status as it is."""

REVISION_PROMPT = """\
Revise story {story}: read its story file and the diff, fix what you find, change no status.

You are the revisor, and did not write this code. Read the story's acceptance criteria and tasks, then every change
since the baseline, tracked and untracked. Look for criteria not met, tasks ticked but not done, defects, errors
nobody handles, tests that could not fail, and what breaks the project's conventions. Fix what you find with the
smallest change and a test that fails without it, and run the project's checks. Write into the story's Dev Agent
Record what you changed and why, keep its File List complete, and change no status. Where nothing is wrong, change
nothing."""

FIX_PROMPT = """\
Fix story {story}: deal with what the review or the project's checks found, and with nothing else.

Read the story file and every change since the baseline, tracked and untracked. Take the points below one by one:
find the cause, mend it with the smallest change, and add a test that fails without the change where behaviour was
wrong. A point that is mistaken is left as it is, with the reason written down. Run the project's checks before you
end. Say in the story file's notes what became of each point, keep its File List true, and change no status,
neither there nor on the board."""

FIX_ISSUES_PROMPT = """\
Epic {epic} stands in a pull request. Deal with what its reviewers and its checks found, and with nothing else.

Read what is quoted below, and the code that it is about. Take the points one by one: find the cause, mend it with
the smallest change, and add a test that fails without the change where behaviour was wrong. A point that is
mistaken is left as it is, with the reason given. Where checks failed, mend the cause and leave the checks as they
are. Run the project's own checks before you end, and change no status on the board."""

IMPLEMENT_PROMPT = """\
Implement the task of {story}, whose file is `{story_file}`: read it whole, do what it asks, and nothing else.

Look first at what the task refers to, at what the tasks it depends on have left in the code, and at how the
project's own code and tests are written. Implement each requirement with the tests that would fail without it, and
run the project's checks before you end. Where the file has boxes, tick those that are really done; else leave it
as it is. Leave the file where it lies, and change no status, neither there nor on the board."""

REVIEW_PROMPT = """\
Review the work of {story}, whose task file is `{story_file}`. You did not write this code.

Read what the task asks for, then every change since the baseline, tracked and untracked. Look for requirements not
met, defects, errors nobody handles, tests that could not fail, holes in security, and what breaks the project's
conventions. Change nothing in the code. Give your verdict as told below, with one line for each finding: where it
is, what is wrong, and what would mend it."""


class DecisionGate(NamedTuple):
    """A decision by the user after a step has written its files: repeat the step, or proceed."""

    ask: str
    again: str  # one line on what each of the two choices means
    go_on: str
    recommended: str = "proceed"  # or "again"
    because: str = ""
    passed: tuple[str, ...] = ()  # conditions: if all hold, the user has already proceeded


class FlowPart(NamedTuple):
    """The additional data of a flow's step: how its completion is detected, and where the user decides."""

    number: int
    done: tuple[str, ...] = ()  # conditions of flow_file.py: all hold once the required output exists
    skills: tuple[str, ...] = ()  # alternative names of its skill: the first that is installed counts
    substeps: tuple[str, ...] = ()
    optional: bool = False
    only: str = ""  # a condition such as `ui`: if it does not hold, the step does not apply
    gate: DecisionGate | None = None
    boundary: str = ""  # what is complete when the session ends after this step
    tasks: str = ""  # no agent call: the tasks are implemented; the name of the resulting report
    loops: bool = False  # may be repeated before the next step
    checks: bool = False  # accepted only if the project's own checks pass afterwards
    tries: int = 3  # calls that may fail before the user is asked


class Step(NamedTuple):
    """One checkpointed unit of a workflow: one agent call, if the first attempt succeeds."""

    name: str
    role: str
    skill: str | None = None  # BMAD's skill; None: only the prompt is used
    prompt: str | None = None  # follows the skill's invocation, or replaces it
    before: str | None = None  # the board status that we set before the agent is called
    after: str | None = None  # the board status once the required output exists
    owes: StepOutput = StepOutput.NOTHING
    clean: bool = False  # the skill requires a clean work tree
    fresh: bool = False  # always starts a new conversation
    command: tuple[str, ...] = ()  # run instead of an agent: arguments, or one script if `shell` is set
    shell: bool = False
    persist: tuple[str, ...] = ()  # variables it must output; only these are passed on; empty: all it outputs are
    checkpoint: bool = True  # a run can be rolled back to the end of this step
    flow: FlowPart | None = None  # only for steps of a flow


class Workflow(NamedTuple):
    name: str
    steps: tuple[Step, ...]
    fix: Step  # called when the project's checks fail or a review asks for changes

    @property
    def review(self) -> Step | None:
        """The step that gives a verdict. None: a story is done when its checks pass."""
        return next((step for step in self.steps if step.owes is StepOutput.VERDICT), None)


CREATE = Step("create-story", "sm", "create-story", after=READY, owes=StepOutput.STORY)
VALIDATE = Step("validate", "sm", "validate", VALIDATE_PROMPT, owes=StepOutput.STORY)
DEV = Step("dev", "dev", "dev-story", before=IN_PROGRESS, after=REVIEW, owes=StepOutput.CODE)
REVISION = Step("revision", "revisor", prompt=REVISION_PROMPT, owes=StepOutput.REVISION)
CODE_REVIEW = Step("code-review", "qa", "code-review", after=DONE, owes=StepOutput.VERDICT, fresh=True)
BUILD = Step("build-auto", "dev", "build-auto", before=IN_PROGRESS, after=REVIEW, owes=StepOutput.CODE, clean=True)

# Not part of any pipeline: run for fixes, and after an epic.
FIX = Step("fix", "dev", prompt=FIX_PROMPT, before=IN_PROGRESS, after=REVIEW, owes=StepOutput.CODE)
RETROSPECTIVE = Step("retrospective", "sm", "retrospective")
FIX_ISSUES = Step("fix-issues", "dev", prompt=FIX_ISSUES_PROMPT)

STEPS: Mapping[str, Step] = {step.name: step for step in (CREATE, VALIDATE, DEV, REVISION, CODE_REVIEW, BUILD)}

PIPELINES: Mapping[str, Workflow] = {
    "lean": Workflow("lean", (CREATE, DEV, CODE_REVIEW), DEV),
    "full": Workflow("full", (CREATE, VALIDATE, DEV, REVISION, CODE_REVIEW), DEV),
    "build": Workflow("build", (BUILD, CODE_REVIEW), FIX),
}

# A fix round for review feedback and failed checks of a pull request.
PULL_ROUND = Workflow("pull-round", (FIX_ISSUES,), FIX_ISSUES)


def steps_left(workflow: Workflow, meaning: str) -> tuple[Step, ...]:
    """The remaining steps of a story with this status; none for one that is done, parked or unknown."""
    steps = workflow.steps
    if meaning == BACKLOG:
        return steps
    if meaning in (READY, IN_PROGRESS):
        return steps[_code_step_index(workflow) :]
    return tuple(step for step in steps if step.owes is StepOutput.VERDICT) if meaning == REVIEW else ()


def review_round_steps(workflow: Workflow) -> tuple[Step, ...]:
    """The steps of a review round after changes were requested: the fix, and all steps after it. A fix that is not
    itself a step replaces the one that wrote the code."""
    steps, fix = workflow.steps, workflow.fix
    at = steps.index(fix) if fix in steps else _code_step_index(workflow)
    return (fix, *steps[at + 1 :])


def _code_step_index(workflow: Workflow) -> int:
    """The index of the step that writes the code; the steps before it prepare the story."""
    steps = workflow.steps
    return next((index for index, step in enumerate(steps) if step.owes is StepOutput.CODE), len(steps))


# JSON form: a run keeps the workflow it started with, even if the settings change.

MAX_STEPS = 100  # of a step file; a story's workflow has fewer

_TEXTS = ("skill", "prompt", "before", "after")
_FLAGS = ("clean", "fresh", "shell", "checkpoint")
_LISTS = ("command", "persist")


def workflow_to_json(workflow: Workflow) -> dict[str, object]:
    steps = [_to_json(step) for step in workflow.steps]
    return {"name": workflow.name, "steps": steps, "fix": _to_json(workflow.fix)}


def _to_json(step: Step) -> dict[str, object]:
    """The `flow` key is only written for a flow's steps, so other runs keep their old format."""
    data = step._asdict()
    part = data.pop("flow")
    if part is not None:
        data["flow"] = {**part._asdict(), "gate": part.gate._asdict() if part.gate else None}
    return data


def workflow_from_json(data: object, location: Location | None = None) -> Workflow:
    """Unknown keys of another version are ignored, and missing ones get their default. `location` is named in
    errors."""
    whole = _table(data, "the workflow", location)
    steps = whole.get("steps")
    if not isinstance(steps, list) or not 0 < len(steps) <= MAX_STEPS:
        raise _refusal("the workflow's steps", steps, f"a list of 1 to {MAX_STEPS}", location)
    return Workflow(
        _name(whole, "name", "the workflow", location),
        tuple(_step(step, f"step {number}", location) for number, step in enumerate(steps, 1)),
        _step(whole.get("fix"), "the fix", location),
    )


def _step(data: object, what: str, location: Location | None) -> Step:
    table = _table(data, what, location)
    texts = {key: table[key] for key in _TEXTS if table.get(key) is not None}
    flags = {key: table[key] for key in _FLAGS if key in table}
    for kind, values in ((str, texts), (bool, flags)):
        for key, value in values.items():
            if not isinstance(value, kind):
                raise _refusal(f"{what}'s {key}", value, "a text" if kind is str else "true or false", location)
    lists = {key: _words(table[key], f"{what}'s {key}", location) for key in _LISTS if key in table}
    owes = table.get("owes", StepOutput.NOTHING)
    if owes not in tuple(StepOutput):
        raise _refusal(f"what {what} owes", owes, ", ".join(StepOutput), location)
    step = Step(
        _name(table, "name", what, location), _name(table, "role", what, location), owes=StepOutput(str(owes))
    )
    flow = _flow_part(table.get("flow"), f"{what}'s place in the flow", location)
    return step._replace(flow=flow, **cast(dict[str, Any], {**texts, **flags, **lists}))


def _flow_part(data: object, what: str, location: Location | None) -> FlowPart | None:
    if data is None:
        return None
    table = _table(data, what, location)
    defaults = FlowPart._field_defaults
    known: dict[str, Any] = {}
    for key in (key for key in FlowPart._fields if key in table and key != "gate"):
        value, usual = table[key], defaults.get(key, 0)
        if isinstance(usual, tuple):
            value = _words(value, f"{what}: {key}", location)
        elif type(value) is not type(usual):
            raise _refusal(f"{what}: {key}", value, type(usual).__name__, location)
        known[key] = value
    if "number" not in known:
        raise _refusal(f"{what}: number", None, "a number", location)
    return FlowPart(**known, gate=_gate(table.get("gate"), f"{what}: gate", location))


def _gate(data: object, what: str, location: Location | None) -> DecisionGate | None:
    if data is None:
        return None
    table = _table(data, what, location)
    texts = {key: _name(table, key, what, location) for key in ("ask", "again", "go_on")}
    more = {key: str(table[key]) for key in ("recommended", "because") if table.get(key)}
    return DecisionGate(**texts, **more, passed=_words(table.get("passed", ()), f"{what}'s passed", location))


def _words(value: object, what: str, location: Location | None) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
        raise _refusal(what, value, "a list of texts", location)
    return tuple(value)


def _table(data: object, what: str, location: Location | None) -> dict[str, object]:
    if not isinstance(data, dict):
        raise _refusal(what, data, "an object", location)
    return data


def _name(table: dict[str, object], key: str, what: str, location: Location | None) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise _refusal(f"{what}'s {key}", value, "a text", location)
    return value


def _refusal(what: str, found: object, expected: str, location: Location | None) -> FileError:
    shown = "nothing" if found is None else repr(found)[:60]
    return FileError(f"{what} cannot be read", location=location, found=shown, expected=expected)

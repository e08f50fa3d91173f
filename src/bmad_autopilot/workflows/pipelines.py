"""Workflows of a story, as data: `lean`, `full` and `build`. own.py makes a project's own from its settings."""

from collections.abc import Mapping
from typing import NamedTuple

from ..core.owes import Owes
from ..core.statuses import BACKLOG, DONE, IN_PROGRESS, READY, REVIEW
from . import own_prompts


class Gate(NamedTuple):
    """What only a person can decide, once a step has left its files: once more, or on."""

    ask: str
    again: str  # what each of the two means, in a line
    go_on: str
    recommended: str = "proceed"  # or "again"
    because: str = ""
    passed: tuple[str, ...] = ()  # conditions: where all hold, somebody has gone on already


class FlowPart(NamedTuple):
    """What a step of a flow has beside any other's: how it is found done, and where people decide."""

    number: int
    done: tuple[str, ...] = ()  # conditions of flow_rules.py: all hold once it has left what it owes
    skills: tuple[str, ...] = ()  # what its skill may be called: the first that is installed counts
    substeps: tuple[str, ...] = ()
    optional: bool = False
    only: str = ""  # a condition such as `ui`: where it does not hold there is nothing to do
    gate: Gate | None = None
    boundary: str = ""  # what is complete when the session ends after it
    tasks: str = ""  # no call of its own: the tasks are implemented; which of the reports comes of it
    loops: bool = False  # may be done once more before what follows
    checks: bool = False  # believed only where the project's own checks pass afterwards
    tries: int = 3  # calls that may fail before a person is asked


class Step(NamedTuple):
    """One checkpointed unit of a workflow: one agent call, if it goes well at once."""

    name: str
    role: str
    skill: str | None = None  # BMAD's skill; None: the prompt is all there is
    prompt: str | None = None  # told after the skill's invocation, or in place of it
    before: str | None = None  # what the board says before the agent is called, where we set it
    after: str | None = None  # what it says once the step has left what it owes
    owes: Owes = Owes.NOTHING
    clean: bool = False  # the skill demands a clean work tree
    fresh: bool = False  # never a conversation that was begun before
    command: tuple[str, ...] = ()  # in place of an agent: its words, or one text where `shell` is set
    shell: bool = False
    persist: tuple[str, ...] = ()  # variables it must leave, and all that go on; none named: whatever it leaves
    checkpoint: bool = True  # one can go back to its end
    flow: FlowPart | None = None  # of a flow's step


class Workflow(NamedTuple):
    name: str
    steps: tuple[Step, ...]
    fix: Step  # called when the project's checks fail or a review asks for changes

    @property
    def review(self) -> Step | None:
        """The step that gives a verdict. None: a story is done once its checks pass."""
        return next((step for step in self.steps if step.owes is Owes.VERDICT), None)


CREATE = Step("create-story", "sm", "create-story", after=READY, owes=Owes.STORY)
VALIDATE = Step("validate", "sm", "validate", own_prompts.VALIDATE, owes=Owes.STORY)
DEV = Step("dev", "dev", "dev-story", before=IN_PROGRESS, after=REVIEW, owes=Owes.CODE)
REVISION = Step("revision", "revisor", prompt=own_prompts.REVISION, owes=Owes.REVISION)
CODE_REVIEW = Step("code-review", "qa", "code-review", after=DONE, owes=Owes.VERDICT, fresh=True)
BUILD = Step("build-auto", "dev", "build-auto", before=IN_PROGRESS, after=REVIEW, owes=Owes.CODE, clean=True)

# In no list of steps: called when something is to be mended, and when an epic is over.
FIX = Step("fix", "dev", prompt=own_prompts.FIX, before=IN_PROGRESS, after=REVIEW, owes=Owes.CODE)
RETROSPECTIVE = Step("retrospective", "sm", "retrospective")
FIX_ISSUES = Step("fix-issues", "dev", prompt=own_prompts.FIX_ISSUES)

STEPS: Mapping[str, Step] = {step.name: step for step in (CREATE, VALIDATE, DEV, REVISION, CODE_REVIEW, BUILD)}

PIPELINES: Mapping[str, Workflow] = {
    "lean": Workflow("lean", (CREATE, DEV, CODE_REVIEW), DEV),
    "full": Workflow("full", (CREATE, VALIDATE, DEV, REVISION, CODE_REVIEW), DEV),
    "build": Workflow("build", (BUILD, CODE_REVIEW), FIX),
}

# A round of mending what reviewers of a pull request and its checks have found.
PULL_ROUND = Workflow("pull-round", (FIX_ISSUES,), FIX_ISSUES)


def steps_left(workflow: Workflow, meaning: str) -> tuple[Step, ...]:
    """The steps a story with this status still has before it; none for one that is done, parked or unknown."""
    steps = workflow.steps
    if meaning == BACKLOG:
        return steps
    if meaning in (READY, IN_PROGRESS):
        return steps[_work(workflow) :]
    return tuple(step for step in steps if step.owes is Owes.VERDICT) if meaning == REVIEW else ()


def round_steps(workflow: Workflow) -> tuple[Step, ...]:
    """What is gone through once more when a review asks for changes: the fix, and all that comes after it. A fix
    that is none of the steps stands for the one that wrote the code."""
    steps, fix = workflow.steps, workflow.fix
    at = steps.index(fix) if fix in steps else _work(workflow)
    return (fix, *steps[at + 1 :])


def _work(workflow: Workflow) -> int:
    """Where the code is written: what comes before prepares the story."""
    steps = workflow.steps
    return next((index for index, step in enumerate(steps) if step.owes is Owes.CODE), len(steps))

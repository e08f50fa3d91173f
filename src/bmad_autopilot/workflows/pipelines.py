"""Story pipelines: `lean`, `full` and `build`, as data."""

from typing import NamedTuple

from ..core.statuses import BACKLOG, DONE, IN_PROGRESS, READY, REVIEW


class Step(NamedTuple):
    name: str
    role: str
    skill: str | None  # BMAD's skill; None: we have a prompt of our own
    before: str | None  # what the board says before the agent is called, where we set it
    after: str | None  # what it says once the step has left what it owes


CREATE = Step("create-story", "sm", "create-story", None, READY)
VALIDATE = Step("validate", "sm", "validate", None, None)
DEV = Step("dev", "dev", "dev-story", IN_PROGRESS, REVIEW)
REVISION = Step("revision", "revisor", None, None, None)
CODE_REVIEW = Step("code-review", "qa", "code-review", None, DONE)
BUILD = Step("build-auto", "dev", "build-auto", IN_PROGRESS, REVIEW)

PIPELINES: dict[str, tuple[Step, ...]] = {
    "lean": (CREATE, DEV, CODE_REVIEW),
    "full": (CREATE, VALIDATE, DEV, REVISION, CODE_REVIEW),
    "build": (BUILD, CODE_REVIEW),
}

# Where a story enters its pipeline. What BMAD calls dev-story is our step dev, and build-auto where that is used.
_ENTRY = {
    BACKLOG: ("create-story", "build-auto"),
    READY: ("dev", "build-auto"),
    IN_PROGRESS: ("dev", "build-auto"),
}


def pipeline_for(workflow: str, *, only_build: bool) -> str:
    """The pipeline's name: what the project chose, else `build` where only that is installed, else `lean`."""
    if workflow != "auto":
        return workflow
    return "build" if only_build else "lean"


def steps_left(pipeline: str, meaning: str) -> tuple[Step, ...]:
    """The steps a story with this status still has before it; none for one that is done, parked or unknown."""
    steps = PIPELINES[pipeline]
    if meaning == REVIEW:
        return tuple(step for step in steps if step is CODE_REVIEW)
    names = _ENTRY.get(meaning, ())
    first = next((index for index, step in enumerate(steps) if step.name in names), len(steps))
    return steps[first:]

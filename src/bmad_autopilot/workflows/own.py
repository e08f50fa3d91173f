"""The workflow a project has chosen, and its own ones as its settings describe them."""

from ..core.owes import Owes
from ..core.statuses import DONE, IN_PROGRESS, READY, REVIEW
from ..project.config import Config
from .pipelines import DEV, FIX, PIPELINES, STEPS, Step, Workflow

# What the board says before and after a step, where the settings do not say it.
_BOARD: dict[Owes, tuple[str | None, str | None]] = {
    Owes.STORY: (None, READY),
    Owes.CODE: (IN_PROGRESS, REVIEW),
    Owes.VERDICT: (None, DONE),
}


def workflow_for(config: Config, *, only_build: bool) -> Workflow:
    """What the project chose, else `build` where only that is installed, else `lean`."""
    if config.workflow != "auto":
        return workflow_named(config, config.workflow)
    return PIPELINES["build" if only_build else "lean"]


def workflow_named(config: Config, name: str) -> Workflow:
    """Of a name that the settings' rules have let pass."""
    if name in PIPELINES:
        return PIPELINES[name]
    steps = tuple(STEPS.get(step) or _own_step(config, step) for step in config.workflows[name].steps)
    return Workflow(name, steps, DEV if DEV in steps else FIX)


def _own_step(config: Config, name: str) -> Step:
    own = config.steps[name]
    owes = Owes(own.owes)
    before, after = _BOARD.get(owes, (None, None))
    return Step(
        name,
        own.role,
        own.skill,
        own.prompt,
        own.before or before,
        own.after or after,
        owes,
        own.clean,
        fresh=owes is Owes.VERDICT,
    )

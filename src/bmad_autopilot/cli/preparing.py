"""From the facts to what is said before a run."""

from ..board.sprint import Row
from ..core.errors import AutopilotError
from ..engine.policy import checks_of
from ..github.git import Git
from ..github.ground import look_at_ground
from ..project.open import Project
from ..runs.layout import runs_folder
from ..views.preface import Planned, Preface
from ..workflows.plan import PlannedStep, missing_skills, plan_story
from .estimate import estimate
from .running_options import RunOptions
from .upcoming import workflow_of


def prepare(project: Project, title: str, rows: list[Row], options: RunOptions, *, first_only: bool) -> Preface:
    """What will be done; an error where a skill is missing, before anything is started."""
    workflow, config = workflow_of(project), project.config
    plans = [(row, plan_story(row, workflow, config, project.find_skill)) for row in rows]
    if first_only:
        plans = [(row, plan[:1]) for row, plan in plans]
    steps = [step for _, plan in plans for step in plan]
    refuse_missing(steps)
    return Preface(
        title,
        tuple(_planned(row, plan) for row, plan in plans),
        workflow.name,
        _agents(steps),
        checks_of(project),
        look_at_ground(Git(project.root.checkout)).branch or "",
        config.max_cost if options.max_cost is None else options.max_cost,
        config.max_hours if options.max_hours is None else options.max_hours,
        estimate(runs_folder(project.root.path), (step.step.name for step in steps)),
    )


def refuse_missing(steps: list[PlannedStep]) -> None:
    missing = missing_skills(steps)
    if missing:
        named = ", ".join(f"{skill} for {agent}" for agent, skill in missing)
        raise AutopilotError(f"skills of BMAD's are not installed: {named}", hint="bmad doctor")


def _planned(row: Row, plan: list[PlannedStep]) -> Planned:
    return Planned(row.key, row.status.raw or "(empty)", tuple(step.step.name for step in plan))


def _agents(steps: list[PlannedStep]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    roles: dict[str, dict[str, None]] = {}
    for step in steps:
        who = f"{step.agent} {step.model}" if step.model else step.agent
        roles.setdefault(who, {})[step.step.role] = None
    return tuple((who, tuple(names)) for who, names in roles.items())

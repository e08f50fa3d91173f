"""Selects a project's workflow: a built-in pipeline, or one from its settings."""

from ..core.statuses import DONE, IN_PROGRESS, READY, REVIEW
from ..core.step_output import StepOutput
from ..project.config import Config
from ..project.project import Project
from . import workflow
from .workflow import CODE_REVIEW, DEV, FIX, PIPELINES, STEPS, Step, Workflow

# The board's status before and after a step, unless the settings define it.
_BOARD: dict[StepOutput, tuple[str | None, str | None]] = {
    StepOutput.STORY: (None, READY),
    StepOutput.CODE: (IN_PROGRESS, REVIEW),
    StepOutput.VERDICT: (None, DONE),
}


def select_workflow(config: Config, *, only_build: bool) -> Workflow:
    """The configured workflow; otherwise `build` if only that skill is installed, else `lean`."""
    if config.workflow != "auto":
        return get_workflow(config, config.workflow)
    return PIPELINES["build" if only_build else "lean"]


def get_workflow(config: Config, name: str) -> Workflow:
    """The workflow of that name, which the settings' validation has accepted."""
    if name in PIPELINES:
        return PIPELINES[name]
    steps = tuple(STEPS.get(step) or _custom_step(config, step) for step in config.workflows[name].steps)
    return Workflow(name, steps, DEV if DEV in steps else FIX)


def _custom_step(config: Config, name: str) -> Step:
    own = config.steps[name]
    owes = StepOutput(own.owes)
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
        fresh=owes is StepOutput.VERDICT,
    )


# The workflow of a flow's task: `implement`, then `code-review`, with BMAD's review skill if it is installed.
#
# `implement` uses no skill: skills of that name work through all tasks by themselves.

IMPLEMENT_TASK = Step(
    "implement", "dev", prompt=workflow.IMPLEMENT_PROMPT, before=DEV.before, after=DEV.after, owes=DEV.owes
)
REVIEW_TASK = CODE_REVIEW._replace(skill=None, prompt=workflow.REVIEW_PROMPT)
TASK_WORKFLOW = Workflow("tasks", (IMPLEMENT_TASK, REVIEW_TASK), FIX)


def workflow_for_project(project: Project, *, only_build: bool) -> Workflow:
    """The workflow of the project's stories, or of its tasks if the project is opened with tasks."""
    if not project.tasks_folder:
        return select_workflow(project.config, only_build=only_build)
    agents = project.config.agents_of(CODE_REVIEW.role)  # fallback agents must have the skill, too
    skills = [project.find_skill(agent, CODE_REVIEW.skill or "") for agent in agents]
    has_skill = all(skill is not None and skill.is_usable for skill in skills)
    return TASK_WORKFLOW._replace(steps=(IMPLEMENT_TASK, CODE_REVIEW)) if has_skill else TASK_WORKFLOW

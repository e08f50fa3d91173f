"""The workflow of a flow's task: `implement`, then `code-review`, with BMAD's skill where that is installed.

No skill called `implement` is looked for: those that go by that name work through all tasks by themselves."""

from ..project.open import Project
from . import own_prompts
from .own import workflow_for
from .pipelines import CODE_REVIEW, DEV, FIX, Step, Workflow

IMPLEMENT = Step(
    "implement", "dev", prompt=own_prompts.IMPLEMENT, before=DEV.before, after=DEV.after, owes=DEV.owes
)
REVIEW = CODE_REVIEW._replace(skill=None, prompt=own_prompts.REVIEW)
TASKS = Workflow("tasks", (IMPLEMENT, REVIEW), FIX)


def workflow_of(project: Project, *, only_build: bool) -> Workflow:
    """What its stories go through, or the tasks that it is seen with."""
    if not project.tasks:
        return workflow_for(project.config, only_build=only_build)
    agents = project.config.agents_of(CODE_REVIEW.role)  # whoever stands in must have it, too
    skills = [project.find_skill(agent, CODE_REVIEW.skill or "") for agent in agents]
    has_skill = all(skill is not None and skill.usable for skill in skills)
    return TASKS._replace(steps=(IMPLEMENT, CODE_REVIEW)) if has_skill else TASKS

"""The next action, with the step it means here and the commands for it."""

from ..core.actions import Action
from ..core.commands import command
from ..project.bmad import Era
from ..project.open import Project
from ..workflows.own import workflow_for
from ..workflows.pipelines import Step, Workflow, steps_left
from .facts import Facts, short_name


def upcoming(facts: Facts, action: Action) -> dict[str, object]:
    row = facts.board.rows[action.story_id]
    step, agent, invocation = call_for(facts, action)
    return {
        "type": action.type,
        "story_id": action.story_id,
        "skill": action.skill,
        "status": row.status.raw,
        "step": step.name if step else None,
        "agent": agent,
        "invocation": f"{invocation} {action.story_id}" if invocation else None,
        "command": command("run-story", short_name(facts, row), "--dry-run"),
    }


def workflow_of(project: Project) -> Workflow:
    return workflow_for(project.config, only_build=project.bmad.era is Era.BUILD)


def call_for(facts: Facts, action: Action) -> tuple[Step | None, str | None, str | None]:
    """The step, who does it, and how that agent is told, where it has a skill that is installed. No step: the
    workflow has no review, and only the checks are left."""
    left = steps_left(workflow_of(facts.project), facts.board.rows[action.story_id].meaning)
    if not left:
        return None, None, None
    step, config = left[0], facts.project.config
    agent = config.roles[step.role].agent or config.agent
    skill = facts.project.find_skill(agent, step.skill) if step.skill else None
    return step, agent, skill.invocation if skill is not None and skill.usable else None

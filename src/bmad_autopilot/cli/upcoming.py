"""The next action, with the step it means here and the commands for it."""

from ..core.actions import Action
from ..core.commands import command
from ..project.bmad import Era
from ..workflows.pipelines import Step, pipeline_for, steps_left
from .facts import Facts, short_name


def upcoming(facts: Facts, action: Action) -> dict[str, object]:
    row = facts.board.rows[action.story_id]
    step, agent, invocation = call_for(facts, action)
    return {
        "type": action.type,
        "story_id": action.story_id,
        "skill": action.skill,
        "status": row.status.raw,
        "step": step.name,
        "agent": agent,
        "invocation": f"{invocation} {action.story_id}" if invocation else None,
        "command": command("run-story", short_name(facts, row), "--dry-run"),
    }


def pipeline_name(facts: Facts) -> str:
    project = facts.project
    return pipeline_for(project.config.workflow, only_build=project.bmad.era is Era.BUILD)


def call_for(facts: Facts, action: Action) -> tuple[Step, str, str | None]:
    """The step, who does it, and how that agent is told; None where its skill is not installed."""
    step = steps_left(pipeline_name(facts), facts.board.rows[action.story_id].meaning)[0]
    config = facts.project.config
    agent = config.roles[step.role].agent or config.agent
    skill = facts.project.find_skill(agent, step.skill) if step.skill else None
    return step, agent, skill.invocation if skill is not None and skill.usable else None

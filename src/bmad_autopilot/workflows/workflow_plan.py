"""What running a workflow's own file would do, step by step."""

from ..project.config import Config
from .invocations import own_text
from .pipelines import Step, Workflow
from .plan import FindSkill, PlannedStep
from .step_variables import Variables, as_text, filled


def plan_workflow(workflow: Workflow, variables: Variables, config: Config, find: FindSkill) -> list[PlannedStep]:
    """Of a workflow's own file. What only a step before will know stands there by its name."""
    plan = []
    for step in workflow.steps:
        if step.command:
            words = step.command if step.shell else filled(step.command, variables)
            plan.append(PlannedStep(workflow.name, step, step.role, None, " ".join(words)))
            continue
        role = config.roles[step.role]
        agent = role.agent or config.agent
        plan.append(PlannedStep(workflow.name, step, agent, role.model, _told(step, agent, variables, find)))
    return plan


def _told(step: Step, agent: str, variables: Variables, find: FindSkill) -> str | None:
    if step.skill is not None:
        skill = find(agent, step.skill)
        return skill.invocation if skill is not None and skill.usable else None
    return own_text(step, {name: as_text(value) for name, value in variables.items()}).partition("\n")[0]

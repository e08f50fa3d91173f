"""Plans a story or a workflow file step by step, for previews and dry runs; starts nothing."""

from collections.abc import Callable
from typing import NamedTuple

from ..board.sprint_status import Row
from ..project.config import Config
from ..project.skills import Skill
from .prompts import fill_prompt, opening_line
from .step_entry import Variables, as_text, fill_words
from .workflow import Step, Workflow, steps_left


class PlannedStep(NamedTuple):
    story: str
    step: Step
    agent: str
    model: str | None
    prompt: str | None  # the opening line; None: the skill this step needs is not installed


FindSkill = Callable[[str, str], Skill | None]  # agent, name → the skill as that agent calls it


def plan_story(row: Row, workflow: Workflow, config: Config, find: FindSkill) -> list[PlannedStep]:
    plan = []
    for step in steps_left(workflow, row.meaning):
        role = config.roles[step.role]
        agent = role.agent or config.agent
        plan.append(PlannedStep(row.key, step, agent, role.model, _story_step_line(row.key, step, agent, find)))
    return plan


def _story_step_line(key: str, step: Step, agent: str, find: FindSkill) -> str | None:
    if step.skill is None:
        return opening_line(step, key, None)
    skill = find(agent, step.skill)
    if skill is None or not skill.is_usable:
        return None
    return opening_line(step, key, skill.invocation)


class MissingSkill(NamedTuple):
    agent: str
    skill: str


def missing_skills(plan: list[PlannedStep]) -> list[MissingSkill]:
    """Of each step that cannot run, once each."""
    return list(dict.fromkeys(MissingSkill(p.agent, p.step.skill or "") for p in plan if p.prompt is None))


# Plans of workflow files.


def plan_workflow(workflow: Workflow, variables: Variables, config: Config, find: FindSkill) -> list[PlannedStep]:
    """Plan a workflow file. A variable that only an earlier step will set is shown by its name."""
    plan = []
    for step in workflow.steps:
        if step.command:
            words = step.command if step.shell else fill_words(step.command, variables)
            plan.append(PlannedStep(workflow.name, step, step.role, None, " ".join(words)))
            continue
        role = config.roles[step.role]
        agent = role.agent or config.agent
        plan.append(
            PlannedStep(workflow.name, step, agent, role.model, _workflow_step_line(step, agent, variables, find))
        )
    return plan


def _workflow_step_line(step: Step, agent: str, variables: Variables, find: FindSkill) -> str | None:
    if step.skill is not None:
        skill = find(agent, step.skill)
        return skill.invocation if skill is not None and skill.is_usable else None
    return fill_prompt(step, {name: as_text(value) for name, value in variables.items()}).partition("\n")[0]

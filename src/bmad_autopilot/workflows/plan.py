"""What running a story would do, step by step, before anything is done."""

from collections.abc import Callable
from typing import NamedTuple

from ..board.sprint import Row
from ..project.config import Config
from ..project.skills import Skill
from .invocations import first_line
from .pipelines import Step, Workflow, steps_left


class PlannedStep(NamedTuple):
    story: str
    step: Step
    agent: str
    model: str | None
    prompt: str | None  # its first line; None: the skill this step needs is not installed


FindSkill = Callable[[str, str], Skill | None]  # agent, name → the skill as that agent calls it


def plan_story(row: Row, workflow: Workflow, config: Config, find: FindSkill) -> list[PlannedStep]:
    plan = []
    for step in steps_left(workflow, row.meaning):
        role = config.roles[step.role]
        agent = role.agent or config.agent
        plan.append(PlannedStep(row.key, step, agent, role.model, _prompt(row.key, step, agent, find)))
    return plan


def _prompt(key: str, step: Step, agent: str, find: FindSkill) -> str | None:
    if step.skill is None:
        return first_line(step, key, None)
    skill = find(agent, step.skill)
    if skill is None or not skill.usable:
        return None
    return first_line(step, key, skill.invocation)


def missing_skills(plan: list[PlannedStep]) -> list[tuple[str, str]]:
    """(agent, skill) of each step that cannot run, once each."""
    return list(dict.fromkeys((p.agent, p.step.skill or "") for p in plan if p.prompt is None))

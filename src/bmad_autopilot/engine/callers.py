"""Who is called for a step: its role's agent, and while that one's account rests the one that stands in for it."""

import os
import time
from collections.abc import Iterable

from ..agents.limits import Parked, limits_file, limits_folder, read_parked
from ..agents.registry import find_agent
from ..project.open import Project
from ..project.programs import find_program
from ..workflows.pipelines import Step
from .doors import Caller


def parked(agent: str) -> Parked | None:
    """The limit that this agent's account has met, if any."""
    return read_parked(limits_file(limits_folder(os.environ), agent, os.environ), time.time()).parked


def caller_for(project: Project, step: Step) -> Caller:
    """Looked at before each call: once its limit is over, the first choice is called again."""
    agent, second = project.config.agent_of(step.role), project.config.fallback_of(step.role)
    limit = parked(agent)
    if limit is None:
        return Caller(agent)
    if second is None:
        return Caller(agent, limit.until)
    lacks = _lacks(project, step, second)
    if lacks:
        return Caller(agent, limit.until, lacks)
    other = parked(second)
    return Caller(second) if other is None else Caller(agent, min(limit.until, other.until))


def can_call(project: Project, steps: Iterable[Step]) -> bool:
    """Nobody who is called for any of these has to wait for an account."""
    return not any(caller_for(project, step).until for step in steps)


def _lacks(project: Project, step: Step, agent: str) -> str:
    """Why it cannot do the step; empty: it can."""
    if step.skill is not None:
        skill = project.find_skill(agent, step.skill)
        if skill is None or not skill.usable:
            return f"{agent} cannot stand in: BMAD's {step.skill} is not installed for it"
    if project.config.launcher_of(step.role, agent) is not None:
        return ""  # its program lies elsewhere
    program = find_agent(agent, project.config.agents).program
    found = os.path.join(project.root.checkout, program) if "/" in program else find_program(program)
    if found is None or not os.access(found, os.X_OK):
        return f"{agent} cannot stand in: {program} is not installed, or not on PATH"
    return ""

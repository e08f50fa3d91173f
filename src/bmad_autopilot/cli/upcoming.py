"""The next action, with the step it means here and the commands for it."""

import shlex

from ..board.overview import next_action, open_retrospective
from ..board.sprint import short_key
from ..core.actions import Action
from ..core.statuses import DONE, PARKED
from ..project.bmad import Era
from ..views.status import Next
from ..workflows.pipelines import Step, pipeline_for, steps_left
from .facts import Facts, find_skill


def upcoming(facts: Facts, action: Action) -> dict[str, object]:
    row = facts.board.rows[action.story_id]
    step, agent, invocation = _call(facts, action)
    return {
        "type": action.type,
        "story_id": action.story_id,
        "skill": action.skill,
        "status": row.status.raw,
        "step": step.name,
        "agent": agent,
        "invocation": f"{invocation} {action.story_id}" if invocation else None,
        "command": f"bmad run-story {short_key(row)}",
    }


def pipeline_name(facts: Facts) -> str:
    project = facts.project
    return pipeline_for(project.config.workflow, only_build=project.bmad.era is Era.BUILD)


def _call(facts: Facts, action: Action) -> tuple[Step, str, str | None]:
    """The step, who does it, and how that agent is told; None where its skill is not installed."""
    step = steps_left(pipeline_name(facts), facts.board.rows[action.story_id].meaning)[0]
    config = facts.project.config
    agent = config.roles[step.role].agent or config.agent
    skill = find_skill(facts.project, agent, step.skill) if step.skill else None
    return step, agent, skill.invocation if skill is not None and skill.usable else None


def what_next(facts: Facts) -> Next:
    """The same for a person."""
    action = next_action(facts.epics)
    if action is not None:
        row = facts.board.rows[action.story_id]
        step, agent, invocation = _call(facts, action)
        sentence = f"{step.name} {action.story_id}, which is {row.status.raw}"
        commands = [("bmad next --dry-run", "see each agent call it takes")]
        if invocation:
            prompt = shlex.quote(f"{invocation} {short_key(row)}")
            commands.append((f"{agent} {prompt}", "do this step yourself"))
        else:
            commands.append(("bmad doctor", f"BMAD's {step.skill} is not installed for {agent}"))
        return Next(sentence, tuple(commands))
    return _nothing(facts)


def _nothing(facts: Facts) -> Next:
    stories = [row for epic in facts.epics for row in epic.stories]
    left = [row for row in stories if row.meaning != DONE]
    if not stories:
        return Next(
            "no stories on the board yet: plan them with BMAD's sprint-planning",
            (("bmad doctor", "is BMAD installed here?"),),
        )
    if any(row.meaning != PARKED for row in left):
        return Next(
            f"nothing to do: {len(left)} of {len(stories)} stories are not done, but parked or of unknown status",
            (("bmad board check", "see which, line by line"),),
        )
    if left:
        verb = "is" if len(left) == 1 else "are"
        return Next(f"nothing to do: all stories are done but {len(left)}, which {verb} parked")
    retro = open_retrospective(facts.epics)
    if retro is None:
        return Next(f"nothing: all {len(stories)} stories are done")
    return Next(f"all {len(stories)} stories are done; {retro.key} is still open")

"""Determines the next story step on the board, as text with commands."""

import shlex

from ..board.overview import next_action, pending_retrospective
from ..board.sprint_status import Row
from ..core.errors import command
from ..core.next_action import Action
from ..core.statuses import DONE, PARKED, UNKNOWN
from ..project.bmad_install import Era
from ..project.project import Project
from ..views.status import NextStep
from ..workflows.selection import select_workflow
from ..workflows.workflow import Step, Workflow, steps_left
from .context import ProjectFacts, short_name


def workflow_of(project: Project) -> Workflow:
    return select_workflow(project.config, only_build=project.bmad.era is Era.BUILD)


def next_call(facts: ProjectFacts, action: Action) -> tuple[Step | None, str | None, str | None]:
    """The step, its agent, and the skill invocation if the skill is installed. No step: the workflow has no review
    and only checks are left."""
    left = steps_left(workflow_of(facts.project), facts.board.rows[action.story_id].meaning)
    if not left:
        return None, None, None
    step, config = left[0], facts.project.config
    agent = config.roles[step.role].agent or config.agent
    skill = facts.project.find_skill(agent, step.skill) if step.skill else None
    return step, agent, skill.invocation if skill is not None and skill.is_usable else None


Command = tuple[str, str]  # command, purpose


def next_story_step(facts: ProjectFacts, *, one_epic: bool = False) -> NextStep:
    action = next_action(facts.local_epics)
    if action is not None and facts.project.bmad.tickets:
        row = facts.board.rows[action.story_id]
        return NextStep(f"nothing is started here; {row.key}, which is {row.status.raw}, would come next")
    if action is None and facts.lanes:
        return _next_in_lanes(facts)
    if action is None:
        return _next_without_action(facts, f" of {facts.epics[0].key}" if one_epic else "")
    return _next_for_action(facts, action, one_epic=one_epic)


def _next_for_action(facts: ProjectFacts, action: Action, *, one_epic: bool) -> NextStep:
    row = facts.board.rows[action.story_id]
    step, agent, invocation = next_call(facts, action)
    short = short_name(facts, row)
    do = command("run-story", short) if one_epic else "bmad next"
    commands = [(do, "take it to done" if one_epic else "do it")]
    commands.append((f"{do} --dry-run", "see each agent call it takes"))
    if agent and invocation:
        client = facts.project.config.client_of(agent)
        commands.append((f"{client} {shlex.quote(f'{invocation} {short}')}", "do this step yourself"))
    elif step and step.skill:
        commands.append(("bmad doctor", f"BMAD's {step.skill} is not installed for {agent}"))
    return NextStep(
        f"{step.name if step else 'checks of'} {action.story_id}, which is {row.status.raw}", tuple(commands)
    )


def _next_in_lanes(facts: ProjectFacts) -> NextStep:
    first, *others = (lane.key for lane in facts.lanes.values())
    whole = f"{first} and {len(others)} more are" if others else f"{first} is"
    return NextStep(f"nothing here: {whole} under way elsewhere", (("bmad autopilot", "go on with it"),))


def _next_without_action(facts: ProjectFacts, where: str) -> NextStep:
    stories = [row for epic in facts.epics for row in epic.stories]
    left = [row for row in stories if row.meaning != DONE]
    if not stories:
        if where:
            return NextStep(f"{facts.epics[0].key} has no stories")
        return NextStep("no stories on the board yet", _skill_commands(facts, "sprint-planning", "", "plan them"))
    if left:
        return _next_for_stuck_stories(left, len(stories))
    whole = f"the one story{where} is" if len(stories) == 1 else f"all {len(stories)} stories{where} are"
    retro = pending_retrospective(facts.epics)
    if retro is None:
        return NextStep(f"nothing: {whole} done")
    command = _skill_commands(facts, "retrospective", retro.epic or "", "look back on the epic")
    return NextStep(f"{whole} done; {retro.key} is still open", command)


def _next_for_stuck_stories(left: list[Row], total: int) -> NextStep:
    """Stories remain, but none can start without the user."""
    first = left[0]
    more = f" and {len(left) - 1} more" if len(left) > 1 else ""
    sentence = f"nothing that can start by itself; of {total} stories, {first.key} is {first.status.raw}{more}"
    if any(row.meaning == UNKNOWN for row in left):
        return NextStep(sentence, (("bmad board check", "see which, line by line"),))
    free = command("board", "set", first.key, "ready-for-dev") if first.meaning == PARKED else "bmad status --all"
    return NextStep(sentence, ((free, "once it can go on"),))


def _skill_commands(facts: ProjectFacts, name: str, arguments: str, purpose: str) -> tuple[Command, ...]:
    agent = facts.project.config.agent
    skill = facts.project.find_skill(agent, name)
    if skill is None or not skill.is_usable:
        return (("bmad doctor", f"BMAD's {name} is not installed for {agent}"),)
    prompt = f"{skill.invocation} {arguments}".strip()
    return ((f"{facts.project.config.client_of(agent)} {shlex.quote(prompt)}", purpose),)

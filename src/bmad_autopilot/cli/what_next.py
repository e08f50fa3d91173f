"""What comes next, in a sentence and commands to type."""

import shlex

from ..board.overview import next_action, open_retrospective
from ..board.sprint import Row
from ..core.actions import Action
from ..core.commands import command
from ..core.statuses import DONE, PARKED, UNKNOWN
from ..views.status import Next
from .facts import Facts, short_name
from .upcoming import call_for

Command = tuple[str, str]  # what to type, what it is for


def what_next(facts: Facts, *, one_epic: bool = False) -> Next:
    action = next_action(facts.here)
    if action is not None and facts.project.bmad.tickets:
        row = facts.board.rows[action.story_id]
        return Next(f"nothing is started here; {row.key}, which is {row.status.raw}, would come next")
    if action is None and facts.lanes:
        return _elsewhere(facts)
    if action is None:
        return _nothing(facts, f" of {facts.epics[0].key}" if one_epic else "")
    return _something(facts, action, one_epic=one_epic)


def _something(facts: Facts, action: Action, *, one_epic: bool) -> Next:
    row = facts.board.rows[action.story_id]
    step, agent, invocation = call_for(facts, action)
    short = short_name(facts, row)
    do = command("run-story", short) if one_epic else "bmad next"
    commands = [(do, "take it to done" if one_epic else "do it")]
    commands.append((f"{do} --dry-run", "see each agent call it takes"))
    if agent and invocation:
        client = facts.project.config.client_of(agent)
        commands.append((f"{client} {shlex.quote(f'{invocation} {short}')}", "do this step yourself"))
    elif step and step.skill:
        commands.append(("bmad doctor", f"BMAD's {step.skill} is not installed for {agent}"))
    return Next(
        f"{step.name if step else 'checks of'} {action.story_id}, which is {row.status.raw}", tuple(commands)
    )


def _elsewhere(facts: Facts) -> Next:
    first, *others = (lane.key for lane in facts.lanes.values())
    whole = f"{first} and {len(others)} more are" if others else f"{first} is"
    return Next(f"nothing here: {whole} under way elsewhere", (("bmad autopilot", "go on with it"),))


def _nothing(facts: Facts, where: str) -> Next:
    stories = [row for epic in facts.epics for row in epic.stories]
    left = [row for row in stories if row.meaning != DONE]
    if not stories:
        if where:
            return Next(f"{facts.epics[0].key} has no stories")
        return Next("no stories on the board yet", _by_skill(facts, "sprint-planning", "", "plan them"))
    if left:
        return _left(left, len(stories))
    whole = f"the one story{where} is" if len(stories) == 1 else f"all {len(stories)} stories{where} are"
    retro = open_retrospective(facts.epics)
    if retro is None:
        return Next(f"nothing: {whole} done")
    command = _by_skill(facts, "retrospective", retro.epic or "", "look back on the epic")
    return Next(f"{whole} done; {retro.key} is still open", command)


def _left(left: list[Row], total: int) -> Next:
    """Stories remain, but none that may be started without a person's word."""
    first = left[0]
    more = f" and {len(left) - 1} more" if len(left) > 1 else ""
    sentence = f"nothing that can start by itself; of {total} stories, {first.key} is {first.status.raw}{more}"
    if any(row.meaning == UNKNOWN for row in left):
        return Next(sentence, (("bmad board check", "see which, line by line"),))
    free = command("board", "set", first.key, "ready-for-dev") if first.meaning == PARKED else "bmad status --all"
    return Next(sentence, ((free, "once it can go on"),))


def _by_skill(facts: Facts, name: str, arguments: str, purpose: str) -> tuple[Command, ...]:
    agent = facts.project.config.agent
    skill = facts.project.find_skill(agent, name)
    if skill is None or not skill.usable:
        return (("bmad doctor", f"BMAD's {name} is not installed for {agent}"),)
    prompt = f"{skill.invocation} {arguments}".strip()
    return ((f"{facts.project.config.client_of(agent)} {shlex.quote(prompt)}", purpose),)

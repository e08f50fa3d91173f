"""What comes next, in a sentence and commands to type."""

import shlex

from ..board.overview import next_action, open_retrospective
from ..board.sprint import short_key
from ..core.statuses import DONE, PARKED
from ..views.status import Next
from .facts import Facts
from .upcoming import call_for


def what_next(facts: Facts) -> Next:
    action = next_action(facts.epics)
    if action is not None:
        row = facts.board.rows[action.story_id]
        step, agent, invocation = call_for(facts, action)
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

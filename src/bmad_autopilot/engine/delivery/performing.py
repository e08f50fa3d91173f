"""The effects of a delivery, one for each action of its rows of the table."""

from collections.abc import Callable, Mapping

from ...core.rules import Action, Rule
from ..looking import Look
from ..loop_state import Loop
from . import merging, on_branch, on_pull
from .effects import AGAIN, end_for_login, pending
from .observing import waits_for
from .opening import open_round
from .plan import LOCAL

SHORT = 15.0  # seconds that are waited for on the spot


def wait_for_forge(loop: Loop, look: Look, rule: Rule) -> str | None:
    if look.problem is not None:
        end_for_login(loop, look.problem)
    until = look.until or loop.doors.now() + AGAIN
    if until - loop.doors.now() <= SHORT:
        loop.doors.wait(until, None)
        return None
    return pending(loop, f"the forge: {look.why}" if look.why else "the forge", until)


def wait_for_pull(loop: Loop, look: Look, rule: Rule) -> str:
    seen = look.delivery.seen if look.delivery else None
    mark = seen.pull.fingerprint if seen and seen.pull else ""
    if seen and seen.plan.kind == LOCAL:
        mark = seen.base
    if rule.name == "not-its-turn":
        loop.doors.await_turn()
    elif rule.name != "checks-run":  # others are quicker
        loop.doors.step_aside()
    return pending(loop, waits_for(rule.name, seen), look.until, mark)


PERFORMERS: Mapping[Action, Callable[[Loop, Look, Rule], "str | None"]] = {
    Action.DELIVER: on_branch.deliver,
    Action.WAIT_FOR_FORGE: wait_for_forge,
    Action.WAIT_FOR_PULL: wait_for_pull,
    Action.STAND: on_branch.stand,
    Action.PUSH: on_branch.push,
    Action.OPEN_PULL: on_pull.open_pull,
    Action.REOPEN: on_pull.reopen,
    Action.LABEL: on_pull.label,
    Action.RETARGET: on_pull.retarget,
    Action.REQUEST_REVIEW: on_pull.request_review,
    Action.REPLY: on_pull.reply,
    Action.RESOLVE: on_pull.resolve,
    Action.OPEN_ROUND: open_round,
    Action.RERUN: on_pull.rerun,
    Action.NOTE_GREEN: on_pull.note_green,
    Action.START_ROBOT: on_pull.start_robot,
    Action.TAKE_BASE: on_branch.take_base,
    Action.TAKE_FOREIGN: on_branch.take_foreign,
    Action.MERGE: merging.merge,
    Action.PROVE: merging.prove,
    Action.CLEAR_BRANCH: merging.clear_branch,
}

"""What a delivery does with branches, and with the work tree where it stands on one."""

from contextlib import suppress

from ...core.errors import AutopilotError
from ...core.rules import Rule
from ...github.forge import ForgeError
from ...github.git import RaceError
from ..looking import Look
from ..loop_state import Loop
from .effects import AGAIN, effect, looked, pending
from .merging import is_base_still
from .observing import PATIENCE, WORK_TREE
from .plan import LOCAL

_TREE = "the work tree"


def deliver(loop: Loop, look: Look, rule: Rule) -> None:
    """What the remote has of the branch by now, and ours holds, is what it was begun from."""
    lines, branch, plan = loop.doors.lines(), loop.lane.branch, loop.lane.delivery
    head, known = lines.head(branch), []
    with suppress(ForgeError, RaceError):
        remote = lines.remote_heads(branch)[branch] if plan is not None and plan.kind != LOCAL else ""
        known = [remote] if remote and lines.contains(head, remote) else []
    loop.note("delivering", head=head, branch=branch, known=known)


def stand(loop: Loop, look: Look, rule: Rule) -> str | None:
    lines, branch = loop.doors.lines(), loop.lane.branch
    waits = catch_up(loop)
    if waits is not None:
        return waits or None
    try:
        others = loop.doors.taken()
        if others:
            return _held_up(loop, others, others=True) or None
        lines.stand(branch)
        why = lines.stands(branch, loop.run.delivery.head)
    except AutopilotError as error:
        why = str(error)
    return (_held_up(loop, why) if why else "") or None


def catch_up(loop: Loop) -> str | None:
    """The branch here, to what we have recorded: we were killed in between, perhaps. None: it is there. Where
    somebody works in the tree it has to wait, or (empty) the next look asks a person."""
    lines, branch, head = loop.doors.lines(), loop.lane.branch, loop.run.delivery.head
    local = lines.head(branch)
    if not local or local == head:
        return None
    try:
        lines.move(branch, head, local)
    except AutopilotError as error:
        return _held_up(loop, str(error))
    return None


def _held_up(loop: Loop, why: str, *, others: bool = False) -> str:
    """Something is in the way in the work tree: looked at again for a while, then asked about. `others`: another
    lane's work, which ends by itself. What a check of ours has written stays as it is: that is asked about at
    once."""
    loop.doors.step_aside()  # others may be merged meanwhile
    written = "" if others else _written(loop)
    if written or (not others and _is_overdue(loop)):
        key, told = loop.run.delivery.head, f"{written}\n{why}" if written else why
        loop.note("did", do=WORK_TREE, key=key, failed=True, why=told, trouble="git")
        return ""
    return pending(loop, f"{_TREE}: {why}", loop.doors.now() + AGAIN, others=others)


def _is_overdue(loop: Loop) -> bool:
    waits = loop.run.delivery.waits
    if waits is None or waits.get("others") or not str(waits.get("why", "")).startswith(f"{_TREE}:"):
        return False
    return loop.doors.now() >= float(waits["since"]) + PATIENCE


def _written(loop: Loop) -> str:
    """What checks have written to the files that git tracks and that are changed now."""
    wrote = {path: command for check in loop.run.checks.values() for command, path in check.wrote}
    return loop.doors.lines().written(wrote) if wrote else ""


def check(loop: Loop, look: Look, rule: Rule) -> None:
    seen = looked(look).seen
    loop.note("checking", story="")
    loop.note("check", **vars(loop.doors.check(seen.code)))


def push(loop: Loop, look: Look, rule: Rule) -> str | None:
    seen, record = looked(look).seen, loop.run.delivery
    waits = catch_up(loop)
    if waits is not None:
        return waits or None

    def act() -> None:
        loop.doors.lines().push(loop.lane.branch, record.head, seen.remote)

    effect(loop, "push", record.head, act, content=record.content)
    return None


def take_base(loop: Loop, look: Look, rule: Rule) -> str | None:
    seen = looked(look).seen
    assert seen.taken is not None
    if rule.name == "base-moved" and not (loop.doors.take_turn() and is_base_still(loop, seen)):
        return None  # another lane was quicker
    taken = seen.taken
    loop.note("base-taken", sha=taken.sha, base=seen.base, branch=seen.target, semantic=list(taken.semantic))
    return catch_up(loop) or None


def take_foreign(loop: Loop, look: Look, rule: Rule) -> str | None:
    """What somebody else has put there, here or on the remote: both go into ours."""
    seen, lines, head = looked(look).seen, loop.doors.lines(), loop.run.delivery.head
    for theirs in dict.fromkeys((seen.local, seen.remote)):
        if not theirs or lines.contains(head, theirs):
            continue
        if lines.contains(theirs, head):
            head = theirs
            continue
        taken = lines.take_in(head, theirs, "", theirs, f"Take what was pushed to {seen.branch}")
        if not taken.sha:
            steps = lines.steps_for(seen.branch, seen.branch, taken)
            return _held_up(loop, f"a merge with what was pushed to it is needed\n{steps}") or None
        head = taken.sha
    loop.note("foreign-taken", sha=head, remote=seen.remote, heard=len(loop.run.answers))
    with suppress(AutopilotError):
        lines.move(seen.branch, head, seen.local)
    return None

"""The merge, its proof, and tidying up after it."""

from contextlib import suppress

from ...core.delivery import DeliveryRecord
from ...core.errors import AutopilotError
from ...core.rules import Rule
from ...github.forge import ForgeError
from ...github.git import RaceError
from ..looking import Look
from ..loop_state import Loop
from .effects import Came, effect, looked, nicety
from .plan import LOCAL
from .said import asked_mark
from .seeing import Seen
from .telling import squash_message


def merge(loop: Loop, look: Look, rule: Rule) -> None:
    if not loop.doors.take_turn():
        return  # somebody was quicker
    seen, head = looked(look).seen, loop.run.delivery.head
    subject, body = squash_message(loop.lane, loop.run, loop.doors.lines().trailers(seen.base, head))
    if not is_base_still(loop, seen):
        return
    if seen.plan.kind == LOCAL:
        _merge_here(loop, seen.base, f"{subject}\n\n{body}")
        return
    pull, forge = seen.pull, loop.doors.forge()
    assert pull is not None
    if pull.needs_queue:
        mark = asked_mark(
            loop.run, "merge-refused"
        )  # put out of it again, it is put in again once for each answer
        effect(loop, "enqueue", head, lambda: forge.enqueue(pull), mark=mark)
        return
    merged = effect(loop, "merge", head, lambda: {"sha": forge.merge(pull.number, head, subject, body)})
    why = loop.run.delivery.failed.get(f"merge:{head}", "")
    if merged is None and why:
        mark = asked_mark(loop.run, "merge-refused")
        loop.note("did", do="merge-refused", key=f"{head}:{seen.base}", why=why, mark=mark)


def is_base_still(loop: Loop, seen: Seen) -> bool:
    """It was read before the pull request was, and before we had our turn: another lane may have been merged, and
    whoever approved ours may have pushed to the base just then."""
    if seen.plan.kind == LOCAL:
        return loop.doors.lines().head(seen.target) == seen.base
    try:
        return loop.doors.lines().remote_heads(seen.target)[seen.target] == seen.base
    except (ForgeError, RaceError):
        return False  # the next look says what is wrong


def _merge_here(loop: Loop, base: str, message: str) -> None:
    lines, plan, head = loop.doors.lines(), loop.lane.delivery, loop.run.delivery.head
    assert plan is not None
    sha = lines.squash(base, head, message)
    effect(loop, "merge", head, lambda: lines.move(plan.base, sha, base), sha=sha)


def prove(loop: Loop, look: Look, rule: Rule) -> None:
    """What was merged is what was tested, to the last byte; else somebody has to look."""
    seen, lines, record = looked(look).seen, loop.doors.lines(), loop.run.delivery
    if seen.plan.kind == LOCAL:
        done = record.done.get(f"merge:{record.head}") or record.begun.get(f"merge:{record.head}")
        sha = str(done["sha"]) if done is not None else record.head  # a person's merge holds it as it is
    else:
        assert seen.pull is not None
        sha = seen.pull.merged_as
    is_same = lines.tree(sha) == lines.tree(record.head)
    loop.note("merged", sha=sha, proof="same" if is_same else "differs", pull=record.pull, base=seen.plan.base)


def clear_branch(loop: Loop, look: Look, rule: Rule) -> None:
    """What stands on it goes to the base first, whosever it is and whatever its name: a pull request whose base is
    deleted may be closed with it."""
    seen, plan = looked(look).seen, loop.lane.delivery
    assert plan is not None

    def act() -> Came:
        forge = loop.doors.forge()
        above = [mark.number for mark in forge.pulls_of("") if mark.base_ref == seen.branch]
        for number in above:
            forge.edit_pull(number, base_ref=plan.base)
        if seen.remote in _ours(seen, loop.run.delivery):
            forge.delete_branch(seen.branch, seen.remote)
        return {"moved": above, "base": plan.base} if above else {}

    if plan.kind == LOCAL:
        loop.note("did", do="clear-branch", key="")
    elif not nicety(loop, "clear-branch", "", act):
        return
    with suppress(AutopilotError):  # somebody works in it: it is theirs to clear
        loop.doors.lines().forget(loop.lane.branch, plan.base)


def _ours(seen: Seen, record: DeliveryRecord) -> set[str]:
    """What was merged, or was there before. What somebody has pushed since is in no other branch."""
    merged = {seen.pull.head} if seen.pull is not None else set()
    return {*merged, *record.known} - {""}

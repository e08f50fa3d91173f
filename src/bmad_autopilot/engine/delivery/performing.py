"""The effects of a delivery: each is looked for first by whoever decided on it, and written down before it is done
and after. An answer that is lost leaves the first without the second: it is looked for again."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ...core.errors import AutopilotError
from ...core.facts import Threads
from ...core.rules import Action, Rule
from ...github.forge import COPILOT, ForgeError, Trouble
from ...github.gate_running import WORKFLOW_FILE
from ...github.pulls import PullOrder
from ..looking import DeliveryLook, Look
from ..loop_state import Loop
from .observing import PASSING, asked_mark, jobs_of, waits_for
from .opening import open_round
from .plan import LOCAL
from .telling import reply_text, squash_message
from .threads import Point, reply_key

SHORT = 15.0  # seconds that are waited for on the spot
AGAIN = 60.0
AT_ONCE = 20  # threads
OPTIONAL = (Trouble.DENIED, Trouble.REFUSED, Trouble.MISSING)
PREFIX = "feature/"

Came = Mapping[str, Any]


def _look(look: Look) -> DeliveryLook:
    assert look.delivery is not None
    return look.delivery


def _effect(loop: Loop, do: str, key: str, act: Callable[[], Came | None], /, **meant: Any) -> Came | None:
    """None: it was not done, or nobody knows."""
    loop.note("effect", do=do, key=key, **meant)
    try:
        came = dict(act() or {})
    except ForgeError as error:
        if error.trouble in PASSING or error.trouble is Trouble.ODD:
            loop.note("trouble", do=do, key=key, why=str(error))
        else:
            loop.note("did", do=do, key=key, failed=True, why=str(error), trouble=error.trouble.value)
        return None
    except AutopilotError as error:  # git's: nothing was done
        loop.note("did", do=do, key=key, failed=True, why=str(error), trouble="git")
        return None
    loop.note("did", do=do, key=key, **meant, **came)
    return came


def _nicety(loop: Loop, do: str, key: str, act: Callable[[], object], /, **meant: Any) -> bool:
    """What can be done without. True: it was done; where it was refused, it is not asked for again."""
    loop.note("effect", do=do, key=key, **meant)
    why = ""
    try:
        act()
    except ForgeError as error:
        if error.trouble not in OPTIONAL:
            loop.note("trouble", do=do, key=key, why=str(error))
            return True
        why = str(error)
    loop.note("did", do=do, key=key, **({"refused": why} if why else {}))
    return not why


# the branch


def deliver(loop: Loop, look: Look, rule: Rule) -> None:
    """What the remote has of the branch by now, and ours holds, is what it was begun from."""
    lines, branch, plan = loop.doors.lines(), loop.lane.branch, loop.lane.delivery
    head, known = lines.head(branch), []
    with suppress(ForgeError):
        remote = lines.remote_heads(branch)[branch] if plan is not None and plan.kind != LOCAL else ""
        known = [remote] if remote and lines.contains(head, remote) else []
    loop.note("delivering", head=head, branch=branch, known=known)


def stand(loop: Loop, look: Look, rule: Rule) -> str | None:
    lines, branch = loop.doors.lines(), loop.lane.branch
    try:
        _catch_up(loop)
        lines.stand(branch)
        why = lines.stands(branch, loop.run.delivery.head)
    except AutopilotError as error:
        why = str(error)
    return _pending(loop, f"the work tree: {why}", loop.doors.now() + AGAIN) if why else None


def _catch_up(loop: Loop) -> None:
    """The branch here, to what we have recorded: we were killed in between, perhaps."""
    lines, branch, head = loop.doors.lines(), loop.lane.branch, loop.run.delivery.head
    local = lines.head(branch)
    if local and local != head:
        lines.move(branch, head, local)


def check(loop: Loop, look: Look, rule: Rule) -> None:
    seen = _look(look).seen
    loop.note("checking", story="")
    loop.note("check", **vars(loop.doors.check(seen.code)))


def push(loop: Loop, look: Look, rule: Rule) -> None:
    seen, record = _look(look).seen, loop.run.delivery
    _catch_up(loop)

    def act() -> None:
        loop.doors.lines().push(loop.lane.branch, record.head, seen.remote)

    _effect(loop, "push", record.head, act, content=record.content)


def take_base(loop: Loop, look: Look, rule: Rule) -> None:
    seen = _look(look).seen
    assert seen.taken is not None
    taken = seen.taken
    loop.note("base-taken", sha=taken.sha, base=seen.base, branch=seen.target, semantic=list(taken.semantic))
    _catch_up(loop)


def take_foreign(loop: Loop, look: Look, rule: Rule) -> str | None:
    """What somebody else has put there, here or on the remote: both go into ours."""
    seen, lines, head = _look(look).seen, loop.doors.lines(), loop.run.delivery.head
    for theirs in dict.fromkeys((seen.local, seen.remote)):
        if not theirs or lines.contains(head, theirs):
            continue
        if lines.contains(theirs, head):
            head = theirs
            continue
        taken = lines.take_in(head, theirs, "", theirs, f"Take what was pushed to {seen.branch}")
        if not taken.sha:
            steps = lines.steps_for(seen.branch, seen.branch, taken)
            return _pending(loop, f"a merge with what was pushed to it:\n{steps}", loop.doors.now() + AGAIN)
        head = taken.sha
    loop.note("foreign-taken", sha=head, remote=seen.remote, heard=len(loop.run.answers))
    with suppress(AutopilotError):
        lines.move(seen.branch, head, seen.local)
    return None


# the pull request


def open_pull(loop: Loop, look: Look, rule: Rule) -> None:
    seen = _look(look).seen
    title, body = loop.doors.pull_text(loop.run)
    order = PullOrder(seen.branch, seen.target, title, body, seen.plan.draft)
    _effect(loop, "open-pull", seen.branch, lambda: {"number": loop.doors.forge().open_pull(order)})


def note_found(loop: Loop, found: DeliveryLook) -> None:
    """One whose opening nobody heard the end of, or that somebody else has opened: from now on by its number."""
    pull = found.seen.pull
    if pull is not None and not loop.run.delivery.pull:
        loop.note("did", do="open-pull", key=found.seen.branch, number=pull.number, found=True)


def reopen(loop: Loop, look: Look, rule: Rule) -> None:
    pull = _look(look).seen.pull
    assert pull is not None
    _effect(loop, "reopen", asked_mark(loop.run, "closed"), lambda: loop.doors.forge().reopen_pull(pull.number))


def label(loop: Loop, look: Look, rule: Rule) -> None:
    seen = _look(look).seen
    assert seen.pull is not None
    number = seen.pull.number
    _nicety(loop, "label", "", lambda: loop.doors.forge().add_labels(number, seen.plan.labels))


def retarget(loop: Loop, look: Look, rule: Rule) -> None:
    seen = _look(look).seen
    assert seen.pull is not None
    number = seen.pull.number
    act = lambda: loop.doors.forge().edit_pull(number, base_ref=seen.target)  # noqa: E731
    _effect(loop, "retarget", seen.target, act)


def request_review(loop: Loop, look: Look, rule: Rule) -> None:
    seen = _look(look).seen
    assert seen.pull is not None
    pull, first = seen.pull, (seen.content or (loop.run.delivery.head,))[-1]
    done = _nicety(loop, "request-review", first, lambda: loop.doors.forge().request_review(pull, COPILOT))
    if not done:
        loop.note("did", do="no-review", key="")


def reply(loop: Loop, look: Look, rule: Rule) -> None:
    _one_by_one(look, Threads.REPLY, lambda point: _reply(loop, point))


def _reply(loop: Loop, point: Point) -> Came | None:
    body = reply_text(point)
    forge, number = loop.doors.forge(), loop.run.delivery.pull

    def act() -> None:
        if point.is_thread:
            forge.reply(point.thread, body)
        else:
            forge.comment(number, body)

    return _on_thread(loop, "reply", reply_key(point), act)


def resolve(loop: Loop, look: Look, rule: Rule) -> None:
    def one(point: Point) -> Came | None:
        act = lambda: loop.doors.forge().resolve(point.thread)  # noqa: E731
        return _on_thread(loop, "resolve", reply_key(point), act)

    _one_by_one(look, Threads.RESOLVE, one)


def _one_by_one(look: Look, due: Threads, act: Callable[[Point], Came | None]) -> None:
    """Some at once: a look between each two costs more than they do. The first that fails is looked at."""
    for point in [one for one in _look(look).points if one.due is due][:AT_ONCE]:
        if act(point) is None:
            return


def _on_thread(loop: Loop, do: str, key: str, act: Callable[[], None]) -> Came | None:
    """A thread that is gone needs nothing any more."""

    def tried() -> Came:
        try:
            act()
        except ForgeError as error:
            if error.trouble is Trouble.MISSING:
                return {"gone": True}
            raise
        return {}

    return _effect(loop, do, key, tried)


def rerun(loop: Loop, look: Look, rule: Rule) -> None:
    broken = _look(look).seen.broken
    failed = [one for one in broken if one.job or one.run]

    def act() -> None:
        for one in failed:
            loop.doors.forge().rerun(one)

    _nicety(loop, "rerun", loop.run.delivery.head, act, jobs=jobs_of(broken))


def start_robot(loop: Loop, look: Look, rule: Rule) -> None:
    seen = _look(look).seen
    assert seen.pull is not None
    inputs = {"pr_number": str(seen.pull.number)}
    act = lambda: loop.doors.forge().dispatch(WORKFLOW_FILE, seen.plan.base, inputs)  # noqa: E731
    _nicety(loop, "start-robot", loop.run.delivery.head, act)


# the merge


def merge(loop: Loop, look: Look, rule: Rule) -> None:
    seen, head = _look(look).seen, loop.run.delivery.head
    subject, body = squash_message(loop.lane, loop.run, loop.doors.lines().trailers(seen.base, head))
    if seen.plan.kind == LOCAL:
        _merge_here(loop, seen.base, f"{subject}\n\n{body}")
        return
    pull, forge = seen.pull, loop.doors.forge()
    assert pull is not None
    if pull.needs_queue:
        _effect(loop, "enqueue", head, lambda: forge.enqueue(pull))
        return
    merged = _effect(loop, "merge", head, lambda: {"sha": forge.merge(pull.number, head, subject, body)})
    why = loop.run.delivery.failed.get(f"merge:{head}", "")
    if merged is None and why:
        mark = asked_mark(loop.run, "merge-refused")
        loop.note("did", do="merge-refused", key=f"{head}:{seen.base}", why=why, mark=mark)


def _merge_here(loop: Loop, base: str, message: str) -> None:
    lines, plan, head = loop.doors.lines(), loop.lane.delivery, loop.run.delivery.head
    assert plan is not None
    sha = lines.squash(base, head, message)
    _effect(loop, "merge", head, lambda: lines.move(plan.base, sha, base), sha=sha)


def prove(loop: Loop, look: Look, rule: Rule) -> None:
    """What was merged is what was tested, to the last byte; else somebody has to look."""
    seen, lines, record = _look(look).seen, loop.doors.lines(), loop.run.delivery
    if seen.plan.kind == LOCAL:
        done = record.done.get(f"merge:{record.head}") or record.begun[f"merge:{record.head}"]
        sha = str(done["sha"])
    else:
        assert seen.pull is not None
        sha = seen.pull.merged_as
    is_same = lines.tree(sha) == lines.tree(record.head)
    loop.note("merged", sha=sha, proof="same" if is_same else "differs", pull=record.pull, base=seen.plan.base)


def clear_branch(loop: Loop, look: Look, rule: Rule) -> None:
    """Epics that stand on it go to the base first: a pull request whose base is deleted may be closed with it."""
    seen, plan = _look(look).seen, loop.lane.delivery
    assert plan is not None

    def act() -> None:
        forge = loop.doors.forge()
        for mark in forge.pulls_of(PREFIX):
            if mark.base_ref == seen.branch and not mark.is_foreign:
                forge.edit_pull(mark.number, base_ref=plan.base)
        if seen.remote:
            forge.delete_branch(seen.branch, seen.remote)

    if plan.kind == LOCAL:
        loop.note("did", do="clear-branch", key="")
    elif not _nicety(loop, "clear-branch", "", act):
        return
    with suppress(AutopilotError):  # somebody works in it: it is theirs to clear
        loop.doors.lines().forget(loop.lane.branch, plan.base)


# waiting


def wait_for_forge(loop: Loop, look: Look, rule: Rule) -> str | None:
    until = look.until or loop.doors.now() + AGAIN
    if until - loop.doors.now() <= SHORT:
        loop.doors.wait(until, None)
        return None
    return _pending(loop, f"the forge: {look.why}" if look.why else "the forge", until)


def wait_for_pull(loop: Loop, look: Look, rule: Rule) -> str:
    seen = look.delivery.seen if look.delivery else None
    mark = seen.pull.fingerprint if seen and seen.pull else ""
    return _pending(loop, waits_for(rule.name, seen), look.until, mark)


def _pending(loop: Loop, why: str, until: float | None, fingerprint: str = "") -> str:
    """The lane has nothing to do just now: whoever drives it sees to the others meanwhile."""
    before = loop.run.delivery.waits or {}
    if (before.get("why"), before.get("fingerprint")) != (why, fingerprint) or before.get("until") != until:
        pull = loop.run.delivery.pull
        loop.note("pending", why=why, until=until, fingerprint=fingerprint, pull=pull)
    return "pending"


PERFORMERS: Mapping[Action, Callable[[Loop, Look, Rule], "str | None"]] = {
    Action.DELIVER: deliver,
    Action.WAIT_FOR_FORGE: wait_for_forge,
    Action.WAIT_FOR_PULL: wait_for_pull,
    Action.STAND: stand,
    Action.PUSH: push,
    Action.OPEN_PULL: open_pull,
    Action.REOPEN: reopen,
    Action.LABEL: label,
    Action.RETARGET: retarget,
    Action.REQUEST_REVIEW: request_review,
    Action.REPLY: reply,
    Action.RESOLVE: resolve,
    Action.OPEN_ROUND: open_round,
    Action.RERUN: rerun,
    Action.START_ROBOT: start_robot,
    Action.TAKE_BASE: take_base,
    Action.TAKE_FOREIGN: take_foreign,
    Action.MERGE: merge,
    Action.PROVE: prove,
    Action.CLEAR_BRANCH: clear_branch,
}

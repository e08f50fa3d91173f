"""The effects of a delivery on branches and on the work tree: check out, push, merge, delete."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

from ...core.errors import AutopilotError
from ...core.forge_errors import TRANSIENT_FOR_POLLS, ForgeError, ForgeErrorKind
from ...core.run_ending import RunEnding
from ...core.run_record import DeliveryRecord
from ...git.git import RaceError
from ...github.forge import Pull
from ..lane import LOCAL
from ..observation import Loop
from .branch_port import BranchMerge
from .observe import PATIENCE, WORK_TREE
from .rounds import answer_count
from .snapshot import DeliverySnapshot
from .text import squash_message

# An effect is journaled before (`effect`) and after (`did`) it is done. If its answer is lost, only the first
# entry exists, and the next observation looks for the effect in the world.

AGAIN = 60.0  # seconds before a blocked work tree or forge is checked again
OPTIONAL = (ForgeErrorKind.DENIED, ForgeErrorKind.REFUSED, ForgeErrorKind.MISSING)

EffectResult = Mapping[str, Any]


def effect(
    loop: Loop, do: str, key: str, act: Callable[[], EffectResult | None], /, **data: Any
) -> EffectResult | None:
    """Journal and do it. None: it was not done, or its outcome is unknown."""
    loop.note("effect", do=do, key=key, **data)
    try:
        result = dict(act() or {})
    except ForgeError as error:
        if error.is_race:
            loop.note("trouble", do=do, key=key, why=str(error), raced=True)
        elif error.kind in (*TRANSIENT_FOR_POLLS, ForgeErrorKind.LOGIN):
            loop.note("trouble", do=do, key=key, why=str(error))
            if error.kind is ForgeErrorKind.LOGIN:
                stop_for_login(loop, error)
        else:
            loop.note("did", do=do, key=key, failed=True, why=str(error), trouble=error.kind.value)
        return None
    except RaceError as error:
        loop.note("trouble", do=do, key=key, why=str(error), raced=True)
        return None
    except AutopilotError as error:  # raised by git before anything was done
        loop.note("did", do=do, key=key, failed=True, why=str(error), trouble="git")
        return None
    loop.note("did", do=do, key=key, **data, **result)
    return result


def optional_effect(loop: Loop, do: str, key: str, act: Callable[[], EffectResult | None], /, **data: Any) -> bool:
    """An effect the delivery can do without. False: refused, and recorded as done so that it is not repeated."""
    loop.note("effect", do=do, key=key, **data)
    why, result = "", {}
    try:
        result = dict(act() or {})
    except ForgeError as error:
        if error.kind not in OPTIONAL:
            loop.note("trouble", do=do, key=key, why=str(error))
            return True
        why = str(error)
    loop.note("did", do=do, key=key, **data, **result, **({"refused": why} if why else {}))
    return not why


def stop_for_login(loop: Loop, error: AutopilotError) -> NoReturn:
    """A login error affects every epic: raise it once, and leave this lane pending."""
    note_pending(loop, f"the forge: {error}", loop.ports.clock.now() + AGAIN)
    raise error


def note_pending(
    loop: Loop, why: str, until: float | None, fingerprint: str = "", *, others: bool = False
) -> RunEnding:
    """End the lane's run for now, so that the supervisor can run other lanes. `others`: it waits for another
    lane."""
    details = {"others": True} if others else {}
    loop.note("pending", why=why, until=until, fingerprint=fingerprint, pull=loop.run.delivery.pull, **details)
    return RunEnding.PENDING


# The merge, its verification, and the cleanup.


def merge_pull(loop: Loop, snapshot: DeliverySnapshot, pull: Pull) -> None:
    message = _claim_merge(loop, snapshot)
    if message is None:
        return
    (subject, body), forge, head = message, loop.ports.delivery.forge(), loop.run.delivery.head
    if pull.needs_queue:
        mark = answer_count(loop.run, "merge-refused")  # removed from the queue: enqueued once more per answer
        effect(loop, "enqueue", head, lambda: forge.enqueue(pull), mark=mark)
        return
    merged = effect(loop, "merge", head, lambda: {"sha": forge.merge(pull.number, head, subject, body)})
    why = loop.run.delivery.refused_effects.get(f"merge:{head}", "")
    if merged is None and why:
        mark = answer_count(loop.run, "merge-refused")
        loop.note("did", do="merge-refused", key=f"{head}:{snapshot.base}", why=why, mark=mark)


def merge_locally(loop: Loop, snapshot: DeliverySnapshot) -> None:
    message = _claim_merge(loop, snapshot)
    if message is None:
        return
    branches, head = loop.ports.delivery.branches(), loop.run.delivery.head
    sha = branches.squash(snapshot.base, head, "\n\n".join(message))
    effect(loop, "merge", head, lambda: branches.move(snapshot.plan.base, sha, snapshot.base), sha=sha)


def _claim_merge(loop: Loop, snapshot: DeliverySnapshot) -> tuple[str, str] | None:
    """Acquire the merge turn; return the squash message. None: another lane merges, or the base has moved."""
    if not loop.ports.delivery.acquire_merge_turn():
        return None
    trailers = loop.ports.delivery.branches().trailers(snapshot.base, loop.run.delivery.head)
    message = squash_message(loop.lane, loop.run, trailers)
    return message if is_base_unchanged(loop, snapshot) else None


def is_base_unchanged(loop: Loop, snapshot: DeliverySnapshot) -> bool:
    """Read the base again: the snapshot is older than our merge turn, and another lane or a reviewer may have
    pushed to the base since."""
    if snapshot.plan.kind == LOCAL:
        return loop.ports.delivery.branches().head(snapshot.target) == snapshot.base
    try:
        return loop.ports.delivery.branches().remote_heads(snapshot.target)[snapshot.target] == snapshot.base
    except (ForgeError, RaceError):
        return False  # the next observation reports the error


def verify_merge(loop: Loop, snapshot: DeliverySnapshot) -> None:
    """Compare the merged tree with the tested one; if they differ, a person is asked."""
    branches, record = loop.ports.delivery.branches(), loop.run.delivery
    sha = snapshot.pull.merged_as if snapshot.pull is not None else _locally_merged(record)
    is_same = branches.tree(sha) == branches.tree(record.head)
    loop.note("merged", sha=sha, proof="same" if is_same else "differs", pull=record.pull, base=snapshot.plan.base)


def _locally_merged(record: DeliveryRecord) -> str:
    name = f"merge:{record.head}"
    done = record.completed_effects.get(name) or record.started_effects.get(name)
    return str(done["sha"]) if done is not None else record.head  # a person merged it without squashing


def delete_branch(loop: Loop, snapshot: DeliverySnapshot) -> None:
    """Delete the merged branch. First retarget every pull request stacked on it, whoever opened it: the forge may
    close a pull request whose base is deleted."""
    plan = snapshot.plan

    def act() -> EffectResult:
        forge = loop.ports.delivery.forge()
        above = [mark.number for mark in forge.pulls_of("") if mark.base_ref == snapshot.branch]
        for number in above:
            forge.edit_pull(number, base_ref=plan.base)
        if snapshot.remote in _known_heads(snapshot, loop.run.delivery):
            forge.delete_branch(snapshot.branch, snapshot.remote)
        return {"moved": above, "base": plan.base} if above else {}

    if plan.kind == LOCAL:
        loop.note("did", do="clear-branch", key="")
    elif not optional_effect(loop, "clear-branch", "", act):
        return
    with suppress(AutopilotError):  # someone has changes in it: they must clean up
        loop.ports.delivery.branches().delete_merged(loop.lane.branch, plan.base)


def _known_heads(snapshot: DeliverySnapshot, record: DeliveryRecord) -> set[str]:
    """Remote heads that may be deleted: merged or known to us. Commits pushed since are in no other branch."""
    merged = {snapshot.pull.head} if snapshot.pull is not None else set()
    return {*merged, *record.known_heads} - {""}


_TREE = "the work tree"


def start_delivery(loop: Loop) -> None:
    """Start the delivery. A remote head that our branch contains is recorded as known."""
    branches, branch, plan = loop.ports.delivery.branches(), loop.lane.branch, loop.lane.delivery
    head, known = branches.head(branch), []
    with suppress(ForgeError, RaceError):
        remote = branches.remote_heads(branch)[branch] if plan is not None and plan.kind != LOCAL else ""
        known = [remote] if remote and branches.contains(head, remote) else []
    loop.note("delivering", head=head, branch=branch, known=known)


def check_out_branch(loop: Loop) -> RunEnding | None:
    branches, branch = loop.ports.delivery.branches(), loop.lane.branch
    sync = sync_local_branch(loop)
    if not sync.is_done:
        return sync.ending
    try:
        others = loop.ports.delivery.checkout_blocker()
        if others:
            return _wait_for_work_tree(loop, others, others=True)
        branches.check_out(branch)
        why = branches.checkout_problem(branch, loop.run.delivery.head)
    except AutopilotError as error:
        why = str(error)
    return _wait_for_work_tree(loop, why) if why else None


class BranchSync(NamedTuple):
    is_done: bool  # the local branch is at the recorded head
    ending: RunEnding | None = None  # otherwise: the lane waits; None: the next observation asks a person


def sync_local_branch(loop: Loop) -> BranchSync:
    """Move the local branch to the recorded head, in case we were killed in between."""
    branches, branch, head = loop.ports.delivery.branches(), loop.lane.branch, loop.run.delivery.head
    local = branches.head(branch)
    if not local or local == head:
        return BranchSync(True)
    try:
        branches.move(branch, head, local)
    except AutopilotError as error:
        return BranchSync(False, _wait_for_work_tree(loop, str(error)))
    return BranchSync(True)


def _wait_for_work_tree(loop: Loop, why: str, *, others: bool = False) -> RunEnding | None:
    """The work tree is blocked: check again until PATIENCE is over, then ask a person. `others`: blocked by
    another lane, whose work ends by itself. Files written by one of our checks are asked about at once."""
    loop.ports.delivery.release_merge_turn()  # let other lanes merge meanwhile
    written = "" if others else _check_writes(loop)
    if written or (not others and _is_overdue(loop)):
        key, details = loop.run.delivery.head, f"{written}\n{why}" if written else why
        loop.note("did", do=WORK_TREE, key=key, failed=True, why=details, trouble="git")
        return None
    return note_pending(loop, f"{_TREE}: {why}", loop.ports.clock.now() + AGAIN, others=others)


def _is_overdue(loop: Loop) -> bool:
    waits = loop.run.delivery.current_wait
    if waits is None or waits.get("others") or not str(waits.get("why", "")).startswith(f"{_TREE}:"):
        return False
    return loop.ports.clock.now() >= float(waits["since"]) + PATIENCE


def _check_writes(loop: Loop) -> str:
    """Tracked files that are changed now and were written by a check, as a message."""
    wrote = {path: command for check in loop.run.checks.values() for command, path in check.wrote}
    return loop.ports.delivery.branches().describe_check_writes(wrote) if wrote else ""


def check(loop: Loop, snapshot: DeliverySnapshot) -> None:
    loop.note("checking", story="")
    loop.note("check", **vars(loop.ports.worktree.check(snapshot.code)))


def push(loop: Loop, snapshot: DeliverySnapshot) -> RunEnding | None:
    record = loop.run.delivery
    sync = sync_local_branch(loop)
    if not sync.is_done:
        return sync.ending

    def act() -> None:
        loop.ports.delivery.branches().push(loop.lane.branch, record.head, snapshot.remote)

    effect(loop, "push", record.head, act, content=record.has_new_content)
    return None


def merge_base_branch(
    loop: Loop, snapshot: DeliverySnapshot, result: BranchMerge, *, needs_turn: bool
) -> RunEnding | None:
    if needs_turn and not (loop.ports.delivery.acquire_merge_turn() and is_base_unchanged(loop, snapshot)):
        return None  # another lane was faster
    loop.note(
        "base-taken", sha=result.sha, base=snapshot.base, branch=snapshot.target, semantic=list(result.semantic)
    )
    return sync_local_branch(loop).ending


def merge_foreign_commits(loop: Loop, snapshot: DeliverySnapshot) -> RunEnding | None:
    """Merge commits of others, local and remote, into our branch."""
    branches, head = loop.ports.delivery.branches(), loop.run.delivery.head
    for theirs in dict.fromkeys((snapshot.local, snapshot.remote)):
        if not theirs or branches.contains(head, theirs):
            continue
        if branches.contains(theirs, head):
            head = theirs
            continue
        result = branches.merge_commits(head, theirs, "", theirs, f"Take what was pushed to {snapshot.branch}")
        if not result.sha:
            steps = branches.merge_instructions(snapshot.branch, snapshot.branch, result)
            return _wait_for_work_tree(loop, f"a merge with what was pushed to it is needed\n{steps}")
        head = result.sha
    loop.note("foreign-taken", sha=head, remote=snapshot.remote, heard=len(loop.run.answers))
    with suppress(AutopilotError):
        branches.move(snapshot.branch, head, snapshot.local)
    return None

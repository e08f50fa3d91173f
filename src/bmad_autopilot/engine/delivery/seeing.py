"""One look at the forge and at the branches: what a delivery is decided from."""

from typing import NamedTuple

from ...core.delivery import DeliveryRecord
from ...core.records import Check
from ...github.approval import ROBOT, CheckFact, ReviewFact, objections
from ...github.approving import check_fact, review_fact
from ...github.auto_approve import WORKFLOW_PATH
from ...github.forge import Forge, ForgeError, Trouble
from ...github.pulls import CheckState, Pull, PullState, RemoteCheck
from ..doors import Doors
from ..lane import Lane
from .lines import Lines, TakenIn
from .plan import HUMAN, LOCAL, WHEN_APPROVED, Plan
from .rounds import CONFLICT
from .threads import FIXED

BROKEN = (CheckState.FAILED, CheckState.CANCELLED)
SETTLES = 10.0  # seconds after which what was done can be seen; reads are up to so old
LAG = 2.0  # between two looks where the forge has not seen a push yet


class Seen(NamedTuple):
    """How things stand outside."""

    plan: Plan
    branch: str
    pull: Pull | None
    local: str  # our branch here
    remote: str  # and there; empty: not there
    target: str  # the branch that the pull request goes to
    base: str  # what that holds there
    is_stacked: bool = False  # the epic before it is not merged yet
    is_held: bool = False  # and its pull request is open
    is_ours: bool = True  # what our branch holds here is what we have recorded, or on the way there
    is_in: bool = False  # of a merged one: the remote's base holds it
    since: str = ""  # of one that was stacked: the last commit of the epic before that ours holds
    taken: TakenIn | None = None  # the base, merged into ours, where it has moved
    code: str = ""
    check: Check | None = None  # our own, on that code
    elsewhere: str = ""  # why the work tree is not our branch as it is
    unseen: float = 0.0  # when something was done that the forge does not show yet; 0: nothing
    viewer: str = ""  # who we are on the forge
    content: tuple[str, ...] = ()  # heads with the same content as ours: they differ by the base alone

    has_robot: bool = False  # the base has the workflow that approves
    files: tuple[str, ...] = ()  # that it changes; asked for only where a robot has approved it

    @property
    def broken(self) -> tuple[RemoteCheck, ...]:
        return tuple(one for one in (self.pull.checks if self.pull else ()) if one.state in BROKEN)

    @property
    def checks(self) -> tuple[CheckFact, ...]:
        return tuple(map(check_fact, self.pull.checks)) if self.pull else ()

    @property
    def reviews(self) -> tuple[ReviewFact, ...]:
        return tuple(map(review_fact, self.pull.reviews)) if self.pull else ()

    @property
    def objections(self) -> tuple[ReviewFact, ...]:
        return tuple(objections(self.reviews, trusted=self.plan.trusted))


def see(doors: Doors, lane: Lane, record: DeliveryRecord, checks: dict[str, Check]) -> Seen:
    """ForgeError: it cannot be seen just now."""
    plan = lane.delivery
    assert plan is not None
    lines = doors.lines()
    if plan.kind == LOCAL:
        return _here(lines, lane, plan, record, checks)
    forge = doors.forge()
    heads = lines.remote_heads(*dict.fromkeys(name for name in (lane.branch, plan.base, plan.onto) if name))
    pull = _pull(forge, lane.branch, record)
    before = _before(forge, plan)
    is_through = before is not None and before.state is PullState.MERGED
    target = plan.onto if plan.onto and not is_through else plan.base
    is_stacked = target != plan.base
    remote = heads[lane.branch]
    if not heads[target] and (pull is None or pull.state is PullState.OPEN):
        # Of the epic before it, what was read may be a little old: it is merged, and its branch deleted. One that
        # is closed stays so until a person says otherwise.
        may_be_old = before is not None and before.state is PullState.OPEN
        trouble = Trouble.AWAY if is_stacked and may_be_old else Trouble.MISSING
        raise ForgeError(trouble, f"the remote has no branch {target}, which {lane.branch} goes to")
    seen = Seen(
        plan,
        lane.branch,
        pull,
        lines.head(lane.branch) or record.head,
        remote,
        target,
        heads[target],
        is_stacked,
        is_ours=_is_ours(lines, lane.branch, record),
        is_in=_is_in(lines, plan, pull, before),
        since=_since(lines, plan, before, record) if before is not None and not is_stacked else "",
        is_held=before is not None and before.state is PullState.OPEN,
        unseen=_unseen(pull, remote, target, record),
        viewer=forge.repository().viewer,
        has_robot=_has_robot(lines, plan, heads[plan.base]),
        files=_files(forge, pull),
        content=_content(record),
    )
    return _proven(lines, lane, record, checks, seen)


def _here(lines: Lines, lane: Lane, plan: Plan, record: DeliveryRecord, checks: dict[str, Check]) -> Seen:
    """Without a forge: what is merged is in the base branch here."""
    base, local = lines.head(plan.base), lines.head(lane.branch) or record.head
    seen = Seen(plan, lane.branch, None, local, record.head, plan.base, base, content=_content(record))
    seen = seen._replace(is_ours=_is_ours(lines, lane.branch, record), is_in=_is_in_here(lines, base, record))
    return _proven(lines, lane, record, checks, seen)


def _is_ours(lines: Lines, branch: str, record: DeliveryRecord) -> bool:
    """Behind what we have recorded: killed before the branch was moved."""
    local = lines.head(branch)
    return not local or local == record.head or lines.contains(record.head, local)


def _is_in(lines: Lines, plan: Plan, pull: Pull | None, before: "_Before | None") -> bool:
    """Somebody may have merged it into the branch that it stands on: it is there once that is."""
    if pull is None or pull.state is not PullState.MERGED or not pull.merged_as:
        return False
    base = lines.remote_heads(plan.base)[plan.base]
    if base and lines.contains(base, pull.merged_as):
        return True
    is_through = before is not None and before.state is PullState.MERGED
    return is_through and before is not None and lines.contains(before.head, pull.merged_as)


def _is_in_here(lines: Lines, base: str, record: DeliveryRecord) -> bool:
    """By us, as one commit; or by a person, as it is."""
    merge = record.done.get(f"merge:{record.head}") or record.begun.get(f"merge:{record.head}")
    return (merge is not None and lines.contains(base, str(merge["sha"]))) or lines.contains(base, record.head)


def _proven(lines: Lines, lane: Lane, record: DeliveryRecord, checks: dict[str, Check], seen: Seen) -> Seen:
    if seen.is_in or (seen.pull is not None and seen.pull.state is PullState.MERGED):
        return seen
    code = lines.code(record.head)
    moved = bool(seen.base) and not lines.contains(record.head, seen.base)
    message = f"Take {seen.target} into {lane.branch}"
    settled = settled_paths(record, seen.base)
    taken = lines.take_in(record.head, seen.base, seen.since, seen.base, message, settled) if moved else None
    elsewhere = lines.stands(lane.branch, record.head)
    return seen._replace(code=code, check=checks.get(code), taken=taken, elsewhere=elsewhere)


def settled_paths(record: DeliveryRecord, base: str) -> tuple[str, ...]:
    """What an agent has resolved of a conflict with just this commit. Whether it did well the checks tell."""
    rounds = [one for one in record.rounds if one.why == CONFLICT and one.base == base]
    paths = (str(point.get("thread")) for one in rounds for point in one.points)
    done = (path for path in paths if record.answers.get(path, {}).get("answer") == FIXED)
    return tuple(dict.fromkeys(done))


def _pull(forge: Forge, branch: str, record: DeliveryRecord) -> Pull | None:
    """By its number, once that is known; else by its head. One that somebody closed before is not ours, unless we
    were about to open it: who closed that has spoken."""
    if record.pull:
        return forge.pull(record.pull)
    marks = [mark for mark in forge.pulls_from(branch) if not mark.is_foreign]
    ours = [mark for mark in marks if mark.state is PullState.OPEN]
    over = (PullState.MERGED, PullState.CLOSED) if f"open-pull:{branch}" in record.begun else (PullState.MERGED,)
    ours += [mark for mark in marks if mark.state in over and mark.head in record.known]
    return forge.pull(ours[0].number) if ours else None


def _has_robot(lines: Lines, plan: Plan, base: str) -> bool:
    asked = plan.merge == WHEN_APPROVED and plan.review != HUMAN
    return asked and bool(base) and lines.holds(base, WORKFLOW_PATH)


def _files(forge: Forge, pull: Pull | None) -> tuple[str, ...]:
    """A pull request that changes what judges it may have brought its own robot."""
    is_open = pull is not None and pull.state is PullState.OPEN
    if pull is None or not is_open or not any(one.author.login == ROBOT for one in pull.reviews):
        return ()
    return tuple(forge.changed_files(pull.number))


def _unseen(pull: Pull | None, remote: str, target: str, record: DeliveryRecord) -> float:
    """What is read may be a little old: a head that we have pushed, a base that we have set, a merge, a place in
    the queue."""
    if pull is None or pull.state is not PullState.OPEN:
        return 0.0
    done = record.done.get(f"merge:{record.head}")
    if done is None and not pull.is_queued:
        done = record.done.get(f"enqueue:{record.head}")
    if done is None and pull.base_ref != target:
        done = record.done.get(f"retarget:{target}")
    pushed = record.pushed_at if remote and pull.head != remote else 0.0
    return max(float(done["at"]) if done is not None else 0.0, pushed)


class _Before(NamedTuple):
    state: PullState
    head: str


def _before(forge: Forge, plan: Plan) -> _Before | None:
    """The epic's before it, that this one was begun on. A branch of that name may have been merged in other times,
    too: the open one counts."""
    marks = [mark for mark in forge.pulls_from(plan.onto) if not mark.is_foreign] if plan.onto else []
    order = (PullState.OPEN, PullState.MERGED, PullState.CLOSED)
    found = min(marks, key=lambda mark: order.index(mark.state), default=None)
    return _Before(found.state, found.head) if found else None


def _since(lines: Lines, plan: Plan, before: _Before, record: DeliveryRecord) -> str:
    """What somebody pushed to it last may never have come here: it is merged, and the branch is gone."""
    below = lines.head(plan.onto)
    return lines.fork_point(record.head, before.head) or (lines.fork_point(record.head, below) if below else "")


def _content(record: DeliveryRecord) -> tuple[str, ...]:
    """The heads we have pushed that differ from the last one by the base alone."""
    pushes = sorted(
        (one for name, one in record.done.items() if name.startswith("push:")), key=lambda one: float(one["at"])
    )
    found = []
    for one in reversed(pushes):
        found.append(str(one["key"]))
        if one.get("content", True):
            break
    return tuple(found)

"""Reads the pull request, branches and checks into one snapshot that the delivery is decided from."""

from dataclasses import dataclass
from typing import NamedTuple

from ...core.errors import AutopilotError
from ...core.forge_errors import ForgeError, ForgeErrorKind
from ...core.run_record import CheckRecord, DeliveryRecord
from ...github.approval import ROBOT, CheckFact, ReviewFact, objections
from ...github.auto_approve import WORKFLOW_PATH, check_fact, review_fact
from ...github.forge import CheckState, Forge, Pull, PullState, RemoteCheck
from ..lane import HUMAN, LOCAL, WHEN_APPROVED, DeliveryPlan, Lane
from ..observation import Observation
from ..ports import Ports
from .branch_port import BranchMerge, BranchPort
from .rounds import CONFLICT
from .threads import FIXED, ReviewPoint

BROKEN = (CheckState.FAILED, CheckState.CANCELLED)
SETTLES = 10.0  # seconds until an effect is visible; reads may be this old
LAG = 2.0  # seconds between reads while the forge has not seen a push


class DeliverySnapshot(NamedTuple):
    """The state of a delivery in git and on the forge."""

    plan: DeliveryPlan
    branch: str
    pull: Pull | None
    local: str  # head of our local branch
    remote: str  # head of the remote branch; empty: it does not exist
    target: str  # the base branch of the pull request
    base: str  # its head
    is_stacked: bool = False  # the parent epic is not merged yet
    is_parent_open: bool = False  # the parent epic's pull request is open
    is_ours: bool = True  # the local head is the recorded one, or an ancestor of it
    is_in_base: bool = False  # of a merged pull request: the remote's base contains it
    parent_fork: str = ""  # formerly stacked: the last commit of the parent in our branch
    base_merge: BranchMerge | None = None  # the moved base merged into our head; None: it has not moved
    code: str = ""
    check: CheckRecord | None = None  # our own check of that code
    checkout_problem: str = ""  # why the work tree does not have our branch, unchanged
    unseen_since: float = 0.0  # time of an effect that the forge does not show yet; 0: none
    viewer: str = ""  # our login on the forge
    equivalent_heads: tuple[str, ...] = ()  # pushed heads that differ from ours only by the base

    has_approve_workflow: bool = False  # the base has the auto-approve workflow
    files: tuple[str, ...] = ()  # changed files; read only after an approval by the workflow

    @property
    def failed_checks(self) -> tuple[RemoteCheck, ...]:
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


@dataclass(frozen=True, kw_only=True)
class DeliveryObservation(Observation):
    """A delivery of which nothing could be read, or nothing is needed now."""

    epic: str  # its key
    problem: AutopilotError | None = None  # that ends the command

    @property
    def subject(self) -> str:
        return self.epic


@dataclass(frozen=True, kw_only=True)
class SnapshotObservation(DeliveryObservation):
    snapshot: DeliverySnapshot
    points: list[ReviewPoint]  # open review comments


def take_snapshot(
    ports: Ports, lane: Lane, plan: DeliveryPlan, record: DeliveryRecord, checks: dict[str, CheckRecord]
) -> DeliverySnapshot:
    """ForgeError: the forge cannot be read now."""
    branches = ports.delivery.branches()
    if plan.kind == LOCAL:
        return _local_snapshot(branches, lane, plan, record, checks)
    forge = ports.delivery.forge()
    heads = branches.remote_heads(*dict.fromkeys(name for name in (lane.branch, plan.base, plan.onto) if name))
    pull = _pull(forge, lane.branch, record)
    parent = _parent_pull(forge, plan)
    is_through = parent is not None and parent.state is PullState.MERGED
    target = plan.onto if plan.onto and not is_through else plan.base
    is_stacked = target != plan.base
    remote = heads[lane.branch]
    if not heads[target] and (pull is None or pull.state is PullState.OPEN):
        # The parent's state may be outdated: merged meanwhile, and its branch deleted. A closed parent stays
        # closed until a person reopens it.
        may_be_old = parent is not None and parent.state is PullState.OPEN
        trouble = ForgeErrorKind.UNAVAILABLE if is_stacked and may_be_old else ForgeErrorKind.MISSING
        raise ForgeError(trouble, f"the remote has no branch {target}, which {lane.branch} goes to")
    snapshot = DeliverySnapshot(
        plan,
        lane.branch,
        pull,
        branches.head(lane.branch) or record.head,
        remote,
        target,
        heads[target],
        is_stacked,
        is_ours=_is_ours(branches, lane.branch, record),
        is_in_base=_is_in_base(branches, plan, pull, parent),
        parent_fork=_parent_fork(branches, plan, parent, record) if parent is not None and not is_stacked else "",
        is_parent_open=parent is not None and parent.state is PullState.OPEN,
        unseen_since=_unseen_since(pull, remote, target, record),
        viewer=forge.repository().viewer,
        has_approve_workflow=_has_approve_workflow(branches, plan, heads[plan.base]),
        files=_files(forge, pull),
        equivalent_heads=_content(record),
    )
    return _with_checks(branches, lane, record, checks, snapshot)


def _local_snapshot(
    branches: BranchPort, lane: Lane, plan: DeliveryPlan, record: DeliveryRecord, checks: dict[str, CheckRecord]
) -> DeliverySnapshot:
    """Without a forge: merged means contained in the local base branch."""
    base, local = branches.head(plan.base), branches.head(lane.branch) or record.head
    snapshot = DeliverySnapshot(
        plan, lane.branch, None, local, record.head, plan.base, base, equivalent_heads=_content(record)
    )
    snapshot = snapshot._replace(
        is_ours=_is_ours(branches, lane.branch, record), is_in_base=_is_in_local_base(branches, base, record)
    )
    return _with_checks(branches, lane, record, checks, snapshot)


def _is_ours(branches: BranchPort, branch: str, record: DeliveryRecord) -> bool:
    """An ancestor of the recorded head counts: we were killed before the branch was moved."""
    local = branches.head(branch)
    return not local or local == record.head or branches.contains(record.head, local)


def _is_in_base(branches: BranchPort, plan: DeliveryPlan, pull: Pull | None, parent: "_ParentPull | None") -> bool:
    """A pull request merged into its parent's branch is in the base once the parent is merged."""
    if pull is None or pull.state is not PullState.MERGED or not pull.merged_as:
        return False
    base = branches.remote_heads(plan.base)[plan.base]
    if base and branches.contains(base, pull.merged_as):
        return True
    is_through = parent is not None and parent.state is PullState.MERGED
    return is_through and parent is not None and branches.contains(parent.head, pull.merged_as)


def _is_in_local_base(branches: BranchPort, base: str, record: DeliveryRecord) -> bool:
    """Merged by us as one commit, or by a person without squashing."""
    merge = record.completed_effects.get(f"merge:{record.head}") or record.started_effects.get(
        f"merge:{record.head}"
    )
    return (merge is not None and branches.contains(base, str(merge["sha"]))) or branches.contains(
        base, record.head
    )


def _with_checks(
    branches: BranchPort,
    lane: Lane,
    record: DeliveryRecord,
    checks: dict[str, CheckRecord],
    snapshot: DeliverySnapshot,
) -> DeliverySnapshot:
    if snapshot.is_in_base or (snapshot.pull is not None and snapshot.pull.state is PullState.MERGED):
        return snapshot
    code = branches.code(record.head)
    moved = bool(snapshot.base) and not branches.contains(record.head, snapshot.base)
    message = f"Take {snapshot.target} into {lane.branch}"
    settled = resolved_paths(record, snapshot.base)
    taken = (
        branches.merge_commits(record.head, snapshot.base, snapshot.parent_fork, snapshot.base, message, settled)
        if moved
        else None
    )
    elsewhere = branches.checkout_problem(lane.branch, record.head)
    return snapshot._replace(code=code, check=checks.get(code), base_merge=taken, checkout_problem=elsewhere)


def resolved_paths(record: DeliveryRecord, base: str) -> tuple[str, ...]:
    """Paths whose conflict with this base an agent has resolved. The checks judge the result."""
    rounds = [one for one in record.rounds if one.why == CONFLICT and one.base == base]
    paths = (str(point.get("thread")) for one in rounds for point in one.points)
    done = (path for path in paths if record.answers.get(path, {}).get("answer") == FIXED)
    return tuple(dict.fromkeys(done))


def _pull(forge: Forge, branch: str, record: DeliveryRecord) -> Pull | None:
    """By number, once known; otherwise by head branch. A closed one is not ours, unless we were opening it: then
    closing it was a person's decision."""
    if record.pull:
        return forge.pull(record.pull)
    marks = [mark for mark in forge.pulls_from(branch) if not mark.is_from_fork]
    ours = [mark for mark in marks if mark.state is PullState.OPEN]
    over = (
        (PullState.MERGED, PullState.CLOSED)
        if f"open-pull:{branch}" in record.started_effects
        else (PullState.MERGED,)
    )
    ours += [mark for mark in marks if mark.state in over and mark.head in record.known_heads]
    return forge.pull(ours[0].number) if ours else None


def _has_approve_workflow(branches: BranchPort, plan: DeliveryPlan, base: str) -> bool:
    asked = plan.merge == WHEN_APPROVED and plan.review != HUMAN
    return asked and bool(base) and branches.has_file(base, WORKFLOW_PATH)


def _files(forge: Forge, pull: Pull | None) -> tuple[str, ...]:
    """Changed files, to detect a pull request that changes the workflow which approves it."""
    is_open = pull is not None and pull.state is PullState.OPEN
    if pull is None or not is_open or not any(one.author.login == ROBOT for one in pull.reviews):
        return ()
    return tuple(forge.changed_files(pull.number))


def _unseen_since(pull: Pull | None, remote: str, target: str, record: DeliveryRecord) -> float:
    """Reads may lag behind our own effects: a pushed head, a changed base, a merge, an enqueue."""
    if pull is None or pull.state is not PullState.OPEN:
        return 0.0
    done = record.completed_effects.get(f"merge:{record.head}")
    if done is None and not pull.is_queued:
        done = record.completed_effects.get(f"enqueue:{record.head}")
    if done is None and pull.base_ref != target:
        done = record.completed_effects.get(f"retarget:{target}")
    pushed = record.pushed_at if remote and pull.head != remote else 0.0
    return max(float(done["at"]) if done is not None else 0.0, pushed)


class _ParentPull(NamedTuple):
    state: PullState
    head: str


def _parent_pull(forge: Forge, plan: DeliveryPlan) -> _ParentPull | None:
    """The pull request of the parent epic. If older ones had the same branch name, the open one counts."""
    marks = [mark for mark in forge.pulls_from(plan.onto) if not mark.is_from_fork] if plan.onto else []
    order = (PullState.OPEN, PullState.MERGED, PullState.CLOSED)
    found = min(marks, key=lambda mark: order.index(mark.state), default=None)
    return _ParentPull(found.state, found.head) if found else None


def _parent_fork(branches: BranchPort, plan: DeliveryPlan, parent: _ParentPull, record: DeliveryRecord) -> str:
    """The last push to the parent may never have been fetched, if it was merged and its branch deleted."""
    below = branches.head(plan.onto)
    return branches.fork_point(record.head, parent.head) or (
        branches.fork_point(record.head, below) if below else ""
    )


def _content(record: DeliveryRecord) -> tuple[str, ...]:
    """The heads we have pushed that differ from the last one only by the base."""
    pushes = sorted(
        (one for name, one in record.completed_effects.items() if name.startswith("push:")),
        key=lambda one: float(one["at"]),
    )
    found = []
    for one in reversed(pushes):
        found.append(str(one["key"]))
        if one.get("content", True):
            break
    return tuple(found)

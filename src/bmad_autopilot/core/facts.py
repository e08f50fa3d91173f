"""The facts a decision is based on: the state of a lane as small enums and booleans.

The observers fill them in from files, git, run directories and the clock. Facts hold no history."""

from enum import StrEnum
from typing import NamedTuple


class BoardFact(StrEnum):
    FINE = "fine"
    CORRUPTED = "spoilt"  # unreadable since an agent call; we kept the earlier content
    UNREADABLE = "unreadable"


class TargetFact(StrEnum):
    """What the lane has left to do."""

    STORY = "story"
    EXCLUDED = "left-out"  # only parked stories or stories with an unknown status are left
    FINISHED = "over"


class EpicFact(StrEnum):
    BACKLOG = "backlog"  # becomes in-progress with its first story
    IN_PROGRESS = "under-way"
    OPEN = "open"  # all its stories are done, but its row is not
    CLOSED = "closed"
    UNLISTED = "unlisted"  # has no row, or is not managed by us


class RowFact(StrEnum):
    """The story's row on the board, compared with the status it should have now."""

    CORRECT = "right"
    DUE = "due"  # we have to set it
    EDITED = "edited"  # a person changed it, and their change wins
    UNVERIFIED = "unproved"  # says done, but no step of this run and no commit of the user confirms it
    REMOVED = "gone"


class QuestionFact(StrEnum):
    NONE = "none"
    OPEN = "open"
    ANSWERED = "answered"


class BackoffFact(StrEnum):
    """A temporary reason not to call an agent now."""

    NONE = "none"
    LIMIT = "limit"
    PAUSE = "pause"


class StepFact(StrEnum):
    WORK = "work"
    REVIEW = "review"
    TASKS = "tasks"  # of a flow: no agent call, but the planned tasks
    ALL_DONE = "through"  # by its row all steps are done, and the workflow has no review
    NONE = "none"  # all steps are done in this run, or the workflow has none


class CallFact(StrEnum):
    """The last agent call of this step, with its result once collected."""

    NONE = "none"  # no call yet, or the next one is due
    RUNNING = "running"
    ENDED = "ended"  # its result is not collected yet
    SUCCEEDED = "good"  # produced the required output; of a review: approved
    CHANGES = "changes"  # a review requested changes
    INCOMPLETE = "lacking"  # reported success, but the evidence contradicts it
    FAILED = "failed"
    REFUSED = "refused"  # rate limit or temporary failure: retry as soon as possible
    ASKED = "asked"
    UNRECOVERABLE = "hopeless"  # no login, no credit, program missing: a retry cannot help


class CallFinding(StrEnum):
    """How a finished call was judged; the journal records it."""

    UNKNOWN = ""  # of a newer version
    SUCCEEDED = "good"
    CHANGES = "changes"
    INCOMPLETE = "lacking"
    FAILED = "failed"
    REFUSED = "refused"
    ASKED = "asked"
    UNRECOVERABLE = "hopeless"

    @classmethod
    def _missing_(cls, value: object) -> "CallFinding":
        return cls.UNKNOWN


class GateFact(StrEnum):
    """The result of the project's checks on the current tree."""

    PASSED = "passed"  # or not required at this point
    DUE = "due"
    CODE = "code"  # failed because of the code
    ENVIRONMENT = "environment"  # failed for a reason no code change fixes
    SAME = "same"  # failed again in the same way on the same tree
    UNSTABLE = "restless"  # each run of the checks changed the tree


class CommitFact(StrEnum):
    NONE = "none"
    DUE = "due"
    STEP = "step"  # the output of a completed flow step


class DecisionFact(StrEnum):
    """A decision a person must make before a flow continues."""

    NONE = "none"
    FAILED = "failed"  # the state file says the step failed: no automatic retry
    OPTIONAL = "optional"  # whether to run an optional step
    GATE = "gate"  # whether the output of a step is sufficient
    BOUNDARY = "boundary"  # whether the next step starts in this session


class DeliveryFact(StrEnum):
    """Whether the epic is being delivered to the base branch."""

    OFF = "off"  # not requested, stories are left, or a fix round is in progress
    DUE = "due"  # its stories are done; delivery has not started
    ON = "on"


class ForgeFact(StrEnum):
    FINE = "fine"
    UNAVAILABLE = "away"  # temporary: no network, a rate limit, or our last effect is not visible yet
    REFUSED = "refused"  # no login, no permission, no such repository: needs a person


class BranchFact(StrEnum):
    """Our branch, compared with the remote branch of the same name."""

    IN_SYNC = "even"
    AHEAD = "ahead"  # we have to push
    FOREIGN = "foreign"  # the remote has commits of someone else
    ALLOWED = "allowed"  # the same, and a person allowed us to build on them


class PullFact(StrEnum):
    NONE = "none"
    OPEN = "open"
    CLOSED = "closed"
    RETARGETED = "retargeted"  # open, but its base was changed to another branch
    REOPEN_REQUESTED = "wanted"  # closed, and a person asked to reopen it
    MERGED = "merged"


class ProofFact(StrEnum):
    """Whether the merged tree is the tested one."""

    NONE = "none"
    SAME = "same"
    DIFFERS = "differs"


class BaseFact(StrEnum):
    UP_TO_DATE = "in"  # our branch contains the base branch
    MOVED = "moved"  # it can be merged into ours
    CONFLICT = "conflict"
    RESOLVABLE = "mendable"  # a conflict an agent may resolve
    UNSTABLE = "restless"  # moved again after the maximum number of merges


class CiFact(StrEnum):
    """The forge's checks on the commit we pushed. Unknown is not green."""

    GREEN = "green"  # or no checks, where that is allowed
    SETTLING = "fresh"  # all reported checks passed, but more may still appear
    PENDING = "pending"
    OVERDUE = "late"  # still pending after the timeout
    RED = "red"
    FLAKY = "flaky"  # red, and may be rerun without a change
    NONE = "none"  # no checks, although some are required
    STOPPED = "stopped"  # waits for a person on the forge, or has an unknown state


class RequestedReviewFact(StrEnum):
    SUFFICIENT = "enough"
    DUE = "due"  # to be requested
    PENDING = "waited"  # requested, not there yet
    OVERDUE = "silent"  # not there after the timeout


class ThreadsFact(StrEnum):
    """The most urgent state among the unresolved review threads."""

    NONE = "none"
    REPLY = "reply"  # our reply is not posted yet
    RESOLVE = "resolve"  # a commit on the head answers it
    OPEN = "open"  # an agent must address it
    DISPUTED = "disputed"  # the agent disagrees: a person decides
    UNTRUSTED = "strange"  # by an untrusted author, or left to a person


class MergeFact(StrEnum):
    """Whether approvals and branch rules allow the merge."""

    READY = "free"
    UNAPPROVED = "unapproved"
    OVERDUE = "late"  # after the timeout: not approved, still a draft, or not merged by hand or queue
    MANUAL = "manual"  # a person must merge, or mark the draft as ready
    QUEUED = "queued"  # in the forge's merge queue
    REFUSED = "refused"  # the forge refused the merge in this state
    BLOCKED = "blocked"  # all our conditions are met, but the forge still blocks it


class Facts(NamedTuple):
    stop: bool = False  # a stop was requested
    pause: bool = False  # a stop before the next call was requested
    board: BoardFact = BoardFact.FINE
    question: QuestionFact = QuestionFact.NONE
    advance: bool = False  # the settings answer the open question (standing answer)
    call: CallFact = CallFact.NONE
    settings: bool = True  # unchanged since the run started, or the change was accepted
    checkpoint: bool = False  # a human checkpoint applies before the next action
    target: TargetFact = TargetFact.STORY
    begun: bool = True  # the story's baseline is recorded
    left: bool = False  # another tool's agent left an unanswered question about it
    row: RowFact = RowFact.CORRECT
    ground: bool = True  # on the run's branch, no rebase in progress, a git identity
    epic: EpicFact = EpicFact.IN_PROGRESS
    step: StepFact = StepFact.WORK
    gate: GateFact = GateFact.PASSED
    tries: bool = True  # attempts of this step are left
    rounds: bool = True  # review rounds are left
    fixes: bool = True  # fix attempts for failed checks are left
    rest: BackoffFact = BackoffFact.NONE
    slot: bool = True  # a slot for an agent is free
    budget: bool = True  # the budget allows another call
    tidy: bool = True  # the work tree is as clean as this step's skill requires
    commit: CommitFact = CommitFact.NONE
    retrospective: bool = False  # due and requested
    attended: bool = True  # a person can be asked
    kept: bool = True  # the flow's state file is up to date
    decision: DecisionFact = DecisionFact.NONE
    one_step: bool = False  # only one step was requested, and it is done
    delivery: DeliveryFact = DeliveryFact.OFF
    forge: ForgeFact = ForgeFact.FINE
    line: BranchFact = BranchFact.IN_SYNC
    pull: PullFact = PullFact.OPEN
    proof: ProofFact = ProofFact.NONE
    cleared: bool = False  # the branch of the merged pull request is deleted
    labelled: bool = True
    aim: bool = True  # the pull request has the right base branch
    base: BaseFact = BaseFact.UP_TO_DATE
    here: bool = True  # our branch is checked out
    usable: bool = True  # the work tree has not been unusable for too long
    # Without an observation nothing counts as green, reviewed or approved.
    ci: CiFact = CiFact.PENDING
    review: RequestedReviewFact = RequestedReviewFact.PENDING
    threads: ThreadsFact = ThreadsFact.NONE
    merge: MergeFact = MergeFact.UNAPPROVED
    turn: bool = True  # first in line among the lanes ready to merge
    robot: bool = True  # the auto-approve workflow was started, or there is none

    def non_default(self) -> dict[str, object]:
        """The facts that differ from their defaults."""
        usual = self._field_defaults
        return {name: value for name, value in self._asdict().items() if value != usual[name]}


FACT_VALUES: dict[str, tuple[object, ...]] = {
    name: tuple(kind) if issubclass(kind, StrEnum) else (False, True)
    for name, kind in Facts.__annotations__.items()
}

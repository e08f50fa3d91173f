"""What a decision is made from: how things stand with a lane, in words that can be counted.

Whoever observes fills these in from files, git, run directories and the clock; nothing here remembers anything."""

from enum import StrEnum
from typing import NamedTuple


class Board(StrEnum):
    FINE = "fine"
    SPOILT = "spoilt"  # cannot be read since an agent's call; we hold what stood there before
    UNREADABLE = "unreadable"


class Target(StrEnum):
    """What the lane has before it."""

    STORY = "story"
    LEFT_OUT = "left-out"  # nothing to do but stories that somebody parked, or whose status nobody understands
    OVER = "over"


class Epic(StrEnum):
    BACKLOG = "backlog"  # its first story lifts it
    UNDER_WAY = "under-way"
    OPEN = "open"  # all its stories are over, and its row does not say so
    CLOSED = "closed"
    UNLISTED = "unlisted"  # no row of its own, or none of our business


class Row(StrEnum):
    """The story's row, beside what it should say at this point."""

    RIGHT = "right"
    DUE = "due"  # ours to set
    EDITED = "edited"  # a person has changed it, and that stands
    UNPROVED = "unproved"  # it says done, and neither a step of this run nor a commit of the user's bears that out
    GONE = "gone"


class Question(StrEnum):
    NONE = "none"
    OPEN = "open"
    ANSWERED = "answered"


class Rest(StrEnum):
    """What keeps us from calling the agent just now, though it will pass by itself."""

    NONE = "none"
    LIMIT = "limit"
    PAUSE = "pause"


class Step(StrEnum):
    WORK = "work"
    REVIEW = "review"
    TASKS = "tasks"  # of a flow: no call of its own, but the tasks that were planned
    THROUGH = "through"  # by its row it has been through all of them, and no review is one of them
    NONE = "none"  # it has been through all of them in this run, or nobody knows of any


class Call(StrEnum):
    """The last call for this step, and what it came to once it was taken in."""

    NONE = "none"  # none yet, or the next one is due
    RUNNING = "running"
    ENDED = "ended"  # nobody has taken it in
    GOOD = "good"  # it left what it owes; of a review: approved
    CHANGES = "changes"  # a review that asks for changes
    LACKING = "lacking"  # it ended well, and the evidence says otherwise
    FAILED = "failed"
    REFUSED = "refused"  # a limit, or a fault that passes: again as soon as nothing keeps us
    ASKED = "asked"
    HOPELESS = "hopeless"  # no login, no money, no such program: another call cannot help


class Gate(StrEnum):
    """The project's own checks on this very tree."""

    PASSED = "passed"  # or not asked for at this point
    DUE = "due"
    CODE = "code"  # failed, and the code can be mended
    ENVIRONMENT = "environment"  # failed for a reason that no change to the code removes
    SAME = "same"  # failed as it did before, on the same tree
    RESTLESS = "restless"  # run again and again, and each time the tree was another one afterwards


class Commit(StrEnum):
    NONE = "none"
    DUE = "due"
    STEP = "step"  # what a completed step of a flow has left


class Decision(StrEnum):
    """What a person has to decide before a flow goes on."""

    NONE = "none"
    FAILED = "failed"  # its state file says that the step has failed: it is not tried again by itself
    OPTIONAL = "optional"  # whether the step is done at all
    GATE = "gate"  # whether what a step has left is enough
    BOUNDARY = "boundary"  # whether the next step begins in this session


class Delivery(StrEnum):
    """Whether the epic is on its way to the base branch."""

    OFF = "off"  # not asked for, or its stories come first, or a round of mending is in hand
    DUE = "due"  # its stories are over, and nothing is done about it yet
    ON = "on"


class Forge(StrEnum):
    FINE = "fine"
    AWAY = "away"  # it passes: no network, a limit, or what we did last cannot be seen there yet
    REFUSED = "refused"  # no login, no permission, no such repository: a person's


class Line(StrEnum):
    """Our branch, beside the remote's of that name."""

    EVEN = "even"
    AHEAD = "ahead"  # ours to push
    FOREIGN = "foreign"  # somebody has pushed to it what we do not have
    ALLOWED = "allowed"  # the same, and a person says that we may go on from it


class Pull(StrEnum):
    NONE = "none"
    OPEN = "open"
    CLOSED = "closed"
    RETARGETED = "retargeted"  # open, and somebody has set it to go to another branch
    WANTED = "wanted"  # closed, and a person wants it opened again
    MERGED = "merged"


class Proof(StrEnum):
    """Of what was merged: the tree that was tested?"""

    NONE = "none"
    SAME = "same"
    DIFFERS = "differs"


class Base(StrEnum):
    IN = "in"  # all that the base branch holds is in ours
    MOVED = "moved"  # it can be taken in
    CONFLICT = "conflict"
    MENDABLE = "mendable"  # a conflict that an agent may resolve
    RESTLESS = "restless"  # taken in as often as is reasonable, and moved again


class Ci(StrEnum):
    """The forge's checks on the very commit that we have pushed. What is not known is not green."""

    GREEN = "green"  # or none, where that is allowed
    FRESH = "fresh"  # all that are there have passed, and more may appear yet
    PENDING = "pending"
    LATE = "late"  # still pending after all patience
    RED = "red"
    FLAKY = "flaky"  # red, and may be run once more as it is
    NONE = "none"  # no checks at all, and some are wanted
    STOPPED = "stopped"  # waits for a person on the forge, or says what nobody understands


class Review(StrEnum):
    ENOUGH = "enough"
    DUE = "due"  # to be asked for
    WAITED = "waited"  # asked for, and not there yet
    SILENT = "silent"  # not there after all patience


class Threads(StrEnum):
    """What reviewers wrote and nobody has closed, the most urgent of it."""

    NONE = "none"
    REPLY = "reply"  # an answer of ours that is not posted yet
    RESOLVE = "resolve"  # answered by a commit that is on the head
    OPEN = "open"  # an agent has to see to it
    DISPUTED = "disputed"  # the agent disagrees: a person decides
    STRANGE = "strange"  # of somebody whom we do not listen to, or in a person's hands


class Merge(StrEnum):
    """Whether it may be merged, as far as approval goes."""

    FREE = "free"
    UNAPPROVED = "unapproved"
    LATE = "late"  # not approved, not taken out of draft, not merged by hand or by the queue, after all patience
    MANUAL = "manual"  # a person merges, or marks a draft as ready
    QUEUED = "queued"  # the forge's own queue has it
    REFUSED = "refused"  # the forge would not, as it stands
    BLOCKED = "blocked"  # nothing of ours is missing, and the forge does not call it free


class Facts(NamedTuple):
    stop: bool = False  # somebody asked us to leave
    pause: bool = False  # somebody asked us to leave before the next call
    board: Board = Board.FINE
    question: Question = Question.NONE
    advance: bool = False  # the open question was answered in advance: by the settings
    call: Call = Call.NONE
    settings: bool = True  # as they were when the run began, or as somebody let them be
    checkpoint: bool = False  # a person wants to be asked before what comes now
    target: Target = Target.STORY
    begun: bool = True  # the story's baseline is recorded
    left: bool = False  # an agent of another tool has asked something about it, which nobody has answered
    row: Row = Row.RIGHT
    ground: bool = True  # the branch we began on, no rebase under way, an identity to commit with
    epic: Epic = Epic.UNDER_WAY
    step: Step = Step.WORK
    gate: Gate = Gate.PASSED
    tries: bool = True  # another call of this step may be made
    rounds: bool = True  # another review round
    fixes: bool = True  # another call to mend what the checks found
    rest: Rest = Rest.NONE
    slot: bool = True  # an agent may be started: not as many are at work as are allowed at once
    budget: bool = True  # there is money and time for another call
    tidy: bool = True  # the work tree is as clean as this step's skill demands
    commit: Commit = Commit.NONE
    retrospective: bool = False  # it is due, and was asked for
    attended: bool = True  # somebody is there to be asked
    kept: bool = True  # a flow's state file says what it should
    decision: Decision = Decision.NONE
    one_step: bool = False  # a single step was asked for, and is done
    delivery: Delivery = Delivery.OFF
    forge: Forge = Forge.FINE
    line: Line = Line.EVEN
    pull: Pull = Pull.OPEN
    proof: Proof = Proof.NONE
    cleared: bool = False  # of a merged one: its branch is gone
    labelled: bool = True
    aim: bool = True  # its base is the branch that it should go to
    base: Base = Base.IN
    here: bool = True  # the work tree stands on our branch
    usable: bool = True  # of the work tree: nothing has been in the way there for too long
    # Where nobody has looked, nothing is green, reviewed or approved.
    ci: Ci = Ci.PENDING
    review: Review = Review.WAITED
    threads: Threads = Threads.NONE
    merge: Merge = Merge.UNAPPROVED
    turn: bool = True  # of all that are ready to be merged, none comes before it
    robot: bool = True  # there is none that would approve it, or it was started

    def told(self) -> dict[str, object]:
        """Those that are not as they usually are."""
        usual = self._field_defaults
        return {name: value for name, value in self._asdict().items() if value != usual[name]}


VALUES: dict[str, tuple[object, ...]] = {
    name: tuple(kind) if issubclass(kind, StrEnum) else (False, True)
    for name, kind in Facts.__annotations__.items()
}

"""Everything outside that a lane touches. Behind it stands the real world (world.py), or the simulator's."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..agents.outcomes import Verdict
from ..board.sprint import Row
from ..core.records import Check, RunRecord
from ..workflows.pipelines import Step
from ..workflows.step_context import Halfway, Point
from .lane import Lane

if TYPE_CHECKING:  # they bring a hundred patterns along, and most runs deliver nothing
    from ..gates.look import WorkLook
    from ..gates.verdict import ReviewVerdict
    from ..github.forge import Forge
    from .delivery.lines import Lines
    from .flows.sight import Desk

Entry = tuple[str, Mapping[str, Any], float]  # kind, data, when


class Tree(NamedTuple):
    """The work tree as it stands."""

    head: str | None
    branch: str | None
    tree: str | None  # its hash, untracked files included
    code: str | None  # the same without the board, the story's own file and our state files


class CallId(NamedTuple):
    """One agent call of a run, and the name of its folder."""

    number: int  # of the step in the run
    step: str
    attempt: int


class Caller(NamedTuple):
    """Who is called for a step."""

    agent: str
    until: float = 0.0  # its account rests till then, and nobody stands in for it; 0: it can be called
    lacks: str = ""  # why the one that should stand in for it cannot


class CallOrder(NamedTuple):
    """One agent call: what it is for, and what it is told."""

    id: CallId
    story: str  # the story's key; of a retrospective the epic's
    step: Step
    baseline: str | None = None
    head: str | None = None  # the last commit of ours for it, else the baseline: HEAD must still descend from it
    tree: str | None = None  # the story's work tree before its first call
    code: str | None = None
    now: str | None = None  # the work tree as we last looked, where we did
    review: str = ""  # what the last review asked for
    checks: str = ""  # what the project's checks printed
    failure: str = ""  # what went wrong in the last call of this very step
    cut_short: bool = False  # the call before was ended by a limit or a fault that passes
    halfway: Halfway | None = None
    dollars: float | None = None  # what is left of the run's cap
    times: int = 1  # the usual time limit, as often
    calls: tuple[CallId, ...] = ()  # all of the story's so far, with this one
    handed_over: tuple[CallId, ...] = ()  # those of them after which it was in a person's hands
    points: tuple[Point, ...] = ()  # of a pull request's reviewers
    logs: tuple[Point, ...] = ()  # of its checks that failed
    in_conflict: bool = False  # the points are files that the base has changed in the same places
    must_change: bool = False  # checks have failed: nothing but a change mends that
    variables: Mapping[str, Any] = {}  # the run's so far
    artefacts: tuple[tuple[str, str], ...] = ()  # what steps before have left: step, and path in the run's folder
    agent: str = ""  # who is called; empty: whoever its role names


class Question(NamedTuple):
    code: str  # which of asking.py's
    story: str
    call: CallId | None
    text: str
    context: str = ""
    options: tuple[str, ...] = ()
    recommended: str = ""
    reason: str = ""  # a BlockReason
    agents_own: str = ""  # the id it has in the agent-state file
    turn: int = 0  # how many questions were answered before it: asked again later, it is another
    cause: str = ""  # a word of core.causes
    because: str = ""  # why that is recommended
    labels: tuple[str, ...] = ()  # what each option means, in a line: shown with letters
    step: str = ""  # it is about, where there is no call


class Asked(NamedTuple):
    """What an agent wrote into its agent-state file and nobody has answered."""

    id: str
    question: str
    context: str = ""
    options: tuple[str, ...] = ()
    reason: str = ""
    cause: str = ""  # a word of core.causes, where it is no question but a choice on what has stopped


class Gathered(NamedTuple):
    """All that one call left, for judging.py to weigh."""

    verdict: Verdict  # how the call itself ended
    seconds: float
    tree: Tree
    row: str  # what the story's row means now; "" where it is gone
    row_before: str
    look: "WorkLook"
    review: "ReviewVerdict | None" = None  # of a step that owes one
    asked: tuple[Asked, ...] = ()
    row_reason: str = ""  # why the row is parked, where the board says so
    exit: int | None = None  # the process's
    retrospective: str = ""  # its verdict, of a step that is one
    variables: Mapping[str, Any] = {}  # of a workflow file's step: what it hands on
    output: str = ""  # the same step's, in words
    missing: tuple[str, ...] = ()  # what it should have left, told in sentences
    said: Mapping[str, Any] = {}  # of each point of a pull request's reviewers
    taken_out: tuple[str, ...] = ()  # the user's files that were taken out of the call's commits again
    remade: Mapping[str, str] = {}  # commits that were made again for that: old and new


class CommitOrder(NamedTuple):
    key: str  # the value of its trailer, by which it is found again
    label: str
    story: str  # "" for one of the epic's
    subject: str
    body: str = ""
    since: str | None = None  # it is looked for in what came after
    calls: tuple[CallId, ...] = ()  # what these changed goes into it
    handed_over: tuple[CallId, ...] = ()  # and what a person left after these
    tree: str | None = None  # the work tree before them


class CheckpointOrder(NamedTuple):
    """A step that is completed: all that is known at this point, and how the work tree stood."""

    step: int  # its number in the run
    name: str
    story: str
    variables: Mapping[str, Any]
    rows: Mapping[str, str]  # of the board, as they are written there
    output: str  # what the step left, for a person
    head: str | None = None
    branch: str | None = None
    tree: str | None = None
    saved: bool = True  # False: its work tree is not kept, and nobody can go back to it


class Advance(NamedTuple):
    """An answer that the settings give."""

    text: str
    by: str  # a word of runs.question.By
    is_choice: bool  # chosen for a cause; else a standing answer to this very question


class Doors(Protocol):
    def now(self) -> float: ...

    # the run's own records
    def entries(self) -> Iterable[Entry]: ...
    def note(self, kind: str, data: Mapping[str, Any]) -> float: ...
    def checkpoint(self, order: CheckpointOrder) -> Mapping[str, Any]:
        """Keep a step's output and its work tree; the checkpoint as the journal has it. Done twice, it is one."""

    def settings(self) -> str:
        """The digest of those in force; empty where nobody keeps count."""

    def settle(self, *, keep: bool) -> Lane:
        """Go by those of the run's beginning, or by the present ones from now on. The lane then."""

    def changed_settings(self) -> str:
        """What differs from the run's beginning, a line each."""

    # the board
    def rows(self) -> Mapping[str, Row]:
        """FileError: it cannot be read."""

    def set_row(self, key: str, status: str, expect: str) -> bool:
        """False: it is not `expect` any more. `expect` empty: the row is gone, and comes back."""

    def restore_board(self, call: CallId) -> str:
        """Put back what stood there before the call; where the other is kept."""

    # git
    def ground(self, branch: str) -> str:
        """Empty, or why we should not work here."""

    def tree(self, story: str) -> Tree: ...
    def changed(self, before: str, after: str) -> tuple[str, ...]:
        """The paths that differ between two work trees."""

    def is_tidy(self) -> bool: ...
    def is_committed_done(self, key: str, since: str | None) -> bool:
        """Whether commits of the user's after `since` set this row to done and hold work besides."""

    def is_apart(self) -> bool:
        """The work tree is the lane's own: people work elsewhere."""

    def commit(self, order: CommitOrder) -> str: ...
    def set_aside(self, story: str, calls: tuple[CallId, ...], head: str | None) -> str:
        """Save the work tree under a ref, then take what these calls changed and nobody committed out of it. The
        story's own books stay. `head`: what the branch held before; it does again, where calls took it away."""

    # agents
    def call_state(self, call: CallId) -> str:
        """A word of agents.attempts.State: new, running, finished, lost."""

    def has_slot(self) -> bool:
        """Whether an agent may be started now: others may be at work, or be meant to come first."""

    def wait_for_slot(self) -> None: ...
    def start(self, order: CallOrder) -> None:
        """Nothing, where it was started before, or cannot be just now."""

    def gather(self, order: CallOrder) -> Gathered: ...
    def caller(self, step: Step) -> Caller: ...
    def clear_state(self, story: str) -> None: ...
    def left_question(self, story: str) -> Asked | None:
        """The first in its agent-state file that nobody has answered."""

    def tail(self, call: CallId) -> str:
        """The last lines of what it printed."""

    def places(self, story: str, call: CallId) -> tuple[str, ...]:
        """The files a person looks at: the story's own, the call's, the board."""

    # the project's checks
    def check(self, code: str) -> Check: ...
    def check_logs(self, code: str) -> str:
        """The folder with what they printed on this tree."""

    # people
    def ask(self, question: Question) -> str:
        """Its id; the same question is asked once."""

    def is_asked(self, question: str) -> bool:
        """False: its file is gone, and it is asked again."""

    def answer(self, question: str) -> str | None: ...
    def advance(self, question: str) -> Advance | None:
        """What the settings answer: a standing answer always, a choice where nobody is there."""

    def record_answer(self, question: str, advance: Advance) -> None:
        """Once: somebody may have been quicker."""

    def answered_by(self, question: str) -> str:
        """A word of runs.question.By."""

    def deliver(self, question: str) -> None:
        """Its answer, into the file the agent has asked in; whoever recorded it may have been killed before."""

    def attended(self) -> bool:
        """Somebody is there to answer at once."""

    # delivery
    def forge(self) -> "Forge": ...
    def lines(self) -> "Lines": ...
    def pull_text(self, run: RunRecord) -> tuple[str, str]:
        """Title and body of the epic's pull request."""

    def has_turn(self) -> bool:
        """Whether it may be merged next."""

    def take_turn(self) -> bool: ...
    def await_turn(self) -> None:
        """Whoever drives it is told when that may be."""

    def step_aside(self) -> None:
        """Others may be merged before it."""

    def taken(self) -> str:
        """Whose unfinished work lies in the checkout that lanes share; empty: nobody else's."""

    # flows
    def flow(self) -> "Desk":
        """What a flow goes by: its state file and the project's folder."""

    # waiting
    def stopping(self) -> bool: ...
    def pausing(self) -> bool: ...
    def random(self) -> float: ...
    def wait(self, until: float | None, call: CallId | None) -> None: ...
    def linger(self, call: CallId) -> bool:
        """Told to leave while an agent is at work: True if we are told again within moments, and it was ended."""

    def wait_for_answer(self, question: str) -> bool:
        """False: nobody is there to answer."""

"""The ports through which a lane reaches the outside: board, git, agents, people, the forge.

`engine.world` implements them with real files and processes, `sim.memory` in memory."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..agents.adapter import AttemptVerdict
from ..board.sprint_status import Row
from ..core.run_record import CheckRecord, RunRecord
from ..workflows.agent_call import AgentCall as AgentCall
from ..workflows.agent_call import CallId as CallId
from ..workflows.workflow import Step
from .lane import Lane

if TYPE_CHECKING:
    from ..gates.evidence import Evidence
    from ..gates.review_verdict import ReviewVerdict
    from ..github.forge import Forge
    from .delivery.branch_port import BranchPort
    from .flows.model import FlowStore


RunEvent = tuple[str, Mapping[str, Any], float]  # kind, data, when


class WorktreeSnapshot(NamedTuple):
    """The work tree at one moment."""

    head: str | None
    branch: str | None
    tree: str | None  # its hash, untracked files included
    code: str | None  # the same without the board, the story's own file and our state files


class AgentChoice(NamedTuple):
    """The agent chosen for a step."""

    agent: str
    until: float = 0.0  # its account is rate-limited until then and no fallback is available; 0: usable now
    fallback_problem: str = ""  # why the configured fallback cannot be used


class LaneQuestion(NamedTuple):
    code: str  # a key of question_texts.py, or one of delivery's or of flows'
    story: str
    call: CallId | None
    text: str
    context: str = ""
    options: tuple[str, ...] = ()
    recommended: str = ""
    reason: str = ""  # a BlockReason
    agent_question_id: str = ""  # its id in the agent-state file
    turn: int = 0  # how many questions were answered before it: the same text asked later is a new question
    cause: str = ""  # a value of core.stop_causes.Cause
    because: str = ""  # why that option is recommended
    labels: tuple[str, ...] = ()  # one line of explanation per option, shown with letters
    step: str = ""  # the step concerned, where there is no call


class UnansweredQuestion(NamedTuple):
    """A question in an agent-state file that has no answer yet."""

    id: str
    question: str
    context: str = ""
    options: tuple[str, ...] = ()
    reason: str = ""
    cause: str = ""  # a value of core.stop_causes.Cause where it is an intervention, not a question


class AgentResult(NamedTuple):
    """Everything one finished call produced, for call_outcome.py to judge."""

    verdict: AttemptVerdict  # how the call itself ended
    seconds: float
    tree: WorktreeSnapshot
    row: str  # the meaning of the story's row now; "" if the row is gone
    row_before: str
    evidence: "Evidence"
    review: "ReviewVerdict | None" = None  # of a step that must produce one
    questions: tuple[UnansweredQuestion, ...] = ()
    row_reason: str = ""  # why the row is parked, if the board says so
    exit: int | None = None  # the process's
    retrospective: str = ""  # verdict of a retrospective step
    variables: Mapping[str, Any] = {}  # of a workflow file's step: variables for the next steps
    output: str = ""  # text output of the same step
    missing: tuple[str, ...] = ()  # required output that is missing, as sentences
    replies: Mapping[str, Any] = {}  # the agent's reply to each review comment
    removed_paths: tuple[str, ...] = ()  # the user's files that were removed from the call's commits
    rewritten_commits: Mapping[str, str] = {}  # the commits rewritten for that: old → new


class CommitOrder(NamedTuple):
    key: str  # the value of its trailer; after a crash the commit is found by it
    label: str
    story: str  # "" for one of the epic's
    subject: str
    body: str = ""
    since: str | None = None  # search for it only after this commit
    calls: tuple[CallId, ...] = ()  # commits the paths that these calls changed
    handed_over: tuple[CallId, ...] = ()  # and the paths that a person changed after these
    tree: str | None = None  # the work tree before them


class CheckpointOrder(NamedTuple):
    """A completed step: the run's state at this point, and the work tree."""

    step: int  # its number in the run
    name: str
    story: str
    variables: Mapping[str, Any]
    rows: Mapping[str, str]  # raw statuses of the board
    output: str  # the step's output, for a person
    head: str | None = None
    branch: str | None = None
    tree: str | None = None
    saved: bool = True  # False: its work tree is not kept, and `bmad resume` cannot return to it


class PresetAnswer(NamedTuple):
    """An answer given in advance by the settings."""

    text: str
    by: str  # a value of runs.question_file.By
    is_choice: bool  # the policy for a cause; else a standing answer to this question


class RunRecords(Protocol):
    """The run's own records: its journal, checkpoints and settings."""

    def entries(self) -> Iterable[RunEvent]: ...
    def note(self, kind: str, data: Mapping[str, Any]) -> float: ...
    def checkpoint(self, order: CheckpointOrder) -> Mapping[str, Any]:
        """Save a step's output and its work tree; return the checkpoint as the journal records it. Idempotent."""

    def settings(self) -> str:
        """The digest of the settings in force; empty: changes are not tracked."""

    def apply_settings(self, *, keep: bool) -> Lane:
        """Use the settings the run began with (`keep`), or the current ones. Return the resulting lane."""

    def describe_settings_changes(self) -> str:
        """The settings that differ from the run's beginning, one per line."""


class BoardPort(Protocol):
    def rows(self) -> Mapping[str, Row]:
        """Raise FileError if the board cannot be read."""

    def set_row(self, key: str, status: str, expect: str) -> bool:
        """Compare and set. False: the row is not `expect` any more. An empty `expect` restores a missing row."""

    def restore(self, call: CallId) -> str:
        """Restore the board from before the call; return where the replaced version is kept."""


class WorktreePort(Protocol):
    """The lane's work tree: git, and the project's checks."""

    def problem(self, branch: str) -> str:
        """Why the work tree cannot be worked in; empty: it can."""

    def snapshot(self, story: str) -> WorktreeSnapshot: ...
    def changed_paths(self, before: str, after: str) -> tuple[str, ...]:
        """The paths that differ between two work trees."""

    def is_clean(self) -> bool: ...
    def is_own(self) -> bool:
        """Whether it belongs to the lane alone, so that no person works in it."""

    def is_committed_done(self, key: str, since: str | None) -> bool:
        """Whether the user's commits after `since` set this row to done and contain work as well."""

    def commit(self, order: CommitOrder) -> str: ...
    def stash(self, story: str, calls: tuple[CallId, ...], head: str | None) -> str:
        """Save the work tree under a ref, then revert the uncommitted changes of these calls. The story's own
        files stay. `head`: restored on the branch if a call removed it."""

    def check(self, code: str) -> CheckRecord:
        """Run the project's checks."""

    def recover_check(self) -> None:
        """After a kill during the checks: revert the files they had written."""

    def check_logs(self, code: str) -> str:
        """The folder with the checks' output for this tree."""


class AgentPort(Protocol):
    def choose(self, step: Step) -> AgentChoice: ...
    def has_slot(self) -> bool:
        """Whether an agent may be started now: other lanes may hold the slots, or have priority."""

    def wait_for_slot(self) -> None: ...
    def start(self, order: AgentCall) -> None:
        """Start the call. Does nothing if it was started before or cannot start now."""

    def state(self, call: CallId) -> str:
        """A value of agents.attempt.AttemptState: new, running, finished, lost."""

    def wait(self, call: CallId) -> None:
        """Wait for the call's end, a change in the project's files, or a request."""

    def cancel_on_second_stop(self, call: CallId) -> bool:
        """On a stop while an agent runs: wait briefly for a second stop. True: it came; the agent was ended."""

    def collect(self, order: AgentCall) -> AgentResult: ...
    def clear_state(self, story: str) -> None:
        """Remove the story's agent-state file."""

    def unanswered_question(self, story: str) -> UnansweredQuestion | None:
        """The first unanswered question in its agent-state file."""

    def last_output(self, call: CallId) -> str:
        """The last lines of its output."""

    def related_files(self, story: str, call: CallId) -> tuple[str, ...]:
        """The files a person needs to see: the story file, the call's folder, the board."""


class PeoplePort(Protocol):
    def is_attended(self) -> bool:
        """Whether a person is present to answer at once."""

    def is_stopping(self) -> bool: ...
    def is_pausing(self) -> bool: ...
    def ask(self, question: LaneQuestion) -> str:
        """Return the question's id. The same question is asked once."""

    def is_asked(self, question: str) -> bool:
        """False: its file is gone, and the question is asked again."""

    def wait_for_answer(self, question: str) -> bool:
        """False: no person is present to answer."""

    def answer(self, question: str) -> str | None: ...
    def answered_by(self, question: str) -> str:
        """A value of runs.question_file.AnswerSource."""

    def deliver_answer(self, question: str) -> None:
        """Write the answer into the agent-state file. The process that recorded it may have died before that."""

    def preset_answer(self, question: str) -> PresetAnswer | None:
        """The settings' answer: a standing answer always, a policy choice only when unattended."""

    def record_answer(self, question: str, advance: PresetAnswer) -> None:
        """Record the answer unless a person has answered first."""


class DeliveryPort(Protocol):
    def forge(self) -> "Forge": ...
    def branches(self) -> "BranchPort": ...
    def pull_text(self, run: RunRecord) -> tuple[str, str]:
        """Title and body of the epic's pull request."""

    def has_merge_turn(self) -> bool:
        """Whether this lane may merge next."""

    def acquire_merge_turn(self) -> bool: ...
    def request_merge_turn(self) -> None:
        """Queue for the merge turn; the lane is woken when it may merge."""

    def release_merge_turn(self) -> None:
        """Let other lanes merge first."""

    def checkout_blocker(self) -> str:
        """Another lane's unfinished work in the shared checkout, described; empty: there is none."""


class Clock(Protocol):
    def now(self) -> float: ...
    def random(self) -> float: ...
    def wait(self, until: float | None) -> None:
        """Wait until this time, a stop or a request; None: only as long as a rescan allows."""


class Ports(NamedTuple):
    """Everything a lane reaches the outside through."""

    clock: Clock
    records: RunRecords
    board: BoardPort
    worktree: WorktreePort
    agents: AgentPort
    people: PeoplePort
    delivery: DeliveryPort
    flow: "FlowStore | None" = None  # a flow's state file and the project's folder


# Observers of a run: an event listener, and a person who can be prompted.

EventSink = Callable[[str, Mapping[str, Any], float], None]  # kind, data, when: every journal entry, and progress


class Prompter(Protocol):
    """A person at a terminal."""

    def ask(self, question: Mapping[str, Any]) -> str | None:
        """None: no answer for now."""

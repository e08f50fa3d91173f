"""The ports of the supervisor. `build_ports` in supervisor.py builds the real ones: run folders, git, threads, the
forge. The simulator builds the same record in memory, and runs the same supervisor on it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ...board.overview import EpicView
from ...board.sprint_status import Board
from ...core.dependency_graph import DependencyGraph
from ...git.history import CommitInfo
from ...github.forge import Forge
from ...runs.legacy_state import PendingPull
from ...runs.supervisor_lock import ControlRequest
from ..lane import Lane
from ..ports import EventSink, Prompter
from ..slots import LaneLimits
from .workers import LaneWaiter, Workers

if TYPE_CHECKING:
    from ..runner import RunEnd
    from .lanes import LaneState
    from .scheduler import EpicEstimates


class SupervisorWaiter(Protocol):
    """Lets the supervisor wait, and others wake it."""

    stop_count: int  # number of stop requests so far

    def wake(self) -> None: ...
    def wait_until(self, when: float, files: tuple[str, ...] = ()) -> None:
        """Wait until `when`, until one of these files changes, or until woken. May return earlier."""

    def signals(self, on_stop: Callable[[int], None]) -> AbstractContextManager[None]:
        """Count the user's interrupts instead of ending the process."""

    def close(self) -> None: ...


class LaneStore(Protocol):
    """The records of lanes: their runs, questions, and requests from other terminals. A folder names a run."""

    def unfinished(self, *, resume_all: bool) -> "list[LaneState]":
        """Lanes that earlier commands left, oldest first. `resume_all`: given-up lanes are ready again."""

    def open_question(self, folder: str) -> str:
        """A summary of the run's first open question; empty: there is none."""

    def is_answered(self, folder: str) -> bool:
        """None of the run's questions is open."""

    def question_files(self, folder: str) -> list[str]:
        """The files its answers will be written to."""

    def request(self, folder: str) -> ControlRequest | None: ...
    def clear_request(self, folder: str) -> None: ...
    def request_file(self, folder: str) -> str: ...


class EpicBranches(Protocol):
    """The branches of epics and the base, here and on the remote."""

    def remote_url(self) -> str:
        """Empty: there is no such remote."""

    def base_branch(self, configured: str | None) -> str | None:
        """The branch all work goes to; None: unknown."""

    def fetch(self, *branches: str) -> dict[str, str]:
        """Heads on the remote; empty: no such branch. ForgeError: the remote is unreachable."""

    def branch_head(self, branch: str) -> str:
        """Head of the local branch; empty: there is none."""

    def contains(self, newer: str, older: str) -> bool: ...
    def foreign_commits(self, older: str, newer: str) -> Sequence[CommitInfo]:
        """Commits between them that are not ours."""


class EpicSource(Protocol):
    """The project's plan."""

    @property
    def is_ordered(self) -> bool:
        """Each epic depends on the one before it."""

    def board_at(self, commit: str) -> Board:
        """The board as of that commit: the checkout may be on another epic's branch."""

    def titles(self) -> Mapping[str, str]:
        """Titles of epics, by number."""

    def graph(self, epics: Sequence[EpicView], chosen: Sequence[str]) -> DependencyGraph: ...
    def foreign_epics(self) -> Sequence[str]:
        """Numbers of the epics that another tool's unfinished run lists."""


class LaneRunContext(NamedTuple):
    """What the autopilot gives to a lane's run."""

    on_event: EventSink
    limits: LaneLimits
    forge: Callable[[], Forge]
    waiter: LaneWaiter | None  # lets the supervisor wake or stop the run; None: the run makes its own
    human: Prompter | None
    unattended: Mapping[str, str]


class LaneCheckout(Protocol):
    """A checkout in which one lane works."""

    def new_lane(self, key: str) -> Lane:
        """The lane of that epic, as the settings and the board describe it."""

    def make_run(self, lane: Lane) -> str:
        """Make the folder of a new run."""

    def start(self, lane: Lane, folder: str, context: LaneRunContext) -> "RunEnd":
        """Run a new lane until it ends or waits."""

    def resume(self, folder: str, context: LaneRunContext) -> "RunEnd":
        """Run an unfinished lane until it ends or waits."""


class Checkouts(Protocol):
    """The checkouts of lanes: one that all lanes share, or a worktree for each."""

    def check(self, lanes: "list[LaneState]") -> None:
        """Refuse a checkout in which no lane can work."""

    def tidy(self, in_use: set[str]) -> None:
        """Remove worktrees that earlier commands left and no lane uses."""

    def create(self, key: str, branch: str, commit: str) -> LaneCheckout: ...
    def reopen(self, state: "LaneState") -> LaneCheckout: ...
    def check_out(self, state: "LaneState", lanes: "Iterable[LaneState]") -> str:
        """Switch the shared checkout to the lane's branch, if the lane works there. Returns why that is not
        possible now; empty: the lane can resume."""

    def occupied_reason(self, key: str, lanes: "Iterable[LaneState]") -> str:
        """Why the lane cannot have the shared checkout; empty: it can."""

    def remove(self, key: str) -> None:
        """Remove the worktree of a merged epic."""

    def describe_setup(self) -> list[str]:
        """One text per setup command that is running."""

    def stop_setup(self) -> None: ...


class SharedForge(Protocol):
    """The forge client that all lanes share."""

    def __call__(self) -> Forge: ...
    def stop_waits(self) -> None:
        """End the client's pauses: the autopilot stops."""


class RunRegistry(Protocol):
    """Tells other commands which runs this supervisor has."""

    def set_runs(self, runs: Sequence[str], run: str) -> None: ...
    def mark_ready(self) -> None: ...


class AutopilotLog(Protocol):
    """The log and the state file that other programs read."""

    def completed_epics(self) -> Sequence[str]: ...
    def add_line(self, text: str) -> None: ...
    def write_state(self, phase: str, epic: str, done: Sequence[str], pending: Sequence[PendingPull]) -> None: ...


class SupervisorPorts(NamedTuple):
    """Everything the supervisor reaches the outside through."""

    clock: Callable[[], float]
    waiter: SupervisorWaiter
    workers: Workers
    store: LaneStore
    checkouts: Checkouts
    branches: EpicBranches
    forge: SharedForge
    epics: EpicSource
    registry: RunRegistry
    estimates: "EpicEstimates"
    can_call: Callable[[], bool]  # whether the agents of a new epic, or their substitutes, can be called now
    state_folder: str  # names the requests to all lanes

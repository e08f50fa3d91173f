"""How a run's supervisor stopped running it, and the exit code of each ending."""

from enum import StrEnum

from .errors import EXIT_DONE, EXIT_FAILED, EXIT_HUMAN, EXIT_INTERRUPTED


class RunEnding(StrEnum):
    COMPLETED = "completed"
    NOT_DONE = "not-done"  # the run is over, but its story is not done
    FAILED = "failed"  # a person aborted it
    WAITING = "waiting"  # for a person's answer
    HANDED_OVER = "handed-over"  # a person continues the work
    PAUSED = "paused"
    PENDING = "pending"  # its pull request waits for checks or people
    DETACHED = "left"  # a stop was requested; running agents continue
    SESSION_OVER = "session-over"  # of a flow: the user wants the next step in another session
    TASKS = "tasks"  # of a flow: it continues with tasks, on their own board

    @property
    def exit_code(self) -> int:
        return _EXIT_CODES.get(self, EXIT_HUMAN)

    @property
    def is_over(self) -> bool:
        """Whether the run has ended for good without a failure."""
        return self in (RunEnding.COMPLETED, RunEnding.NOT_DONE)

    @property
    def is_stopped(self) -> bool:
        """Whether a stop or pause request ended it."""
        return self in (RunEnding.DETACHED, RunEnding.PAUSED)


_EXIT_CODES = {
    RunEnding.COMPLETED: EXIT_DONE,
    RunEnding.SESSION_OVER: EXIT_DONE,
    RunEnding.NOT_DONE: EXIT_FAILED,
    RunEnding.FAILED: EXIT_FAILED,
    RunEnding.DETACHED: EXIT_INTERRUPTED,
}

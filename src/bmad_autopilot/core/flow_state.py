"""What the state file of a flow says, as data. runs/ reads and writes it, workflows/ finds the place by it."""

from typing import NamedTuple

from .diagnostics import Diagnostic


class Completed(NamedTuple):
    """A row of Completed Steps, its cells as they stand there."""

    step: str
    name: str
    completed: str
    outcome: str


class Retry(NamedTuple):
    """A row of the Retry Log."""

    attempt: str
    step: str
    name: str
    substep: str
    reason: str
    at: str


class LastSession(NamedTuple):
    date: str = ""
    ended_at: str = ""
    reason: str = ""
    notes: str = ""


class FlowState(NamedTuple):
    flow: str = ""
    step: str = ""  # "3", "done": as written, trimmed
    name: str = ""
    status: str = ""  # not_started, in_progress, completed, skipped, failed, or whatever stands there
    sub_step: str = ""
    retry_count: int = 0
    completed: tuple[Completed, ...] = ()
    decisions: tuple[str, ...] = ()
    last: LastSession = LastSession()
    retries: tuple[Retry, ...] = ()
    blockers: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

"""The content of a flow's state file as data. runs/ reads and writes it; workflows/ derives the position."""

from typing import NamedTuple

from .errors import Diagnostic

STATUSES = ("not_started", "in_progress", "completed", "skipped", "failed")


class CompletedStep(NamedTuple):
    """A row of the Completed Steps table, cells as written."""

    step: str
    name: str
    completed: str
    outcome: str


class RetryEntry(NamedTuple):
    """A row of the Retry Log table."""

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
    status: str = ""  # not_started, in_progress, completed, skipped, failed, or any other text
    sub_step: str = ""
    retry_count: int = 0
    completed: tuple[CompletedStep, ...] = ()
    decisions: tuple[str, ...] = ()
    last: LastSession = LastSession()
    retries: tuple[RetryEntry, ...] = ()
    blockers: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

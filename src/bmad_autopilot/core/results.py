"""How agent calls, stories and epics ended."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ExecutionResult:
    """How one agent call ended: success, failed, timeout or intervention_needed; `running` where nobody waited."""

    status: str
    story_id: str
    exit_code: int | None = None
    outcome: str = ""  # the word for how the agent itself ended: limit, auth, stalled, …
    message: str = ""  # one line for a person


@dataclass(frozen=True)
class StoryResult:
    story_id: str
    status: str
    results: tuple[ExecutionResult, ...] = ()


@dataclass(frozen=True)
class EpicResult:
    epic_id: str
    status: str
    stories: tuple[StoryResult, ...] = ()

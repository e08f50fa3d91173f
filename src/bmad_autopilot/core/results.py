"""Public results of agent calls, stories and epics."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ExecutionResult:
    """The result of one agent call: success, failed, timeout or intervention_needed; `running` if not awaited."""

    status: str
    story_id: str
    exit_code: int | None = None
    outcome: str = ""  # how the agent process ended: limit, auth, stalled, …
    message: str = ""  # one line for the user


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

"""How agent calls, stories and epics ended."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ExecutionResult:
    """How one agent call ended: success, failed, timeout or intervention_needed."""

    status: str
    story_id: str
    exit_code: int | None = None


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

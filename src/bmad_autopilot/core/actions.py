"""The public records, and what comes next."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from .keys import identify
from .statuses import BACKLOG, DONE, IN_PROGRESS, OPTIONAL, PARKED, READY, REVIEW, Kind, read_status

# Action type → BMAD workflow. Open: another entry needs no code.
WORKFLOW_MAPPING: dict[str, str] = {
    "create-story": "bmad:bmm:workflows:create-story",
    "dev-story": "bmad:bmm:workflows:dev-story",
    "code-review": "bmad:bmm:workflows:code-review",
}

# BMAD's priority: what is under way is finished before anything new is begun.
PRIORITY: tuple[tuple[str, str], ...] = (
    (IN_PROGRESS, "dev-story"),
    (REVIEW, "code-review"),
    (READY, "dev-story"),
    (BACKLOG, "create-story"),
)

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do to one story."""

    type: str
    story_id: str
    skill: str
    context: Mapping[str, str] = field(default=_NOTHING)


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """How one agent call ended: success, failed, timeout or intervention_needed."""

    status: str
    story_id: str
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class StoryResult:
    story_id: str
    status: str
    results: tuple[ExecutionResult, ...] = ()


@dataclass(frozen=True, slots=True)
class EpicResult:
    epic_id: str
    status: str
    stories: tuple[StoryResult, ...] = ()


@dataclass(frozen=True, slots=True)
class SprintStatus:
    """The board as a mapping: statuses as written, counts per canonical status."""

    epics: Mapping[str, str]
    stories: Mapping[str, str]
    counts: Mapping[str, int]
    retrospectives: Mapping[str, str] = field(default=_NOTHING)


def get_next_action(status: SprintStatus) -> Action | None:
    """The first story in BMAD's priority, in natural order; None when there is nothing left to do.

    A parked story, and every story of a parked epic, is left where it is."""
    identities = identify([*status.epics, *status.stories])
    parked_epics = {
        identities[key].number for key, raw in status.epics.items() if read_status(raw).meaning == PARKED
    }
    first: dict[str, str] = {}
    wanted = {meaning for meaning, _ in PRIORITY}
    for key in sorted(status.stories, key=lambda key: identities[key].order):
        meaning = read_status(status.stories[key]).meaning
        if meaning in wanted and identities[key].epic not in parked_epics:
            first.setdefault(meaning, key)
    for meaning, kind in PRIORITY:
        if meaning in first:
            key = first[meaning]
            return Action(kind, key, WORKFLOW_MAPPING[kind], {"story_id": key, "status": meaning})
    return None


def suggest_retrospective(status: SprintStatus) -> str | None:
    """The first epic whose stories are all done and whose retrospective is still open."""
    identities = identify([*status.epics, *status.stories, *status.retrospectives])
    open_epics, with_stories = set(), set()
    for key, raw in status.stories.items():
        with_stories.add(identities[key].epic)
        if read_status(raw).meaning not in (DONE, PARKED):
            open_epics.add(identities[key].epic)
    for key in sorted(status.retrospectives, key=lambda key: identities[key].order):
        row = identities[key]
        if row.kind is not Kind.RETROSPECTIVE or row.epic in open_epics or row.epic not in with_stories:
            continue
        if read_status(status.retrospectives[key]).meaning == OPTIONAL:
            return key
    return None

"""The public records, and what comes next."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .keys import identify
from .statuses import BACKLOG, IN_PROGRESS, PARKED, READY, REVIEW, Kind, read_status

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


@dataclass(frozen=True)
class Action:
    """One thing to do to one story."""

    type: str
    story_id: str
    skill: str
    context: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SprintStatus:
    """The board as a mapping: statuses as written, counts per canonical status."""

    epics: Mapping[str, str]
    stories: Mapping[str, str]
    counts: Mapping[str, int]
    retrospectives: Mapping[str, str] = field(default_factory=dict)


def get_next_action(status: SprintStatus) -> Action | None:
    """The first story in BMAD's priority, in natural order; None when there is nothing left to do.

    A parked story, and every story of a parked epic, is left where it is."""
    identities = identify([*status.epics, *status.stories])
    parked = {
        identities[key].number
        for key, raw in status.epics.items()
        if read_status(raw, Kind.EPIC).meaning == PARKED
    }
    return choose(
        (key, read_status(status.stories[key], Kind.STORY).meaning)
        for key in sorted(status.stories, key=lambda key: identities[key].order)
        if identities[key].epic not in parked
    )


def choose(stories: Iterable[tuple[str, str]]) -> Action | None:
    """Of stories (key, meaning) in natural order, the first of the most urgent."""
    first: dict[str, str] = {}
    for key, meaning in stories:
        if meaning not in first:
            first[meaning] = key
    for meaning, kind in PRIORITY:
        if meaning in first:
            key = first[meaning]
            return Action(kind, key, WORKFLOW_MAPPING[kind], {"story_id": key, "status": meaning})
    return None

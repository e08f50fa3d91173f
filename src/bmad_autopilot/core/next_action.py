"""Public records of the board, and the choice of the next action for a story."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .keys import identify
from .statuses import BACKLOG, IN_PROGRESS, PARKED, READY, REVIEW, RowKind, read_status

# Action type → BMAD workflow. A further entry needs no code.
WORKFLOW_MAPPING: dict[str, str] = {
    "create-story": "bmad:bmm:workflows:create-story",
    "dev-story": "bmad:bmm:workflows:dev-story",
    "code-review": "bmad:bmm:workflows:code-review",
}

# BMAD's priority: finish work in progress before starting new work.
PRIORITY: tuple[tuple[str, str], ...] = (
    (IN_PROGRESS, "dev-story"),
    (REVIEW, "code-review"),
    (READY, "dev-story"),
    (BACKLOG, "create-story"),
)


@dataclass(frozen=True)
class Action:
    """The next step of one story."""

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
    """The action for the first story in BMAD's priority and natural order; None when nothing is left to do.

    Parked stories and all stories of a parked epic are skipped."""
    identities = identify([*status.epics, *status.stories])
    parked = {
        identities[key].number
        for key, raw in status.epics.items()
        if read_status(raw, RowKind.EPIC).meaning == PARKED
    }
    return choose_action(
        (key, read_status(status.stories[key], RowKind.STORY).meaning)
        for key in sorted(status.stories, key=lambda key: identities[key].order)
        if identities[key].epic not in parked
    )


def choose_action(stories: Iterable[tuple[str, str]]) -> Action | None:
    """The action for the most urgent story; `stories`: (key, canonical status) in natural order."""
    first: dict[str, str] = {}
    for key, meaning in stories:
        if meaning not in first:
            first[meaning] = key
    for meaning, kind in PRIORITY:
        if meaning in first:
            key = first[meaning]
            return Action(kind, key, WORKFLOW_MAPPING[kind], {"story_id": key, "status": meaning})
    return None

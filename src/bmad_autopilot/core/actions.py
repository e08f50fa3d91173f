"""The public records, and what comes next."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from .keys import Order, identify
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
    """The first story in BMAD's priority, in natural order; None when there is nothing left to do."""
    identities = identify([*status.epics, *status.stories])
    parked = {identities[key].number for key, raw in status.epics.items() if read_status(raw).meaning == PARKED}
    return choose(
        (
            (key, read_status(raw, Kind.STORY).meaning, identities[key].epic, identities[key].order)
            for key, raw in status.stories.items()
        ),
        parked,
    )


Story = tuple[str, str, str | None, tuple[Order, Order]]  # key, meaning, epic, order


def choose(stories: Iterable[Story], parked_epics: Collection[str | None] = ()) -> Action | None:
    """A parked story, and every story of a parked epic, is left where it is."""
    first: dict[str, Story] = {}
    for story in stories:
        best = first.get(story[1])
        if (best is None or story[3] < best[3]) and story[2] not in parked_epics:
            first[story[1]] = story
    for meaning, kind in PRIORITY:
        if meaning in first:
            key = first[meaning][0]
            return Action(kind, key, WORKFLOW_MAPPING[kind], {"story_id": key, "status": meaning})
    return None

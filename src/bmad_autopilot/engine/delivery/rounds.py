"""A round of mending what reviewers and checks found: in the records a story of its own, after the epic's."""

import re

from ...core.delivery import PullRound
from ...core.records import RunRecord, StoryRecord
from ...workflows.step_context import Point

POINTS, RED, CHECKS, CONFLICT = "points", "red", "checks", "conflict"  # why it was opened


def round_key(lane: str, number: int) -> str:
    return f"{lane}.pr-{number}"


def is_round(key: str) -> bool:
    """A key that no story of a board has."""
    return re.fullmatch(r".+\.pr-\d+", key) is not None


def round_in_hand(run: RunRecord) -> StoryRecord | None:
    """None: there is none that is not over."""
    rounds = run.delivery.rounds
    story = run.stories.get(rounds[-1].story) if rounds else None
    return story if story is not None and not is_round_over(story) else None


def is_round_over(story: StoryRecord) -> bool:
    if story.skipped:
        return True
    return story.finished and ("done" in story.commits or not has_changed(story))


def has_changed(story: StoryRecord) -> bool:
    """An agent that disagrees with everything leaves nothing to commit."""
    ended = story.last_ended
    return ended is None or ended.get("tree") != story.tree


def round_points(opened: PullRound | None) -> tuple[Point, ...]:
    return tuple(_point(one) for one in opened.points) if opened else ()


def round_logs(opened: PullRound | None) -> tuple[Point, ...]:
    return tuple(_point(one) for one in opened.logs) if opened else ()


def _point(one: object) -> Point:
    assert isinstance(one, dict)
    name, title, text = (str(one.get(part, "")) for part in ("name", "title", "text"))
    return Point(name, title, text, bool(one.get("decided")), str(one.get("since", "")))

"""Fix rounds of a pull request, recorded as extra stories of the epic, and look-ups in past answers."""

import re

from ...core.answers import AnswerMeaning, read_meaning
from ...core.run_record import PullRound, RunRecord, StoryRecord
from ...workflows.agent_call import PromptPoint

POINTS, RED, CHECKS, CONFLICT = "points", "red", "checks", "conflict"  # why it was started


def fix_round_key(lane: str, number: int) -> str:
    return f"{lane}.pr-{number}"


def is_fix_round(key: str) -> bool:
    """Whether the key is a fix round's; no story of a board has such a key."""
    return re.fullmatch(r".+\.pr-\d+", key) is not None


def current_fix_round(run: RunRecord) -> StoryRecord | None:
    """The unfinished fix round; None: there is none."""
    rounds = run.delivery.rounds
    story = run.stories.get(rounds[-1].story) if rounds else None
    return story if story is not None and not is_fix_round_over(story) else None


def is_fix_round_over(story: StoryRecord) -> bool:
    if story.skipped:
        return True
    return story.finished and ("done" in story.commits or not has_changes(story))


def has_changes(story: StoryRecord) -> bool:
    """Whether there is something to commit: an agent may disagree with every point."""
    ended = story.last_outcome
    return ended is None or ended.get("tree") != story.tree


def round_points(opened: PullRound | None) -> tuple[PromptPoint, ...]:
    return tuple(_point(one) for one in opened.points) if opened else ()


def round_logs(opened: PullRound | None) -> tuple[PromptPoint, ...]:
    return tuple(_point(one) for one in opened.logs) if opened else ()


def _point(one: object) -> PromptPoint:
    assert isinstance(one, dict)
    name, title, text = (str(one.get(part, "")) for part in ("name", "title", "text"))
    return PromptPoint(name, title, text, bool(one.get("decided")), str(one.get("since", "")))


# Past answers to delivery questions, by question code and key.


def last_decision(run: RunRecord, code: str, key: str) -> AnswerMeaning | None:
    """The meaning of the last answer to this question; None: it has no answer."""
    answers = [one for one in run.answers if one.get("code") == code and one.get("key") == key]
    return read_meaning(answers[-1].get("means", "")) if answers else None


def answered_at(run: RunRecord, code: str, key: str) -> float:
    """When this question was last answered; 0: never."""
    answers = [one for one in run.answers if one.get("code") == code and one.get("key") == key]
    return float(answers[-1].get("at", 0.0)) if answers else 0.0


def answer_count(run: RunRecord, code: str) -> str:
    """The number of answers to that question, as a mark: each answer allows one effect."""
    return str(sum(one.get("code") == code for one in run.answers))

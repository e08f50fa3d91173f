"""What is said in a delivery: to agents about what reviewers want, to reviewers about what became of it, in the
commit on the base branch. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from ...core.facts import Threads
from ...core.records import RunRecord
from ...github.messages import RUN, STEP
from ...github.pulls import RemoteCheck
from ...github.quoting import clean_text, one_line, outgoing
from ..lane import Lane
from .said import decided
from .threads import FIXED, Point, has_news, reply_key, reply_mark

MAX_POINT = 6000
MAX_HUNK = 2000
MAX_CONFLICT = 20_000
MAX_LOG = 6000
MAX_SAID = 10  # comments of a thread: the first, and the last ones
MAX_POINTS = 50  # told in one round; the others come in the next
MAX_ALL = 120_000  # letters of all of them: a journal's line holds no more
MAX_TRAILERS = 300


def told_points(points: Iterable[Point], run: RunRecord) -> list[dict[str, Any]]:
    """Of those that an agent has to see to: its own short name for each, which thread it is, and the words."""
    told: list[dict[str, Any]] = []
    room = MAX_ALL
    for point in [point for point in points if point.due is Threads.OPEN][:MAX_POINTS]:
        text = _text(point)
        room -= len(text)
        if room < 0 and told:
            break
        name = f"T{len(told) + 1}"
        told.append(
            {
                "name": name,
                "thread": point.thread,
                "heard": list(point.heard),
                "title": _title(point),
                "text": text,
                "since": point.commit or point.since,  # what was done already has not satisfied them
                "decided": not has_news(point) and decided(run, "disputed", reply_key(point)) == "insist",
            }
        )
    return told


def told_conflicts(texts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Of each file that the base has changed in the same places: with git's marks of both sides in it."""
    told: list[dict[str, Any]] = []
    for path, text in texts.items():
        shown = clean_text(text, MAX_CONFLICT, rendered=False) or "(no text on both sides: look at the file)"
        title = f"{one_line(path, 200)} is in conflict with the base branch:"
        told.append({"name": f"T{len(told) + 1}", "thread": path, "title": title, "text": shown})
    return told[:MAX_POINTS]


def _title(point: Point) -> str:
    place = one_line(point.path, 200) or "the whole of it"
    return f"About {place}" + (f", line {point.line}" if point.line else "") + ":"


def _text(point: Point) -> str:
    heard = point.said if len(point.said) <= MAX_SAID else (point.said[0], *point.said[1 - MAX_SAID :])
    parts = [f"{one_line(who, 60)} wrote:\n{clean_text(said, MAX_POINT)}" for who, said in heard]
    if point.hunk:
        parts.append(f"The lines it is about:\n{clean_text(point.hunk, MAX_HUNK, rendered=False)}")
    return "\n\n".join(parts)


def log_of(check: RemoteCheck, tail: str) -> dict[str, str]:
    text = _end_of(clean_text(tail, 2 * len(tail), rendered=False)) or "(nothing of its log could be read)"
    return {"title": f"The check {one_line(check.name, 100)}:", "text": text}


def _end_of(log: str) -> str:
    """What went wrong stands last."""
    return log if len(log) <= MAX_LOG else f"…\n{log[-MAX_LOG:].partition(chr(10))[2]}"


def reply_text(point: Point) -> str:
    answer = point.answer or {}
    why = outgoing(str(answer.get("why", "")))
    if answer.get("answer") == FIXED:
        said = f"Done in {point.commit[:12]}. {why}"
    else:
        said = f"Left as it is for now: {why}\n\nA person decides whether that holds."
    return f"{said}\n\n{reply_mark(point)}"


def squash_message(lane: Lane, run: RunRecord, trailers: list[tuple[str, str]]) -> tuple[str, str]:
    """One commit for all of them, with the trailers of each: what was done is found again by its key."""
    plan = lane.delivery
    assert plan is not None
    title = one_line(outgoing(plan.title), 150)
    subject = f"Epic {lane.epic}: {title}" if title else f"Epic {lane.epic}"
    number = f" (#{run.delivery.pull})" if run.delivery.pull else ""
    stories = [
        f"- {key}" for key, story in run.stories.items() if story.finished and not run.delivery.round_of(key)
    ]
    kept = list(dict.fromkeys(pair for pair in trailers if pair[0] in (STEP, RUN)))[-MAX_TRAILERS:]
    body = "\n".join(stories)
    return f"{subject}{number}", "\n\n".join(
        part for part in (body, "\n".join(f"{key}: {value}" for key, value in kept)) if part
    )

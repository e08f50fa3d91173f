"""Review threads: whose words count, what an agent said of them, what is still to be done about each. Pure."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple

from ...core.delivery import Data
from ...core.facts import Threads
from ...core.records import RunRecord
from ...github.approval import TRUSTED
from ...github.forge import COPILOT
from ...github.pulls import Actor, Comment, Pull, Review, ReviewState, Thread
from ...github.quoting import marker
from .said import decided

FIXED, DISAGREES = "fixed", "disagrees"
MARK = "bmad-autopilot"
MAX_HEARD = 20  # comments of a thread that are remembered: what is new stands last


class Point(NamedTuple):
    """One thing that a reviewer wants, and what is to be done about it."""

    thread: str  # its id; of a review without threads the review's
    path: str
    line: int | None
    hunk: str
    said: tuple[tuple[str, str], ...]  # who, and what, as it was written
    heard: tuple[str, ...]  # the marks of what was said
    due: Threads
    answer: Data | None = None
    is_thread: bool = True
    commit: str = ""  # that answers it
    since: str = ""  # the head it was written on; empty: nobody knows


def is_trusted(author: Actor, trusted: Iterable[str]) -> bool:
    """Copilot is a bot of that name; people are those who belong here, or are named in the settings."""
    if author.is_bot:
        return author.login == COPILOT or f"{author.login}[bot]" in trusted
    return author.association in TRUSTED or author.login in trusted


def reply_mark(point: Point) -> str:
    """Our reply to what was said so far: a further comment is answered anew, and so is a new decision."""
    return marker(f"reply:{reply_key(point)}")


def points_of(pull: Pull, run: RunRecord, trusted: Iterable[str], viewer: str) -> list[Point]:
    """`viewer`: who we are there. A comment is ours by its author and its mark: others can write the mark too."""
    known = tuple(trusted)
    threads = [thread for thread in pull.threads if not thread.is_resolved]
    found = [_of_thread(thread, run, known, viewer) for thread in threads]
    wishes = [_of_review(review, run, pull, viewer) for review in _wishes(pull, known)]
    return found + [point for point in wishes if point is not None]


def _is_commented(pull: Pull, point: Point, viewer: str) -> bool:
    ours = (one.body for one in pull.comments if one.author.login == viewer)
    return any(reply_mark(point) in body for body in ours)


def worst(points: Iterable[Point]) -> Threads:
    every = {point.due for point in points}
    order = (Threads.REPLY, Threads.RESOLVE, Threads.OPEN, Threads.DISPUTED, Threads.STRANGE)
    return next((due for due in order if due in every), Threads.NONE)


def _of_thread(thread: Thread, run: RunRecord, trusted: tuple[str, ...], viewer: str) -> Point:
    ours = [one for one in thread.comments if one.author.login == viewer and f"<!-- {MARK}:" in one.body]
    others = [one for one in thread.comments if one not in ours]
    heard = [one for one in others if is_trusted(one.author, trusted)]
    answer = run.delivery.answers.get(thread.id)
    said = tuple((one.author.login, one.body) for one in heard)
    marks = _marks(heard)
    place = (thread.id, thread.path, thread.line, thread.hunk)
    point = Point(*place, said, marks, Threads.STRANGE, answer, since=thread.commit)
    if not heard or not others or not is_trusted(others[0].author, trusted):
        return point
    if answer is None:
        return point._replace(due=Threads.OPEN)
    point = point._replace(commit=_commit(answer, run) if answer["answer"] == FIXED else "")
    if has_news(point):
        return point._replace(due=Threads.OPEN)
    is_replied = any(reply_mark(point) in one.body for one in ours)
    return point._replace(due=_answered(point, answer, run, is_replied))


def _answered(point: Point, answer: Data, run: RunRecord, is_replied: bool) -> Threads:
    if not (is_replied or run.delivery.is_done("reply", reply_key(point))):
        return Threads.REPLY
    if answer["answer"] == FIXED:
        return _resolved(point, run)
    word = decided(run, "disputed", reply_key(point))
    if word == "close-thread":
        return _resolved(point, run)
    return {"insist": Threads.OPEN, "leave-thread": Threads.STRANGE}.get(word, Threads.DISPUTED)


def _resolved(point: Point, run: RunRecord) -> Threads:
    """Open after all, though we have closed it: somebody wants it so, or the forge has not seen it yet."""
    return Threads.STRANGE if run.delivery.is_done("resolve", reply_key(point)) else Threads.RESOLVE


def _marks(said: Sequence[Comment | Review]) -> tuple[str, ...]:
    return tuple(mark_of(one.id, one.body) for one in said[-MAX_HEARD:])


def mark_of(id: str, body: str) -> str:
    """Of words as they stand: once they are changed, they are others."""
    return sha256(f"{id}\0{body}".encode("utf-8", "replace")).hexdigest()[:12]


def has_news(point: Point) -> bool:
    """Something stands there that the agent was not told. What was taken back since is nothing new."""
    return bool(set(point.heard) - set(_answered_to(point)))


def _answered_to(point: Point) -> Sequence[str]:
    return (point.answer or {}).get("heard") or ("",)


def reply_key(point: Point) -> str:
    return f"{point.thread}:{_answered_to(point)[-1]}:{(point.answer or {}).get('story', '')}"


def _commit(answer: Data, run: RunRecord) -> str:
    own = str(answer.get("commit", ""))
    story = run.stories.get(str(answer.get("story", "")))
    return own or (story.commits.get("done", "") if story else "")


def _wishes(pull: Pull, trusted: tuple[str, ...]) -> list[Review]:
    """Reviews that ask for changes in words alone, the last of each author."""
    last: dict[tuple[str, bool], Review] = {}
    for review in pull.reviews:
        if review.state in (ReviewState.APPROVED, ReviewState.CHANGES, ReviewState.DISMISSED):
            last[review.author.login, review.author.is_bot] = review
    asking = [one for one in last.values() if one.state is ReviewState.CHANGES and one.body.strip()]
    return [one for one in asking if is_trusted(one.author, trusted)]


def _of_review(review: Review, run: RunRecord, pull: Pull, viewer: str) -> Point | None:
    """Answered once, below the pull request: whether that is enough, its author says by another review. Where the
    agent does not agree, a person says first whether it is to be left at that."""
    said = ((review.author.login, review.body),)
    answer = run.delivery.answers.get(review.id)
    point = Point(review.id, "", None, "", said, _marks([review]), Threads.OPEN, answer, is_thread=False)
    point = point._replace(since=review.commit)
    if answer is None:
        return point
    point = point._replace(commit=_commit(answer, run) if answer["answer"] == FIXED else "")
    due = _answered(point, answer, run, _is_commented(pull, point, viewer))
    return None if due is Threads.RESOLVE else point._replace(due=due)  # there is nothing that could be closed

"""Review threads: which authors count, the agent's answer to each point, and what is still due."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, NamedTuple

from ...core.answers import AnswerMeaning
from ...core.errors import AutopilotError, FileError
from ...core.facts import ThreadsFact
from ...core.run_record import Data, RunRecord
from ...git.git import Git
from ...git.history import is_ancestor
from ...github.approval import TRUSTED
from ...github.forge import COPILOT, ForgeActor, Pull, PullComment, PullReview, ReviewState, ReviewThread
from ...github.untrusted_text import marker
from ...io.files import read_bytes
from ...workflows.contract import threads_path
from ..ports import AgentCall, AgentResult
from ..story_paths import move_aside
from .rounds import last_decision

FIXED, DISAGREES = "fixed", "disagrees"
MARK = "bmad-autopilot"
MAX_MARKS = 20  # remembered comments of a thread, the newest


class ReviewPoint(NamedTuple):
    """One point of a reviewer, and what is due on it."""

    thread: str  # thread id; for a review without threads the review id
    path: str
    line: int | None
    hunk: str
    comments: tuple[tuple[str, str], ...]  # author and body, unmodified
    comment_marks: tuple[str, ...]  # one mark per comment
    due: ThreadsFact
    answer: Data | None = None
    is_thread: bool = True
    commit: str = ""  # the commit that fixes it
    since: str = ""  # the head it was written on; empty: unknown


def is_trusted(author: ForgeActor, trusted: Iterable[str]) -> bool:
    """Copilot, repository members, and logins listed in the settings."""
    if author.is_bot:
        return author.login == COPILOT or f"{author.login}[bot]" in trusted
    return author.association in TRUSTED or author.login in trusted


def reply_mark(point: ReviewPoint) -> str:
    """Marks our reply to the comments so far; a further comment or a new decision gets a new reply."""
    return marker(f"reply:{reply_key(point)}")


def review_points(pull: Pull, run: RunRecord, trusted: Iterable[str], viewer: str) -> list[ReviewPoint]:
    """`viewer`: our login. A comment is ours by author and mark, because anyone can write the mark."""
    known = tuple(trusted)
    threads = [thread for thread in pull.threads if not thread.is_resolved]
    found = [_thread_point(thread, run, known, viewer) for thread in threads]
    requests = [_review_point(review, run, pull, viewer) for review in _change_requests(pull, known)]
    return found + [point for point in requests if point is not None]


def _has_reply_comment(pull: Pull, point: ReviewPoint, viewer: str) -> bool:
    ours = (one.body for one in pull.comments if one.author.login == viewer)
    return any(reply_mark(point) in body for body in ours)


def worst(points: Iterable[ReviewPoint]) -> ThreadsFact:
    every = {point.due for point in points}
    order = (ThreadsFact.REPLY, ThreadsFact.RESOLVE, ThreadsFact.OPEN, ThreadsFact.DISPUTED, ThreadsFact.UNTRUSTED)
    return next((due for due in order if due in every), ThreadsFact.NONE)


def _thread_point(thread: ReviewThread, run: RunRecord, trusted: tuple[str, ...], viewer: str) -> ReviewPoint:
    ours = [one for one in thread.comments if one.author.login == viewer and f"<!-- {MARK}:" in one.body]
    others = [one for one in thread.comments if one not in ours]
    trusted_comments = [one for one in others if is_trusted(one.author, trusted)]
    answer = run.delivery.answers.get(thread.id)
    said = tuple((one.author.login, one.body) for one in trusted_comments)
    marks = _marks(trusted_comments)
    location = (thread.id, thread.path, thread.line, thread.hunk)
    point = ReviewPoint(*location, said, marks, ThreadsFact.UNTRUSTED, answer, since=thread.commit)
    if not trusted_comments or not others or not is_trusted(others[0].author, trusted):
        return point
    if answer is None:
        return point._replace(due=ThreadsFact.OPEN)
    point = point._replace(commit=_commit(answer, run) if answer["answer"] == FIXED else "")
    if has_new_comments(point):
        return point._replace(due=ThreadsFact.OPEN)
    is_replied = any(reply_mark(point) in one.body for one in ours)
    return point._replace(due=_answered(point, answer, run, is_replied))


def _answered(point: ReviewPoint, answer: Data, run: RunRecord, is_replied: bool) -> ThreadsFact:
    if not (is_replied or run.delivery.is_done("reply", reply_key(point))):
        return ThreadsFact.REPLY
    if answer["answer"] == FIXED:
        return _resolve_state(point, run)
    word = last_decision(run, "disputed", reply_key(point))
    if word is AnswerMeaning.CLOSE_THREAD:
        return _resolve_state(point, run)
    if word is AnswerMeaning.INSIST:
        return ThreadsFact.OPEN
    return ThreadsFact.UNTRUSTED if word is AnswerMeaning.LEAVE_THREAD else ThreadsFact.DISPUTED


def _resolve_state(point: ReviewPoint, run: RunRecord) -> ThreadsFact:
    """A thread we resolved that is still open: someone reopened it, or the forge lags."""
    return ThreadsFact.UNTRUSTED if run.delivery.is_done("resolve", reply_key(point)) else ThreadsFact.RESOLVE


def _marks(comments: Sequence[PullComment | PullReview]) -> tuple[str, ...]:
    return tuple(comment_mark(one.id, one.body) for one in comments[-MAX_MARKS:])


def comment_mark(id: str, body: str) -> str:
    """Identifies a comment with its text: an edited comment gets another mark."""
    return sha256(f"{id}\0{body}".encode("utf-8", "replace")).hexdigest()[:12]


def has_new_comments(point: ReviewPoint) -> bool:
    """There are comments the agent has not seen. Deleted ones do not count."""
    return bool(set(point.comment_marks) - set(_answered_marks(point)))


def _answered_marks(point: ReviewPoint) -> Sequence[str]:
    return (point.answer or {}).get("heard") or ("",)


def reply_key(point: ReviewPoint) -> str:
    return f"{point.thread}:{_answered_marks(point)[-1]}:{(point.answer or {}).get('story', '')}"


def _commit(answer: Data, run: RunRecord) -> str:
    own = str(answer.get("commit", ""))
    story = run.stories.get(str(answer.get("story", "")))
    return own or (story.commits.get("done", "") if story else "")


def _change_requests(pull: Pull, trusted: tuple[str, ...]) -> list[PullReview]:
    """The last review of each trusted author, if it requests changes in its body."""
    last: dict[tuple[str, bool], PullReview] = {}
    for review in pull.reviews:
        if review.state in (ReviewState.APPROVED, ReviewState.CHANGES, ReviewState.DISMISSED):
            last[review.author.login, review.author.is_bot] = review
    asking = [one for one in last.values() if one.state is ReviewState.CHANGES and one.body.strip()]
    return [one for one in asking if is_trusted(one.author, trusted)]


def _review_point(review: PullReview, run: RunRecord, pull: Pull, viewer: str) -> ReviewPoint | None:
    """Answered once, by a comment on the pull request; its author reacts with another review. If the agent
    disagrees, a person decides first."""
    said = ((review.author.login, review.body),)
    answer = run.delivery.answers.get(review.id)
    point = ReviewPoint(review.id, "", None, "", said, _marks([review]), ThreadsFact.OPEN, answer, is_thread=False)
    point = point._replace(since=review.commit)
    if answer is None:
        return point
    point = point._replace(commit=_commit(answer, run) if answer["answer"] == FIXED else "")
    due = _answered(point, answer, run, _has_reply_comment(pull, point, viewer))
    return None if due is ThreadsFact.RESOLVE else point._replace(due=due)  # a review has no thread to resolve


# The agent's answers to the review points: a file it writes, read and validated here.

MAX_FILE = 512 * 1024
MAX_WHY = 2000
PREVIOUS_ANSWERS = "threads-before.json"
NO_COMMIT = "`commit` is none of this branch since the point was made; leave it out where your change settles it"

FindCommit = Callable[[str, str], str]
"""A commit by its whole name, if it is on this branch and was made after the second; else empty."""


def set_aside_answers(folder: str, key: str, attempt: str) -> None:
    """Move old answers away, so that a file found after the call is the call's own."""
    move_aside(threads_path(folder, key), os.path.join(attempt, PREVIOUS_ANSWERS))


def collect_answers(got: AgentResult, order: AgentCall, folder: str, git: Git) -> AgentResult:
    if not (order.points or order.must_change):
        return got
    try:
        raw: bytes | None = read_bytes(threads_path(folder, order.story), limit=MAX_FILE, follow=False)
    except FileError:
        raw = None
    return check_answers(
        got, order, raw, lambda commit, since: _find_commit(git, commit, since, got.rewritten_commits)
    )


def check_answers(got: AgentResult, order: AgentCall, raw: bytes | None, find_commit: FindCommit) -> AgentResult:
    """Pure. `raw`: the file's content; None: there is no file."""
    changed = got.tree.tree != order.tree
    said, missing = _read(raw, order, changed, find_commit) if order.points else ({}, ())
    if order.must_change and not changed:
        missing = (*missing, "Nothing has changed, and the checks still fail.")
    return got._replace(replies=said, missing=(*got.missing, *missing))


def _read(
    raw: bytes | None, order: AgentCall, changed: bool, find_commit: FindCommit
) -> tuple[dict[str, Any], tuple[str, ...]]:
    name = os.path.basename(threads_path("", order.story))
    if raw is None:
        return {}, (f"There is no {name} that says what became of each point.",)
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return {}, (f"{name} is no JSON.",)
    answers = data.get("threads") if isinstance(data, dict) else None
    if not isinstance(answers, dict):
        return {}, (f'{name} has no object called "threads".',)
    said: dict[str, Any] = {}
    missing = []
    for point in order.points:
        answer, problem = _answer(answers.get(point.name), point.since, changed, find_commit)
        if problem:
            missing.append(f"{name}, {point.name}: {problem}")
        else:
            said[point.name] = answer
    return said, tuple(missing)


def _answer(found: object, since: str, changed: bool, find_commit: FindCommit) -> tuple[dict[str, str], str]:
    """The answer to one point, or the problem with it."""
    if not isinstance(found, dict):
        return {}, "nothing is said of it"
    word, why, commit = (found.get(name) for name in ("answer", "why", "commit"))
    if word not in (FIXED, DISAGREES):
        return {}, f"`answer` is {FIXED} or {DISAGREES}"
    if not isinstance(why, str) or not why.strip():
        return {}, "`why` is missing"
    answer = {"answer": str(word), "why": why.strip()[:MAX_WHY]}
    if word == DISAGREES:
        return answer, ""
    if commit:
        sha = find_commit(str(commit), since) if _is_sha(str(commit)) else ""
        return ({**answer, "commit": sha}, "") if sha else ({}, NO_COMMIT)
    return (answer, "") if changed else ({}, "it says fixed, and nothing has changed")


def _is_sha(text: str) -> bool:
    return 7 <= len(text) <= 64 and all(letter in "0123456789abcdef" for letter in text)


def _find_commit(git: Git, commit: str, since: str, remade: Mapping[str, str]) -> str:
    with suppress(AutopilotError):
        sha = git.ask("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}", codes=(0, 1)).text
        sha = remade.get(sha, sha)
        is_later = bool(since and sha) and sha != since and is_ancestor(git, since, sha)
        return sha if is_later and is_ancestor(git, sha, "HEAD") else ""
    return ""

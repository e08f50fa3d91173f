"""Pull requests, threads and records, built for the tests of a delivery."""

from typing import Any, cast

from bmad_autopilot.core.records import RunRecord, StoryRecord
from bmad_autopilot.engine.delivery.threads import mark_of
from bmad_autopilot.github.forge import COPILOT
from bmad_autopilot.github.pulls import Actor, Comment, Pull, PullState, Review, ReviewState, Thread

BRANCH, BASE = "feature/epic-1", "main"
VIEWER = Actor("robot-of-ours", association="COLLABORATOR")
OWNER = Actor("olga", association="OWNER")
STRANGER = Actor("stranger", association="CONTRIBUTOR")
BOT = Actor(COPILOT, is_bot=True)


def comment(author: Actor, body: str = "Rename it.", at: float = 0.0) -> Comment:
    return Comment(f"c-{author.login}-{at}", author, body, at)


def thread(*comments: Comment, id: str = "T", **more: Any) -> Thread:
    whole: dict[str, Any] = {"path": "src/it.py", "line": 3, "hunk": "@@ -1 +1 @@\n-a\n+b", **more}
    return Thread(id, comments=tuple(comments), **whole)


def review(author: Actor, state: ReviewState, body: str = "", *, commit: str = "h1", at: float = 0.0) -> Review:
    return Review(f"r-{author.login}-{at}", author, state, commit, at, body, int(at) + 1)


def pull(**more: Any) -> Pull:
    whole: dict[str, Any] = {
        "number": 7,
        "id": "P7",
        "url": "https://example.invalid/pull/7",
        "state": PullState.OPEN,
        "title": "Epic 1",
        "head_ref": BRANCH,
        "head": "h1",
        "base_ref": BASE,
        "base": "b1",
        "author": VIEWER,
        "created": 0.0,
        "pushed": 0.0,
        "labels": ("epic",),
        "merge_state": "CLEAN",
        **more,
    }
    return Pull(**whole)


def answered(run: RunRecord, code: str, key: str, means: str, at: float = 0.0) -> None:
    """What a person said to a question."""
    run.answers.append({"code": code, "key": key, "means": means, "at": at})


def said(
    run: RunRecord,
    thread: str,
    word: str,
    *heard: Comment,
    commit: str = "h1",
    story: str = "e.pr-1",
    named: str = "",
    since: str = "",
) -> None:
    """What an agent said of a thread where it was told these comments, and the commit of that round; `named`: the
    one that the agent named."""
    marks = [mark_of(one.id, one.body) for one in heard or (comment(OWNER),)]
    answer = {"answer": word, "why": "So it is.", "story": story, "heard": marks, "since": since}
    run.delivery.answers[thread] = {**answer, **({"commit": named} if named else {})}
    run.stories[story] = StoryRecord(story)
    if commit:
        run.stories[story].commits["done"] = commit


def did(run: RunRecord, do: str, key: str = "", at: float = 0.0, **data: Any) -> None:
    run.delivery.done[f"{do}:{key}"] = cast("dict[str, Any]", {"do": do, "key": key, "at": at, **data})

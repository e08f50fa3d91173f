"""Builders for pull requests, threads, reviews and delivery records."""

from typing import Any, cast

from bmad_autopilot.core.run_record import RunRecord, StoryRecord
from bmad_autopilot.engine.delivery.threads import comment_mark
from bmad_autopilot.github.forge import (
    COPILOT,
    ForgeActor,
    Pull,
    PullComment,
    PullReview,
    PullState,
    ReviewState,
    ReviewThread,
)

BRANCH, BASE = "feature/epic-1", "main"
VIEWER = ForgeActor("robot-of-ours", association="COLLABORATOR")
OWNER = ForgeActor("olga", association="OWNER")
STRANGER = ForgeActor("stranger", association="CONTRIBUTOR")
BOT = ForgeActor(COPILOT, is_bot=True)


def comment(author: ForgeActor, body: str = "Rename it.", at: float = 0.0) -> PullComment:
    return PullComment(f"c-{author.login}-{at}", author, body, at)


def thread(*comments: PullComment, id: str = "T", **more: Any) -> ReviewThread:
    whole: dict[str, Any] = {"path": "src/it.py", "line": 3, "hunk": "@@ -1 +1 @@\n-a\n+b", **more}
    return ReviewThread(id, comments=tuple(comments), **whole)


def review(
    author: ForgeActor, state: ReviewState, body: str = "", *, commit: str = "h1", at: float = 0.0
) -> PullReview:
    return PullReview(f"r-{author.login}-{at}", author, state, commit, at, body, int(at) + 1)


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


def add_answer(run: RunRecord, code: str, key: str, means: str, at: float = 0.0) -> None:
    """Record a person's answer to a question."""
    run.answers.append({"code": code, "key": key, "means": means, "at": at})


def add_thread_answer(
    run: RunRecord,
    thread: str,
    word: str,
    *heard: PullComment,
    commit: str = "h1",
    story: str = "e.pr-1",
    named: str = "",
    since: str = "",
) -> None:
    """Record an agent's answer to a thread with these comments, and the commit of that fix round; `named`: the
    commit that the agent named."""
    marks = [comment_mark(one.id, one.body) for one in heard or (comment(OWNER),)]
    answer = {"answer": word, "why": "So it is.", "story": story, "heard": marks, "since": since}
    run.delivery.answers[thread] = {**answer, **({"commit": named} if named else {})}
    run.stories[story] = StoryRecord(story)
    if commit:
        run.stories[story].commits["done"] = commit


def add_done_effect(run: RunRecord, do: str, key: str = "", at: float = 0.0, **data: Any) -> None:
    run.delivery.completed_effects[f"{do}:{key}"] = cast(
        "dict[str, Any]", {"do": do, "key": key, "at": at, **data}
    )

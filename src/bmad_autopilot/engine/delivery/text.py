"""Texts of a delivery: pull request body, prompts of fix rounds, thread replies, squash message, and the reason
of a wait. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ...core.answers import AnswerMeaning
from ...core.facts import ThreadsFact
from ...core.run_record import CheckRecord, RunRecord
from ...core.transitions import PullWait
from ...git.history import RUN_TRAILER, STEP_TRAILER
from ...github.approval import MOST_FILES
from ...github.forge import RemoteCheck
from ...github.untrusted_text import clean_line, clean_text, outgoing_text
from ..lane import Lane
from .rounds import last_decision
from .snapshot import DeliverySnapshot
from .threads import FIXED, ReviewPoint, has_new_comments, reply_key, reply_mark

MAX_CRITERIA = 12
MAX_LINE = 300
MAX_DECISIONS = 20
POLICY = ("policy", "standing")


class StorySummary(NamedTuple):
    """A story as listed in the pull request."""

    key: str
    title: str
    criteria: tuple[str, ...]
    is_done: bool


def pull_title(lane: Lane, limit: int = 180) -> str:
    title = clean_line(outgoing_text(lane.delivery.title), limit) if lane.delivery else ""
    return f"Epic {lane.epic}: {title}" if title else f"Epic {lane.epic}"


def pull_body(lane: Lane, run: RunRecord, stories: Iterable[StorySummary]) -> str:
    parts = ["## Stories", *(_story(one, run) for one in stories)]
    parts += ["## What was checked", _evidence(lane, run)]
    decisions = [one for one in run.answers if one.get("answer")]
    if decisions:
        parts += ["## What people decided", "\n".join(_decision(one) for one in decisions[:MAX_DECISIONS])]
    parts += ["## What it took", _cost(run)]
    return "\n\n".join(parts)


def _story(story: StorySummary, run: RunRecord) -> str:
    record = run.stories.get(story.key)
    title = clean_line(outgoing_text(story.title), MAX_LINE)
    lines = [f"### {story.key}" + (f": {title}" if title else "")]
    shown = [f"- {clean_line(outgoing_text(text), MAX_LINE)}" for text in story.criteria[:MAX_CRITERIA]]
    if len(story.criteria) > MAX_CRITERIA:
        shown.append(f"- … {len(story.criteria) - MAX_CRITERIA} more")
    sha = record.commits.get("done", "") if record else ""
    rounds = f", {record.round} review rounds" if record and record.round > 1 else ""
    state = f"Done{f' in {sha[:12]}' if sha else ''}{rounds}." if story.is_done else "**Not part of this.**"
    return "\n\n".join(part for part in (lines[0], "\n".join(shown), state) if part)


def _evidence(lane: Lane, run: RunRecord) -> str:
    last: CheckRecord | None = next((check for check in reversed(run.checks.values()) if check.passed), None)
    if last is None or not last.ran:
        return "The project names no checks of its own."
    return "\n".join(
        f"- `{clean_line(str(command), MAX_LINE)}`: passed in {seconds:.0f} s" for command, _, seconds in last.ran
    )


def _decision(one: object) -> str:
    assert isinstance(one, dict)
    by = " (by the settings)" if one.get("by") in POLICY else ""
    asked = clean_line(outgoing_text(str(one.get("text", ""))), MAX_LINE)
    return f"- {asked}\n  → {clean_line(outgoing_text(clean_text(str(one['answer']), MAX_LINE)), MAX_LINE)}{by}"


def _cost(run: RunRecord) -> str:
    calls = sum(len(step.calls) for story in run.stories.values() for step in story.steps)
    money = f", ${run.dollars:.2f}" if run.dollars else ""
    return f"{calls} agent calls, {run.seconds / 60:.0f} minutes of agents' time{money}."


# Prompt items for agents, replies to reviewers, and the squash commit's message.

MAX_POINT = 6000
MAX_HUNK = 2000
MAX_CONFLICT = 20_000
MAX_LOG = 6000
MAX_COMMENTS = 10  # of a thread: the first and the last ones
MAX_POINTS = 50  # per round; the rest follows in the next
MAX_ALL = 120_000  # characters in all: the limit of a journal line
MAX_TRAILERS = 300


def prompt_points(points: Iterable[ReviewPoint], run: RunRecord) -> list[dict[str, Any]]:
    """The open points as prompt items: a short name, the thread and the text of each."""
    items: list[dict[str, Any]] = []
    room = MAX_ALL
    for point in [point for point in points if point.due is ThreadsFact.OPEN][:MAX_POINTS]:
        text = _text(point)
        room -= len(text)
        if room < 0 and items:
            break
        name = f"T{len(items) + 1}"
        items.append(
            {
                "name": name,
                "thread": point.thread,
                "heard": list(point.comment_marks),
                "title": _title(point),
                "text": text,
                "since": point.commit or point.since,  # earlier fixes were not accepted
                "decided": not has_new_comments(point)
                and last_decision(run, "disputed", reply_key(point)) is AnswerMeaning.INSIST,
            }
        )
    return items


def prompt_conflicts(texts: Mapping[str, str]) -> list[dict[str, Any]]:
    """The conflicting files as prompt items, with git's conflict markers."""
    items: list[dict[str, Any]] = []
    for path, text in texts.items():
        shown = clean_text(text, MAX_CONFLICT, rendered=False) or "(no text on both sides: look at the file)"
        title = f"{clean_line(path, 200)} is in conflict with the base branch:"
        items.append({"name": f"T{len(items) + 1}", "thread": path, "title": title, "text": shown})
    return items[:MAX_POINTS]


def _title(point: ReviewPoint) -> str:
    location = clean_line(point.path, 200) or "the whole of it"
    return f"About {location}" + (f", line {point.line}" if point.line else "") + ":"


def _text(point: ReviewPoint) -> str:
    comments = (
        point.comments
        if len(point.comments) <= MAX_COMMENTS
        else (point.comments[0], *point.comments[1 - MAX_COMMENTS :])
    )
    parts = [f"{clean_line(who, 60)} wrote:\n{clean_text(body, MAX_POINT)}" for who, body in comments]
    if point.hunk:
        parts.append(f"The lines it is about:\n{clean_text(point.hunk, MAX_HUNK, rendered=False)}")
    return "\n\n".join(parts)


def prompt_log(check: RemoteCheck, tail: str) -> dict[str, str]:
    text = _tail(clean_text(tail, 2 * len(tail), rendered=False)) or "(nothing of its log could be read)"
    return {"title": f"The check {clean_line(check.name, 100)}:", "text": text}


def _tail(log: str) -> str:
    """The end of the log, where the error usually is."""
    return log if len(log) <= MAX_LOG else f"…\n{log[-MAX_LOG:].partition(chr(10))[2]}"


def reply_text(point: ReviewPoint) -> str:
    answer = point.answer or {}
    why = outgoing_text(str(answer.get("why", "")))
    if answer.get("answer") == FIXED:
        body = f"Done in {point.commit[:12]}. {why}"
    else:
        body = f"Left as it is for now: {why}\n\nA person decides whether that holds."
    return f"{body}\n\n{reply_mark(point)}"


def squash_message(lane: Lane, run: RunRecord, trailers: list[tuple[str, str]]) -> tuple[str, str]:
    """One commit for all, with the trailers of each, so that effects are found again by their key."""
    subject = pull_title(lane, 150)
    number = f" (#{run.delivery.pull})" if run.delivery.pull else ""
    stories = [
        f"- {key}" for key, story in run.stories.items() if story.finished and not run.delivery.round_of(key)
    ]
    kept = list(dict.fromkeys(pair for pair in trailers if pair[0] in (STEP_TRAILER, RUN_TRAILER)))[-MAX_TRAILERS:]
    body = "\n".join(stories)
    return f"{subject}{number}", "\n\n".join(
        part for part in (body, "\n".join(f"{key}: {value}" for key, value in kept)) if part
    )


# What a pull request waits for, as text. The journal, `bmad pr status`, `bmad status` and the log show it.

WAIT_REASONS = {
    PullWait.CHECKS: "its checks",
    PullWait.REVIEW: "Copilot's review",
    PullWait.THREADS: "review threads that a person has to close",
    PullWait.PERSON: "a person to merge it",
    PullWait.APPROVAL: "an approval",
    PullWait.QUEUE: "the merge queue",
    PullWait.BRANCH_RULES: "what a rule of the branch demands",
    PullWait.TURN: "its turn to be merged",
}


def describe_wait(wait: PullWait, found: DeliverySnapshot) -> str:
    """What a pull request waits for, as text."""
    if wait is PullWait.PERSON and found.pull is not None:
        if found.is_stacked:
            return f"the pull request of {found.target}, which it stands on"
        if found.pull.is_draft:
            return "a person to take it out of draft"
    if wait is PullWait.APPROVAL and found.objections:
        names = ", ".join(clean_line(one.login, 60) for one in found.objections[:3])
        return f"{names} to take back what they ask for, or somebody to dismiss that review"
    if wait is PullWait.APPROVAL and len(found.files) >= MOST_FILES:
        return "a person's approval: it changes more files than a workflow can look at"
    if wait is PullWait.BRANCH_RULES and found.pull is not None:
        return f"what the rules of {found.target} demand: GitHub calls it {clean_line(found.pull.merge_state, 40)}"
    return WAIT_REASONS[wait]

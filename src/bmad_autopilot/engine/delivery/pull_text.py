"""What a pull request says about an epic: its stories and what they had to meet, what showed that they do, what
people decided, what it cost. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from ...core.records import Check, RunRecord
from ...github.quoting import clean_text, one_line, outgoing
from ..lane import Lane

MAX_CRITERIA = 12
MAX_LINE = 300
MAX_DECISIONS = 20
POLICY = ("policy", "standing")


class Told(NamedTuple):
    """A story, as the pull request tells it."""

    key: str
    title: str
    criteria: tuple[str, ...]
    is_done: bool


def pull_title(lane: Lane) -> str:
    plan = lane.delivery
    title = one_line(outgoing(plan.title), 180) if plan else ""
    return f"Epic {lane.epic}: {title}" if title else f"Epic {lane.epic}"


def pull_body(lane: Lane, run: RunRecord, stories: Iterable[Told]) -> str:
    parts = ["## Stories", *(_story(one, run) for one in stories)]
    parts += ["## What was checked", _evidence(lane, run)]
    decisions = [one for one in run.answers if one.get("answer")]
    if decisions:
        parts += ["## What people decided", "\n".join(_decision(one) for one in decisions[:MAX_DECISIONS])]
    parts += ["## What it took", _cost(run)]
    return "\n\n".join(parts)


def _story(story: Told, run: RunRecord) -> str:
    record = run.stories.get(story.key)
    title = one_line(outgoing(story.title), MAX_LINE)
    lines = [f"### {story.key}" + (f": {title}" if title else "")]
    shown = [f"- {one_line(outgoing(text), MAX_LINE)}" for text in story.criteria[:MAX_CRITERIA]]
    if len(story.criteria) > MAX_CRITERIA:
        shown.append(f"- … {len(story.criteria) - MAX_CRITERIA} more")
    sha = record.commits.get("done", "") if record else ""
    rounds = f", {record.round} review rounds" if record and record.round > 1 else ""
    state = f"Done{f' in {sha[:12]}' if sha else ''}{rounds}." if story.is_done else "**Not part of this.**"
    return "\n\n".join(part for part in (lines[0], "\n".join(shown), state) if part)


def _evidence(lane: Lane, run: RunRecord) -> str:
    last: Check | None = next((check for check in reversed(run.checks.values()) if check.passed), None)
    if last is None or not last.ran:
        return "The project names no checks of its own."
    return "\n".join(
        f"- `{one_line(str(command), MAX_LINE)}`: passed in {seconds:.0f} s" for command, _, seconds in last.ran
    )


def _decision(one: object) -> str:
    assert isinstance(one, dict)
    by = " (by the settings)" if one.get("by") in POLICY else ""
    asked = one_line(outgoing(str(one.get("text", ""))), MAX_LINE)
    return f"- {asked}\n  → {one_line(outgoing(clean_text(str(one['answer']), MAX_LINE)), MAX_LINE)}{by}"


def _cost(run: RunRecord) -> str:
    calls = sum(len(step.calls) for story in run.stories.values() for step in story.steps)
    money = f", ${run.dollars:.2f}" if run.dollars else ""
    return f"{calls} agent calls, {run.seconds / 60:.0f} minutes of agents' time{money}."

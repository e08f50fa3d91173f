"""Builds a run's timeline, decisions and cost from its journal. Unknown entries are skipped. Pure."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..core.errors import FileError
from ..core.json_types import Count, Moment
from ..io.files import read_bytes
from ..io.json_files import as_amount, as_count, as_text
from .journal import JOURNAL_FILE, MAX_JOURNAL, JournalEntry, parse_line


@dataclass
class AttemptLine:
    at: Moment
    attempt: Count
    agent: str  # or its role, in journals that do not name the agent
    finding: str = ""  # empty: the result was not collected
    outcome: str = ""
    message: str = ""
    seconds: float = 0.0
    dollars: float | None = None
    tokens: Count = 0


@dataclass
class QuestionLine:
    at: Moment
    id: str
    text: str
    cause: str = ""
    answer: str | None = None
    by: str = ""


@dataclass
class CommitLine:
    at: Moment
    sha: str
    subject: str


class ForkOrigin(NamedTuple):
    """The checkpoint of another run that it began at."""

    run: str
    checkpoint: str
    step: Count
    branch: str
    saved: str


@dataclass
class StepTimeline:
    number: int
    name: str
    story: str = ""
    round: int = 0
    began: float = 0.0
    ended: float = 0.0
    status: str = "open"  # open, done, sent back, given up
    attempts: list[AttemptLine] = field(default_factory=list)
    questions: list[QuestionLine] = field(default_factory=list)
    commits: list[CommitLine] = field(default_factory=list)
    checkpoint: str = ""
    output: str = ""
    taken_over: bool = False  # copied from the run this one was forked from

    @property
    def dollars(self) -> float:
        return sum(one.dollars or 0.0 for one in self.attempts)

    @property
    def seconds(self) -> float:
        """Time spent by agents; without agent calls, from start to end of the step."""
        called = sum(one.seconds for one in self.attempts)
        return called or (max(0.0, self.ended - self.began) if self.ended and self.began else 0.0)


@dataclass
class Timeline:
    steps: list[StepTimeline] = field(default_factory=list)
    outside_steps: StepTimeline = field(default_factory=lambda: StepTimeline(0, ""))  # events outside any step
    resumed: int = 0
    ended: str = ""
    forked: ForkOrigin | None = None
    is_unresumed_fork: bool = False  # forked and not resumed yet

    @property
    def all_steps(self) -> list[StepTimeline]:
        return [
            *([self.outside_steps] if self.outside_steps.commits or self.outside_steps.questions else []),
            *self.steps,
        ]


def build_timeline(entries: Iterable[JournalEntry]) -> Timeline:
    whole = Timeline()
    for entry in entries:
        try:
            _apply(whole, entry.kind, entry.data, entry.at)
        except (LookupError, TypeError, ValueError):
            continue
    return whole


def _apply(whole: Timeline, kind: str, data: Mapping[str, Any], at: float) -> None:
    if kind in ("step", "saved"):
        _step(whole, kind, data, at)
    elif kind == "call":
        agent = as_text(data.get("agent")) or as_text(data.get("role"))
        if not any(step.number == data["number"] for step in whole.steps):  # the step's first entry was lost
            _step(whole, "step", data, at)
        _find(whole, data).attempts.append(AttemptLine(at, int(data["attempt"]), agent))
    elif kind == "ended":
        _ended(_find(whole, data), data)
    elif kind in ("accepted", "round", "checkpoint"):
        _done(whole, kind, data, at)
    elif kind == "asked":
        asked = QuestionLine(
            at, as_text(data.get("question")), as_text(data.get("text")), as_text(data.get("cause"))
        )
        _find(whole, data).questions.append(asked)
    elif kind == "answered":
        _answered(whole, data)
    elif kind == "commit":
        made = CommitLine(at, as_text(data.get("sha")), as_text(data.get("subject")))
        _find(whole, {}).commits.append(made)
    elif kind == "resumed":
        whole.resumed, whole.is_unresumed_fork = whole.resumed + (not whole.is_unresumed_fork), False
    elif kind == "forked":
        _forked(whole, data)
    elif kind == "finished":
        whole.ended = as_text(data.get("status"))


def _forked(whole: Timeline, data: Mapping[str, Any]) -> None:
    for step in whole.steps:
        step.taken_over = True
    whole.resumed, whole.is_unresumed_fork = 0, True
    whole.forked = ForkOrigin(
        as_text(data.get("from")),
        as_text(data.get("checkpoint")),
        as_count(data.get("step")),
        as_text(data.get("branch")),
        as_text(data.get("saved")),
    )


def _find(whole: Timeline, data: Mapping[str, Any]) -> StepTimeline:
    """The step named by an entry, else the last one."""
    number = data.get("number")
    named = next((step for step in reversed(whole.steps) if number and step.number == number), None)
    return named or (whole.steps[-1] if whole.steps else whole.outside_steps)


def _step(whole: Timeline, kind: str, data: Mapping[str, Any], at: float) -> None:
    number = as_count(data.get("number") if kind == "step" else data.get("step"))
    name = as_text(data.get("step") if kind == "step" else data.get("name")) or f"step {number}"
    before = whole.steps[-1] if whole.steps else None
    if before is not None and kind == "saved" and before.number == number and before.status == "open":
        return  # saved again
    if before is not None and before.status == "open" and kind == "step" and before.number != number:
        before.status = "given up"
    whole.steps.append(StepTimeline(number, name, as_text(data.get("story")), as_count(data.get("round")), at))


def _ended(step: StepTimeline, data: Mapping[str, Any]) -> None:
    last = next((one for one in reversed(step.attempts) if one.attempt == data.get("attempt")), None)
    if last is None:
        return
    last.finding, last.outcome = as_text(data.get("finding")), as_text(data.get("outcome"))
    last.message = as_text(data.get("summary")) or as_text(data.get("message"))
    last.seconds = as_amount(data.get("seconds")) or 0.0
    last.dollars = as_amount(data.get("dollars"))
    last.tokens = as_count(data.get("tokens"))


def _done(whole: Timeline, kind: str, data: Mapping[str, Any], at: float) -> None:
    if kind == "checkpoint":
        data = {**data, "number": as_count(data.get("step"))}
        if not any(step.number == data["number"] for step in whole.steps):
            whole.steps.append(StepTimeline(data["number"], as_text(data.get("name")) or f"step {data['number']}"))
    elif kind == "accepted" and data.get("number") is None:
        return  # the board row was already done: not a step of this run
    step = _find(whole, data)
    step.status, step.ended = "sent back" if kind == "round" else "done", at
    made = data.get("checkpoint")
    if isinstance(made, dict):
        step.checkpoint = as_text(made.get("id"))
        own = [
            one for one in made.get("artefacts") or () if isinstance(one, dict) and one.get("step") == step.number
        ]
        step.output = as_text(own[-1].get("path")) if own else ""


def _answered(whole: Timeline, data: Mapping[str, Any]) -> None:
    asked = [one for step in (whole.outside_steps, *whole.steps) for one in step.questions]
    found = next((one for one in reversed(asked) if one.id == data.get("question")), None)
    if found is not None:
        found.answer, found.by = as_text(data.get("answer")), as_text(data.get("by"))


# Decisions recorded in the journal: the rule that applied, and the facts that differed from their defaults.


class JournalDecision(NamedTuple):
    at: float
    step: int  # 0: before the first step
    name: str  # step name
    story: str
    rule: str
    facts: Mapping[str, Any]
    did: str  # kind of the resulting journal entry


def read_decisions(entries: Iterable[JournalEntry]) -> list[JournalDecision]:
    found = []
    step, name, story = 0, "", ""
    for entry in entries:
        data = entry.data
        if entry.kind == "step":
            step, name = as_count(data.get("number")), as_text(data.get("step"))
        story = as_text(data.get("story")) or story
        made = data.get("decided")
        if isinstance(made, dict) and isinstance(made.get("facts", {}), dict):
            rule = as_text(made.get("rule"))
            found.append(JournalDecision(entry.at, step, name, story, rule, made.get("facts", {}), entry.kind))
    return found


def decisions_of_step(found: list[JournalDecision], wanted: str | None) -> list[JournalDecision]:
    """Decisions of one step, by number or name (the last step of that name); of the last step if None."""
    if wanted is None:
        return [one for one in found if one.step == found[-1].step] if found else []
    if wanted.isdecimal():
        return [one for one in found if one.step == int(wanted[:9])]
    last = next((one.step for one in reversed(found) if one.name == wanted), None)
    return [one for one in found if one.step == last and last is not None]


# Cost of a run, parsing only the journal lines that matter. A forked run does not pay for the entries it copied.

_ENDED = b'"kind":"ended"'
_FORKED = b'"kind":"forked"'


class RunCost(NamedTuple):
    dollars: float = 0.0
    unpriced: int = 0  # calls without a reported price
    tokens: int = 0
    calls: int = 0


def run_cost(run: str) -> RunCost:
    try:
        raw = read_bytes(os.path.join(run, JOURNAL_FILE), limit=MAX_JOURNAL)
    except FileError:
        return RunCost()
    whole = RunCost()
    for line in _own_lines(raw.split(b"\n"), is_fork=_FORKED in raw) if _ENDED in raw else ():
        entry = parse_line(line) if _ENDED in line else None
        if entry is not None and entry.kind == "ended":
            dollars = as_amount(entry.data.get("dollars"))
            whole = RunCost(
                whole.dollars + (dollars or 0.0),
                whole.unpriced + (dollars is None),
                whole.tokens + as_count(entry.data.get("tokens")),
                whole.calls + 1,
            )
    return whole


def _own_lines(lines: list[bytes], *, is_fork: bool) -> list[bytes]:
    """The lines after the last `forked` entry."""
    begun = [n for n, line in enumerate(lines) if _FORKED in line] if is_fork else []
    for number in reversed(begun):
        entry = parse_line(lines[number])
        if entry is not None and entry.kind == "forked":
            return lines[number:]
    return lines

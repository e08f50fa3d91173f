"""Builds a run's timeline, decisions and cost from its journal. Unknown events are skipped. Pure."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..core.errors import FileError
from ..core.json_types import Count, Moment
from ..io.files import read_bytes
from ..io.json_files import as_amount, as_count
from .journal import JOURNAL_FILE, MAX_JOURNAL, parse_line

if TYPE_CHECKING:
    from ..core.events import (
        CallEnded,
        CallStarted,
        CheckpointData,
        CommitMade,
        Event,
        ProtocolCheckpoint,
        ProtocolCheckpointData,
        ProtocolSaved,
        QuestionAnswered,
        QuestionAsked,
        RoundStarted,
        RunFinished,
        RunForked,
        RunResumed,
        StepAccepted,
        StepStarted,
    )


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


def build_timeline(events: "Iterable[Event]") -> Timeline:
    whole = Timeline()
    for event in events:
        handle = _HANDLERS.get(event.kind) if event.is_known else None
        if handle is not None:
            handle(whole, event.data, event.at)
    return whole


def _step(whole: Timeline, data: "StepStarted", at: float) -> None:
    before = whole.steps[-1] if whole.steps else None
    if before is not None and before.status == "open" and before.number != data.number:
        before.status = "given up"
    whole.steps.append(StepTimeline(data.number, data.step, data.story, data.round, at))


def _saved(whole: Timeline, data: "ProtocolSaved", at: float) -> None:
    before = whole.steps[-1] if whole.steps else None
    if before is None or before.number != data.step or before.status != "open":  # otherwise it is saved again
        whole.steps.append(StepTimeline(data.step, data.name or f"step {data.step}", began=at))


def _call(whole: Timeline, data: "CallStarted", at: float) -> None:
    if not any(step.number == data.number for step in whole.steps):  # the step's first event was lost
        before = whole.steps[-1] if whole.steps else None
        if before is not None and before.status == "open":
            before.status = "given up"
        whole.steps.append(StepTimeline(data.number, data.step, data.story, began=at))
    _find(whole, data.number).attempts.append(AttemptLine(at, data.attempt, data.agent or data.role))


def _ended(whole: Timeline, data: "CallEnded", at: float) -> None:
    attempts = _find(whole, data.number).attempts
    last = next((one for one in reversed(attempts) if one.attempt == data.attempt), None)
    if last is None:
        return
    last.finding, last.outcome = data.finding.value, data.outcome
    last.message = data.summary or data.message
    last.seconds = as_amount(data.seconds) or 0.0
    last.dollars = as_amount(data.dollars)
    last.tokens = as_count(data.tokens)


def _accepted(whole: Timeline, data: "StepAccepted", at: float) -> None:
    if data.number is not None:  # otherwise the board row was already done: not a step of this run
        _end_step(_find(whole, data.number), "done", data.checkpoint, at)


def _round(whole: Timeline, data: "RoundStarted", at: float) -> None:
    _end_step(_find(whole), "sent back", data.checkpoint, at)


def _checkpoint(whole: Timeline, data: "ProtocolCheckpoint", at: float) -> None:
    if not any(step.number == data.step for step in whole.steps):
        whole.steps.append(StepTimeline(data.step, data.name or f"step {data.step}"))
    _end_step(_find(whole, data.step), "done", data.checkpoint, at)


def _end_step(
    step: StepTimeline, status: str, made: "CheckpointData | ProtocolCheckpointData | None", at: float
) -> None:
    step.status, step.ended = status, at
    if made is not None:
        own = [one for one in made.artefacts if one.step == step.number]
        step.checkpoint, step.output = made.id, own[-1].path if own else ""


def _asked(whole: Timeline, data: "QuestionAsked", at: float) -> None:
    _find(whole, data.number).questions.append(QuestionLine(at, data.question, data.text, data.cause))


def _answered(whole: Timeline, data: "QuestionAnswered", at: float) -> None:
    asked = [one for step in (whole.outside_steps, *whole.steps) for one in step.questions]
    found = next((one for one in reversed(asked) if one.id == data.question), None)
    if found is not None:
        found.answer, found.by = data.answer, data.by


def _commit(whole: Timeline, data: "CommitMade", at: float) -> None:
    _find(whole).commits.append(CommitLine(at, data.sha, data.subject))


def _resumed(whole: Timeline, data: "RunResumed", at: float) -> None:
    whole.resumed, whole.is_unresumed_fork = whole.resumed + (not whole.is_unresumed_fork), False


def _forked(whole: Timeline, data: "RunForked", at: float) -> None:
    for step in whole.steps:
        step.taken_over = True
    whole.resumed, whole.is_unresumed_fork = 0, True
    whole.forked = ForkOrigin(data.origin, data.checkpoint, data.step, data.branch, data.saved)


def _finished(whole: Timeline, data: "RunFinished", at: float) -> None:
    whole.ended = data.status


def _find(whole: Timeline, number: int | None = None) -> StepTimeline:
    """The step of that number, else the last one."""
    named = next((step for step in reversed(whole.steps) if number and step.number == number), None)
    return named or (whole.steps[-1] if whole.steps else whole.outside_steps)


# By kind: `bmad runs` imports this module and loads no event types.
_HANDLERS: Mapping[str, Callable[[Timeline, Any, float], None]] = {
    "step": _step,
    "saved": _saved,
    "call": _call,
    "ended": _ended,
    "accepted": _accepted,
    "round": _round,
    "checkpoint": _checkpoint,
    "asked": _asked,
    "answered": _answered,
    "commit": _commit,
    "resumed": _resumed,
    "forked": _forked,
    "finished": _finished,
}


# Decisions recorded in the journal: the rule that applied, and the facts that differed from their defaults.


class JournalDecision(NamedTuple):
    at: float
    step: int  # 0: before the first step
    name: str  # step name
    story: str
    rule: str
    facts: Mapping[str, Any]
    did: str  # kind of the resulting journal entry


def read_decisions(events: "Iterable[Event]") -> list[JournalDecision]:
    found = []
    step, name, story = 0, "", ""
    for event in events:
        if event.kind == "step" and event.is_known:
            begun = cast("StepStarted", event.data)
            step, name = begun.number, begun.step
        story = event.story or story
        made = event.data.decided
        if made is not None:
            found.append(JournalDecision(event.at, step, name, story, made.rule, made.facts, event.kind))
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

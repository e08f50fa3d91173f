"""What a run did, step by step, from its journal. Entries that nobody understands are passed over. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .journal_lines import Entry
from .json_files import figure_of, number_of, text_of


@dataclass
class AttemptLine:
    at: float
    attempt: int
    agent: str  # or its role, in journals that do not name it
    finding: str = ""  # what it came to; empty: nobody has taken it in
    outcome: str = ""
    message: str = ""
    seconds: float = 0.0
    dollars: float | None = None
    tokens: int = 0


@dataclass
class QuestionLine:
    at: float
    id: str
    text: str
    cause: str = ""
    answer: str | None = None
    by: str = ""


@dataclass
class CommitLine:
    at: float
    sha: str
    subject: str


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
    taken_over: bool = False  # from the run whose checkpoint this one began at

    @property
    def dollars(self) -> float:
        return sum(one.dollars or 0.0 for one in self.attempts)

    @property
    def seconds(self) -> float:
        """Of its agents; where nobody was called, from its beginning to its end."""
        called = sum(one.seconds for one in self.attempts)
        return called or (max(0.0, self.ended - self.began) if self.ended and self.began else 0.0)


@dataclass
class Timeline:
    steps: list[StepTimeline] = field(default_factory=list)
    before: StepTimeline = field(default_factory=lambda: StepTimeline(0, ""))  # what belongs to no step
    resumed: int = 0
    ended: str = ""
    forked: Mapping[str, Any] = field(default_factory=dict)  # run, checkpoint, step and branch it began at
    begins: bool = False  # and nobody has gone on with it yet

    @property
    def all_steps(self) -> list[StepTimeline]:
        return [*([self.before] if self.before.commits or self.before.questions else []), *self.steps]


def timeline(entries: Iterable[Entry]) -> Timeline:
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
        agent = text_of(data.get("agent")) or text_of(data.get("role"))
        if not any(step.number == data["number"] for step in whole.steps):  # its beginning was lost
            _step(whole, "step", data, at)
        _find(whole, data).attempts.append(AttemptLine(at, int(data["attempt"]), agent))
    elif kind == "ended":
        _ended(_find(whole, data), data)
    elif kind in ("accepted", "round", "checkpoint"):
        _done(whole, kind, data, at)
    elif kind == "asked":
        asked = QuestionLine(
            at, text_of(data.get("question")), text_of(data.get("text")), text_of(data.get("cause"))
        )
        _find(whole, data).questions.append(asked)
    elif kind == "answered":
        _answered(whole, data)
    elif kind == "commit":
        made = CommitLine(at, text_of(data.get("sha")), text_of(data.get("subject")))
        _find(whole, {}).commits.append(made)
    elif kind == "resumed":
        whole.resumed, whole.begins = whole.resumed + (not whole.begins), False
    elif kind == "forked":
        _forked(whole, data)
    elif kind == "finished":
        whole.ended = text_of(data.get("status"))


def _forked(whole: Timeline, data: Mapping[str, Any]) -> None:
    for step in whole.steps:
        step.taken_over = True
    whole.resumed, whole.begins = 0, True
    whole.forked = {
        "run": text_of(data.get("from")),
        "checkpoint": text_of(data.get("checkpoint")),
        "step": number_of(data.get("step")),
        "branch": text_of(data.get("branch")),
        "saved": text_of(data.get("saved")),
    }


def _find(whole: Timeline, data: Mapping[str, Any]) -> StepTimeline:
    """The step an entry names, else the last one."""
    number = data.get("number")
    named = next((step for step in reversed(whole.steps) if number and step.number == number), None)
    return named or (whole.steps[-1] if whole.steps else whole.before)


def _step(whole: Timeline, kind: str, data: Mapping[str, Any], at: float) -> None:
    number = number_of(data.get("number") if kind == "step" else data.get("step"))
    name = text_of(data.get("step") if kind == "step" else data.get("name")) or f"step {number}"
    before = whole.steps[-1] if whole.steps else None
    if before is not None and kind == "saved" and before.number == number and before.status == "open":
        return  # saved once more
    if before is not None and before.status == "open" and kind == "step" and before.number != number:
        before.status = "given up"
    whole.steps.append(StepTimeline(number, name, text_of(data.get("story")), number_of(data.get("round")), at))


def _ended(step: StepTimeline, data: Mapping[str, Any]) -> None:
    last = next((one for one in reversed(step.attempts) if one.attempt == data.get("attempt")), None)
    if last is None:
        return
    last.finding, last.outcome = text_of(data.get("finding")), text_of(data.get("outcome"))
    last.message = text_of(data.get("summary")) or text_of(data.get("message"))
    last.seconds = figure_of(data.get("seconds")) or 0.0
    last.dollars = figure_of(data.get("dollars"))
    last.tokens = number_of(data.get("tokens"))


def _done(whole: Timeline, kind: str, data: Mapping[str, Any], at: float) -> None:
    if kind == "checkpoint":
        data = {**data, "number": number_of(data.get("step"))}
        if not any(step.number == data["number"] for step in whole.steps):
            whole.steps.append(StepTimeline(data["number"], text_of(data.get("name")) or f"step {data['number']}"))
    elif kind == "accepted" and data.get("number") is None:
        return  # its row said so when we came: no step of this run
    step = _find(whole, data)
    step.status, step.ended = "sent back" if kind == "round" else "done", at
    made = data.get("checkpoint")
    if isinstance(made, dict):
        step.checkpoint = text_of(made.get("id"))
        own = [
            one for one in made.get("artefacts") or () if isinstance(one, dict) and one.get("step") == step.number
        ]
        step.output = text_of(own[-1].get("path")) if own else ""


def _answered(whole: Timeline, data: Mapping[str, Any]) -> None:
    asked = [one for step in (whole.before, *whole.steps) for one in step.questions]
    found = next((one for one in reversed(asked) if one.id == data.get("question")), None)
    if found is not None:
        found.answer, found.by = text_of(data.get("answer")), text_of(data.get("by"))

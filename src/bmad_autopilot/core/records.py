"""Where a run stands, folded from its journal: the journal is the truth, this is how it reads.

Each kind of entry has one function below. An entry that nobody understands says nothing, so that an older version
can read a newer run."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Data = Mapping[str, Any]


@dataclass
class CallRecord:
    """One agent call of a step."""

    attempt: int
    cause: str = ""
    ended: Data | None = None  # what it came to, once it was taken in

    @property
    def finding(self) -> str:
        return str(self.ended.get("finding", "")) if self.ended else ""


@dataclass
class StepRecord:
    """One step of one story in one round; `number` counts through the run."""

    number: int
    step: str
    round: int
    cause: str = ""  # "checks": a mend, beside the workflow's own steps
    calls: list[CallRecord] = field(default_factory=list)
    accepted: bool = False
    closed: bool = False  # given up, or overtaken by a person's edit
    again: bool = False  # the next call is due: somebody has answered
    forgiven: int = 0  # calls that count no more towards the tries

    @property
    def last(self) -> CallRecord | None:
        return self.calls[-1] if self.calls else None

    @property
    def open(self) -> bool:
        return not (self.accepted or self.closed)


@dataclass
class StoryRecord:
    key: str
    baseline: str | None = None  # the commit it began at
    tree: str | None = None  # the whole work tree then
    code: str | None = None  # the same without what we keep books in
    began_as: str = ""  # what the row said when this run took it up
    expected: str = ""  # what the row should say, by us or by a person
    came_from: str = ""  # what it said before we began to set that
    claim: str = ""  # what it said after the last call, until we have set it
    round: int = 1
    counted_from: int = 1  # the round from which rounds are counted: an answer may allow more
    entered_by: str = ""  # where its steps begin: "round": at the mend; else where the board says
    sent_back_by: str = ""  # "review" or "checks"
    fixes: int = 0
    summary: str = ""  # what the next call is told: a review's points, or what the checks printed
    steps: list[StepRecord] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)  # steps accepted in this round, in order
    commits: dict[str, str] = field(default_factory=dict)
    finished: bool = False
    skipped: bool = False
    gone: bool = False

    @property
    def current(self) -> StepRecord | None:
        return self.steps[-1] if self.steps and self.steps[-1].open else None

    @property
    def is_called(self) -> bool:
        """There is a call that nobody has taken in."""
        last = self.current.last if self.current else None
        return last is not None and last.ended is None

    @property
    def last_ended(self) -> Data | None:
        calls = (call.ended for step in reversed(self.steps) for call in reversed(step.calls))
        return next((ended for ended in calls if ended is not None), None)


@dataclass
class Check:
    """The project's checks on one tree."""

    code: str
    passed: bool
    environment: bool = False
    signature: str = ""
    excerpt: str = ""
    ran: list[list[Any]] = field(default_factory=list)  # command, exit code, seconds
    fixed_since: bool = False  # a mend was made, and the tree is the same


@dataclass
class RunRecord:
    head: Data = field(default_factory=dict)  # the first entry: what was asked for
    stories: dict[str, StoryRecord] = field(default_factory=dict)
    checks: dict[str, Check] = field(default_factory=dict)  # by code tree
    steps: int = 0
    steps_done: int = 0  # since somebody took it up
    question: Data | None = None  # the one that is open
    answers: list[Data] = field(default_factory=list)
    turn: int = 0  # of questions: one asked anew after an answer or a restart is another
    allowance: float = 0.0  # added to the caps by an answer: as often as the whole cap
    dollars: float = 0.0
    unpriced: int = 0  # calls whose client said no price
    tokens: int = 0
    seconds: float = 0.0  # of agents
    began: float = 0.0
    hours_from: float = 0.0  # from when the hours of its cap are counted: waiting for a person is none of them
    idle_since: float = 0.0
    ended: str = ""  # how the run ended
    left_out: str = ""  # what somebody said about the stories left out: close, leave
    retrospective: Data | None = None
    commits: dict[str, str] = field(default_factory=dict)  # not of a story: the epic's
    resting: float | None = None  # until when we said we would wait
    epic_closed: bool = False

    def apply(self, kind: str, data: Data, at: float) -> None:
        known = _KINDS.get(kind)
        if known is None:
            return
        try:
            known(self, data, at)
        except (LookupError, TypeError, ValueError):
            return  # of a newer version, or torn: what is left of the journal counts

    def story(self, key: str) -> StoryRecord:
        return self.stories.setdefault(key, StoryRecord(key))

    def find_step(self, data: Data) -> tuple[StoryRecord, StepRecord] | None:
        number = data.get("number")
        story = self.stories.get(str(data.get("story", "")))
        steps = story.steps if story else ()
        found = next((step for step in reversed(steps) if step.number == number), None)
        return (story, found) if story and found else None


def fold(entries: Iterable[tuple[str, Data, float]]) -> RunRecord:
    run = RunRecord()
    for kind, data, at in entries:
        run.apply(kind, data, at)
    return run


def _run(run: RunRecord, data: Data, at: float) -> None:
    if not run.head:
        run.head, run.began, run.hours_from = data, at, at


def _resumed(run: RunRecord, data: Data, at: float) -> None:
    run.ended = ""
    run.steps_done = 0
    run.hours_from += max(0.0, at - run.idle_since) if run.idle_since else 0.0
    run.idle_since = 0.0


def _story(run: RunRecord, data: Data, at: float) -> None:
    story = run.story(str(data["story"]))
    if story.baseline is None and story.tree is None:
        story.baseline, story.tree, story.code = data.get("baseline"), data.get("tree"), data.get("code")
    _begins(story, data.get("status"))
    story.began_as = story.began_as or story.expected
    story.gone = False


def _step(run: RunRecord, data: Data, at: float) -> None:
    story = run.story(str(data["story"]))
    if story.current:
        story.current.closed = True
    step = StepRecord(int(data["number"]), str(data["step"]), story.round, str(data.get("cause", "")))
    story.steps.append(step)
    run.steps = max(run.steps, step.number)
    story.fixes += step.cause == "checks"


def _call(run: RunRecord, data: Data, at: float) -> None:
    found = run.find_step(data)
    if found is None:
        return
    step = found[1]
    if step.last is None or step.last.attempt < int(data["attempt"]):
        step.calls.append(CallRecord(int(data["attempt"]), str(data.get("cause", ""))))
    step.again = False


def _ended(run: RunRecord, data: Data, at: float) -> None:
    found = run.find_step(data)
    last = found[1].last if found else None
    if found is None or last is None or last.ended is not None:
        return
    last.ended = dict(data)
    found[0].claim = str(data.get("row", ""))
    dollars = data.get("dollars")
    run.dollars += dollars or 0.0
    run.unpriced += dollars is None
    run.tokens += int(data.get("tokens", 0))
    run.seconds += float(data.get("seconds", 0.0))
    if found[1].step == "retrospective" and last.finding != "refused":  # that passes, and it is held then
        run.retrospective = data


def _accepted(run: RunRecord, data: Data, at: float) -> None:
    if data.get("number") is None and data.get("finished"):  # its row said so when we came: no step of this run
        run.stories[str(data["story"])].finished = True
    found = run.find_step(data)
    if found is None:
        return
    story, step = found
    step.accepted = True
    run.steps_done += 1
    if step.cause == "checks":
        for check in run.checks.values():
            check.fixed_since = True
    else:
        story.passed.append(step.step)
    story.finished = story.finished or bool(data.get("finished"))
    _stands(story, data)


def _stands(story: StoryRecord, data: Data) -> None:
    """The row says what it should, whoever wrote it."""
    story.came_from = story.expected = str(data.get("row") or story.expected)
    story.claim = ""


def _row(run: RunRecord, data: Data, at: float) -> None:
    story = run.stories.get(str(data["key"]))
    if story is not None:
        story.came_from, story.expected, story.claim = str(data["before"]), str(data["after"]), ""


def _row_set(run: RunRecord, data: Data, at: float) -> None:
    story = run.stories.get(str(data["key"]))
    if story is not None:
        _stands(story, {})


def _edited(run: RunRecord, data: Data, at: float) -> None:
    """A person moved the row: what we were about to do on this story is overtaken."""
    story = run.story(str(data["story"]))
    _begins(story, data["status"])


def _begins(story: StoryRecord, status: object) -> None:
    """For the first time; or again, where its row has left the board and is back, or was moved."""
    _stands(story, {"row": status})
    story.passed, story.entered_by = [], ""
    story.finished = story.skipped = False
    for label in ("done", "skipped"):
        story.commits.pop(label, None)
    if story.current:
        story.current.closed = True


def _restarted(run: RunRecord, data: Data, at: float) -> None:
    """As if this run had never taken it up."""
    run.stories.pop(str(data["story"]), None)
    run.epic_closed = False
    run.commits.pop("epic", None)
    run.turn += 1
    if run.question is not None and run.question.get("story") == data["story"]:
        run.question = None


def _gone(run: RunRecord, data: Data, at: float) -> None:
    run.story(str(data["story"])).gone = True


def _round(run: RunRecord, data: Data, at: float) -> None:
    story = run.story(str(data["story"]))
    if story.current:
        story.current.accepted = True
        run.steps_done += 1
    story.round = int(data["round"])
    story.summary = str(data.get("summary", ""))
    story.sent_back_by = str(data.get("why", ""))
    if data.get("row"):  # else it was not set yet: what an agent has claimed is still to be corrected
        _stands(story, data)
    story.passed, story.entered_by = [], "round"
    story.fixes = 0


def _check(run: RunRecord, data: Data, at: float) -> None:
    known = {name: data[name] for name in Check.__dataclass_fields__ if name in data}
    check = Check(**known)
    run.checks[check.code] = check


def _commit(run: RunRecord, data: Data, at: float) -> None:
    story = run.stories.get(str(data.get("story", "")))
    commits = story.commits if story else run.commits
    commits[str(data["label"])] = str(data["sha"])


def _asked(run: RunRecord, data: Data, at: float) -> None:
    run.question = dict(data)


# A person may have mended what no change to the code would: what has failed is run again, and not told again.
_MENDED = ("recheck", "more-fixes", "hand-over")


def _answered(run: RunRecord, data: Data, at: float) -> None:
    asked = run.question or {}
    run.question = None
    run.answers.append({**asked, **data})
    run.turn += 1
    means = str(data.get("means", ""))
    story = run.stories.get(str(asked.get("story", "")))
    if means in ("close", "leave"):
        run.left_out = means
    elif means == "more":
        run.allowance += 1.0
        run.hours_from = at
    elif story is not None:
        _answered_story(story, means)
    if means in _MENDED:
        run.checks = {code: check for code, check in run.checks.items() if check.passed}


def _answered_story(story: StoryRecord, means: str) -> None:
    step = story.steps[-1] if story.steps else None
    if means in ("skip", "hand-over") and step and step.open:
        step.closed = True
    if means == "skip":
        story.skipped = True
    elif means == "drop" and step:
        step.closed = True
    elif means == "hand-over":
        story.passed = []
    elif means == "more-rounds":
        story.counted_from = story.round + 1
    elif means == "more-fixes":
        story.fixes, story.counted_from = 0, story.round + 1
    elif means == "again" and step:
        _asked_more(step)
    elif means == "otherwise" and step and step.last and step.last.ended:
        step.last.ended = {**step.last.ended, **(step.last.ended.get("otherwise") or {})}


def _asked_more(step: StepRecord) -> None:
    """What a call asked besides is asked before the next one is paid."""
    ended = step.last.ended if step.last else None
    more = list(ended.get("more", ())) if ended else []
    if step.last and ended and more:
        step.last.ended = {**ended, "question": more[0], "more": more[1:]}
    else:
        step.again = True
        step.forgiven = len(step.calls)


def _finished(run: RunRecord, data: Data, at: float) -> None:
    run.ended = str(data.get("status", ""))


def _resting(run: RunRecord, data: Data, at: float) -> None:
    run.resting = data.get("until")


def _idle(run: RunRecord, data: Data, at: float) -> None:
    run.idle_since = at


def _epic(run: RunRecord, data: Data, at: float) -> None:
    run.epic_closed = run.epic_closed or data.get("after") == "done"


_KINDS: dict[str, Callable[[RunRecord, Data, float], None]] = {
    "run": _run,
    "resumed": _resumed,
    "story": _story,
    "step": _step,
    "call": _call,
    "ended": _ended,
    "accepted": _accepted,
    "row": _row,
    "row-set": _row_set,
    "epic": _epic,
    "resting": _resting,
    "waiting": _idle,
    "left": _idle,
    "edited": _edited,
    "gone": _gone,
    "restarted": _restarted,
    "round": _round,
    "check": _check,
    "commit": _commit,
    "asked": _asked,
    "answered": _answered,
    "finished": _finished,
}

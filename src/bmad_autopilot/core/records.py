"""Where a run stands: the run, its stories, their steps and calls. folding.py makes them from its journal."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .delivery import DeliveryRecord

Data = Mapping[str, Any]


@dataclass
class CallRecord:
    """One agent call of a step."""

    attempt: int
    cause: str = ""
    ended: Data | None = None  # what it came to, once it was taken in
    handed_over: bool = False  # after it the story was in a person's hands
    agent: str = ""  # who was called

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
    extended: int = 0  # how often a person gave it as much time again

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
    repeat: str = ""  # of a flow: the step that somebody wants done once more

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
    head_before: str = ""  # HEAD when they began
    head: str = ""  # HEAD once they had run
    wrote: list[list[str]] = field(default_factory=list)  # command, and a tracked file that it has changed
    put_back: bool = False  # those files are as they were before
    fixed_since: bool = False  # a mend was made, and the tree is the same

    @property
    def is_disturbed(self) -> bool:
        """Tracked files or HEAD are not as they were: a check, or what it runs, may have changed them."""
        return (bool(self.wrote) and not self.put_back) or self.moved_head

    @property
    def moved_head(self) -> bool:
        return bool(self.head_before and self.head) and self.head_before != self.head


@dataclass
class RunRecord:
    head: Data = field(default_factory=dict)  # the first entry: what was asked for
    stories: dict[str, StoryRecord] = field(default_factory=dict)
    checks: dict[str, Check] = field(default_factory=dict)  # by code tree
    trees: list[str] = field(default_factory=list)  # the work trees that were checked since the last thing we did
    steps: int = 0
    steps_done: int = 0  # since somebody took it up
    question: Data | None = None  # the one that is open
    answers: list[Data] = field(default_factory=list)
    turn: int = 0  # of questions: one asked anew after an answer or a restart is another
    allowance: float = 0.0  # added to the caps by an answer: as often as the whole cap
    dollars: float = 0.0
    unpriced: int = 0  # calls whose client said no price
    taken_over: int = 0  # calls that another run made, at one of whose checkpoints this one began
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
    variables: dict[str, Any] = field(default_factory=dict)  # what its steps have left for those after them
    checkpoints: list[Data] = field(default_factory=list)
    cleared: set[str] = field(default_factory=set)  # human checkpoints that somebody let pass, as `stage:story`
    implementing: str = ""  # of a flow: the step whose tasks are due, or under way
    implemented: list[Data] = field(default_factory=list)  # of a flow: steps whose tasks are done
    recorded: set[str] = field(default_factory=set)  # of a flow: what its state file has, `step:4`, `q3`
    settings: str = ""  # the digest of the settings it goes by, where somebody was asked; "": of its beginning
    keeps_settings: bool = False  # those of its beginning, though they have changed since
    known_head: str | None = None  # HEAD after the last call, check or commit of ours; later ones are a user's
    last_check: Check | None = None  # until a person has answered about it
    delivery: DeliveryRecord = field(default_factory=DeliveryRecord)

    def story(self, key: str) -> StoryRecord:
        return self.stories.setdefault(key, StoryRecord(key))

    def find_step(self, data: Data) -> tuple[StoryRecord, StepRecord] | None:
        number = data.get("number")
        story = self.stories.get(str(data.get("story", "")))
        if story is None:
            return None
        found = next((step for step in reversed(story.steps) if step.number == number), None)
        return (story, found) if found else None

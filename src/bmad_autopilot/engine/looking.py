"""One look at a lane, and what every look begins with: what people said, how the last call stands, what rests."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..board.sprint import Row as BoardRow
from ..core.errors import AutopilotError
from ..core.facts import Call, Facts, Question, Rest
from ..core.records import CallRecord, Data, RunRecord, StepRecord, StoryRecord
from ..workflows.pipelines import Step
from .doors import Advance, Asked, CallId, Doors, Tree
from .lane import Lane
from .position import Position
from .trying import pause_until

if TYPE_CHECKING:
    from .delivery.seeing import Seen
    from .delivery.threads import Point
    from .flows.sight import FlowLook

RUNNING, NEW = "running", "new"
MAX_CHOICES = 2  # of the settings, for one cause at one step
BY_POLICY = "policy"


class DeliveryLook(NamedTuple):
    """What was seen of a delivery."""

    seen: "Seen"
    points: "list[Point]"  # what reviewers want that is not closed


class Look(NamedTuple):
    """One look at a lane."""

    facts: Facts
    rows: Mapping[str, BoardRow] = {}
    story: StoryRecord | None = None
    row: BoardRow | None = None  # the story's
    epic: BoardRow | None = None
    at: Position = Position(None, None)
    wanted: str = ""
    tree: Tree | None = None
    until: float | None = None
    why: str = ""  # of ground: what is wrong with it
    stage: str = ""  # which of the human checkpoints it stands at
    asked: Asked | None = None  # what an agent of another tool wants to know
    problem: AutopilotError | None = None  # that ends the command
    subject: str = ""  # whom a question is about, where it is no story: the epic that is delivered
    delivery: DeliveryLook | None = None
    flow: "FlowLook | None" = None

    @property
    def call(self) -> CallId | None:
        """The last call of the step in hand."""
        record = self.at.record
        return call_id(record, record.last) if record and record.last else None


def call_id(step: StepRecord, call: CallRecord) -> CallId:
    return CallId(step.number, step.step, call.attempt)


def told(doors: Doors, run: RunRecord) -> Facts:
    """What people have said: now, or in advance."""
    question = _question(doors, run)
    is_open = question is Question.OPEN
    return Facts(
        stop=doors.stopping(),
        pause=doors.pausing(),
        question=question,
        slot=doors.has_slot(),
        advance=is_open and in_advance(doors, run) is not None,
        settings=doors.settings() in ("", run.settings or run.head.get("settings", "")),
    )


def in_advance(doors: Doors, run: RunRecord) -> Advance | None:
    """The answer that the settings give to the open question. What they choose for a cause is chosen a few times
    for one step, and then left to a person: a retry that does not help helps no more the tenth time."""
    asked = run.question or {}
    found = doors.advance(str(asked.get("question", "")))
    if found is None or not found.is_choice:
        return found
    same = [one for one in run.answers if _is_same(one, asked) and one.get("by") == BY_POLICY]
    return found if len(same) < MAX_CHOICES else None


def _is_same(one: Data, asked: Data) -> bool:
    return all(one.get(name) == asked.get(name) for name in ("code", "cause", "story", "step", "number"))


def _question(doors: Doors, run: RunRecord) -> Question:
    if run.question is None or not doors.is_asked(str(run.question["question"])):
        return Question.NONE
    return Question.OPEN if doors.answer(str(run.question["question"])) is None else Question.ANSWERED


def call_of(doors: Doors, record: StepRecord | None) -> Call:
    """The last call of a step: how it stands, or what it came to."""
    last = record.last if record else None
    if record is None or last is None:
        return Call.NONE
    if last.ended is not None:
        known = last.finding in tuple(Call)  # a newer version may have found something else
        return Call.NONE if record.again else Call(last.finding) if known else Call.FAILED
    state = doors.call_state(call_id(record, last))
    if state == NEW:
        return Call.NONE  # meant, and never started
    return Call.RUNNING if state == RUNNING else Call.ENDED


def rest_of(doors: Doors, step: Step, record: StepRecord | None) -> tuple[Rest, float | None]:
    until = doors.caller(step).until
    if until > doors.now():
        return Rest.LIMIT, until
    pause = pause_until(record)
    return (Rest.PAUSE, pause) if pause > doors.now() else (Rest.NONE, None)


def has_budget(doors: Doors, lane: Lane, run: RunRecord) -> bool:
    left = dollars_left(lane, run)
    if left is not None and left <= 0:
        return False
    return lane.max_hours is None or doors.now() - run.hours_from < lane.max_hours * 3600


def dollars_left(lane: Lane, run: RunRecord) -> float | None:
    """Of the run's cap; None: there is none."""
    return None if lane.max_cost is None else lane.max_cost * (1.0 + run.allowance) - run.dollars

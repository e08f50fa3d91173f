"""The observation of a lane, and the parts that all observers share: requests and answers of people, the status
of the last call, pending back-offs, a story's position in its workflow."""

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Protocol

from ..agents.adapter import Outcome
from ..agents.rate_limits import RETRY_POLICIES, retry_delay
from ..board.sprint_status import Row
from ..core.errors import AutopilotError, FileError
from ..core.facts import BackoffFact, CallFact, Facts, QuestionFact
from ..core.lane_scope import LaneScope
from ..core.next_action import choose_action
from ..core.run_record import CallRecord, Data, RunRecord, StepRecord, StoryRecord
from ..core.statuses import DONE, IN_PROGRESS, PARKED, UNKNOWN, RowKind
from ..core.transitions import Rule
from ..workflows.workflow import Step, Workflow, review_round_steps, steps_left
from .lane import Lane
from .ports import CallId, Ports, PresetAnswer, UnansweredQuestion, WorktreeSnapshot

# What a performer needs of its loop.


class Loop(Protocol):
    ports: Ports
    lane: Lane
    run: RunRecord
    awaited_question: str  # the question that this process has waited for

    def note(self, kind: str, /, **data: Any) -> None: ...


class InapplicableRule(AutopilotError):
    """A rule was decided whose action this kind of observation has nothing for: the facts contradict it."""

    def __init__(self, rule: Rule, observation: "Observation") -> None:
        super().__init__(
            f"{rule.name}: {rule.action} does not apply to {type(observation).__name__}", hint="this is a defect"
        )


# Retries and back-off of a step, computed from the run's record.

EXTRA_TRIES = 1  # a call that ended well without its required output is retried once, with the objections
MAX_CALLS = 40  # of one step, for all causes together


def has_tries_left(step: StepRecord | None) -> bool:
    """Each cause is counted separately; waiting for a rate limit is never exhausted."""
    counted = _counted(step) if step else []
    if not counted:
        return True
    last = counted[-1]
    return len(counted) < MAX_CALLS and _count_same_cause(counted, last) <= _tries(last)


def pause_until(step: StepRecord | None) -> float:
    last = step.last_call if step else None
    return float(last.outcome.get("until") or 0.0) if last and last.outcome else 0.0


def backoff_until(step: StepRecord, outcome: Outcome, now: float, random: float) -> float:
    """When to retry after a transient fault; 0: at once."""
    if outcome not in RETRY_POLICIES:
        return 0.0
    before = sum(_outcome(call) == outcome for call in _counted(step))
    seconds = retry_delay(outcome, before + 1, random)
    return now + seconds if seconds else 0.0


def _counted(step: StepRecord) -> list[CallRecord]:
    return [call for call in step.calls[step.uncounted_calls :] if call.outcome is not None]


def _count_same_cause(calls: list[CallRecord], last: CallRecord) -> int:
    """How many calls ended like the last one: without the required output, or with the same outcome."""
    return sum((call.finding, _outcome(call)) == (last.finding, _outcome(last)) for call in calls)


def _outcome(call: CallRecord) -> str:
    return str(call.outcome.get("outcome", "")) if call.outcome else ""


def _tries(call: CallRecord) -> int:
    outcome = _outcome(call)
    if call.finding == "refused" and outcome in (Outcome.LIMIT, Outcome.CANCELLED):
        return MAX_CALLS
    if call.finding == "lacking" or outcome not in tuple(Outcome):
        return EXTRA_TRIES
    known = RETRY_POLICIES.get(Outcome(outcome))
    return known.max_retries if known else EXTRA_TRIES


# A story's position in its workflow, from the board and the run's record. Pure.

BLOCKED = "blocked"
CHECKS = "checks"


class StoryPosition(NamedTuple):
    step: Step | None  # None: no step is left
    record: StepRecord | None  # of the step, if it was started
    is_final: bool = False  # the story is done after this step
    is_past_workflow: bool = False  # the row already has the status that the workflow's last step sets


def find_position(workflow: Workflow, story: StoryRecord, meaning: str) -> StoryPosition:
    """The story's current step. `meaning`: its row's status, used where this run has recorded nothing."""
    if story.skipped:
        return StoryPosition(None, None)
    steps = _steps(workflow, story, meaning)
    current = story.current
    if current is not None and current.cause == CHECKS:
        return StoryPosition(workflow.fix, current)
    if current is not None:
        step = next((step for step in (*workflow.steps, workflow.fix) if step.name == current.step), None)
        return StoryPosition(step, current, bool(steps) and step == steps[-1])
    if story.finished:
        return StoryPosition(None, None)
    names = [step.name for step in steps]
    begin = (
        names.index(story.passed_steps[-1]) + 1 if story.passed_steps and story.passed_steps[-1] in names else 0
    )
    left = steps[begin:]
    through = not steps and workflow.steps[-1].after == meaning
    return (
        StoryPosition(left[0], None, len(left) == 1)
        if left
        else StoryPosition(None, None, is_past_workflow=through)
    )


def _steps(workflow: Workflow, story: StoryRecord, meaning: str) -> tuple[Step, ...]:
    if story.entered_by == "round":
        return review_round_steps(workflow)
    return workflow.steps if story.passed_steps or story.current else steps_left(workflow, meaning)


def tidy_label(run: RunRecord, position: StoryPosition) -> str:
    """Label of the commit that cleans the tree before the next call of this step."""
    record = position.record
    return f"tidy-{run.steps + 1}-0" if record is None else f"tidy-{record.number}-{len(record.calls)}"


def wanted_status(story: StoryRecord, position: StoryPosition, finding: str) -> str:
    """The status the story's row should have at this point."""
    if story.skipped:
        return BLOCKED
    if story.finished:
        return DONE
    if position.step is None or (position.record is not None and position.record.cause == CHECKS):
        return story.expected_status
    if finding == "good":
        return DONE if position.is_final else position.step.after or story.expected_status
    if finding == "changes":
        return IN_PROGRESS
    return position.step.before or story.expected_status


def is_over(story: StoryRecord | None, meaning: str) -> bool:
    """The lane has nothing more to do for this story."""
    if story is None:
        return meaning in (DONE, PARKED, UNKNOWN)
    if story.gone and not meaning:
        return True
    if story.finished:
        return "done" in story.commits and meaning == DONE
    if story.skipped:
        return meaning == PARKED and "skipped" in story.commits
    return not story.current and story.expected_status == meaning and meaning in (DONE, PARKED, UNKNOWN)


def stories_of(lane: Lane, rows: Mapping[str, Row]) -> list[Row]:
    """The lane's stories on the board, in natural order."""
    if lane.scope is not LaneScope.EPIC:
        return [rows[lane.key]] if lane.key in rows else []
    own = [row for row in rows.values() if row.kind is RowKind.STORY and row.epic == lane.epic]
    return sorted(own, key=lambda row: row.order)


def statuses_of(lane: Lane, rows: Mapping[str, Row]) -> dict[str, str]:
    """The stories of the lane's epic with their raw statuses."""
    own = (row for row in rows.values() if row.kind is RowKind.STORY and row.epic == lane.epic)
    return {row.key: row.status.raw for row in own}


def active_story(lane: Lane, run: RunRecord, rows: Mapping[str, Row]) -> str | None:
    """The story in progress, even if its row is gone; else the next one in BMAD's priority."""
    epic = epic_row(lane, rows.values())
    apart = epic.key if epic else ""  # a retrospective is recorded as a story under its epic's key
    begun = [key for key in reversed(run.stories) if key != apart and _is_started(run.stories[key], rows)]
    if begun:
        # A story that reappears on the board meanwhile waits: one agent at a time.
        return next((key for key in begun if run.stories[key].has_uncollected_call), begun[0])
    fresh = [(row.key, row.meaning) for row in stories_of(lane, rows) if not _was_over(run, row)]
    action = choose_action(fresh)
    return action.story_id if action else None


def _is_started(story: StoryRecord, rows: Mapping[str, Row]) -> bool:
    return not is_over(story, rows[story.key].meaning if story.key in rows else "")


def _was_over(run: RunRecord, row: Row) -> bool:
    story = run.stories.get(row.key)
    return story is not None and is_over(story, row.meaning)


def epic_row(lane: Lane, rows: Iterable[Row]) -> Row | None:
    return next((row for row in rows if row.kind is RowKind.EPIC and row.number == lane.epic), None)


RUNNING, NEW = "running", "new"
MAX_CHOICES = 2  # policy answers for one cause at one step
BY_POLICY = "policy"


@dataclass(frozen=True)
class Observation:
    """The state of a lane at one tick: facts for the decision table. Each kind adds the context of its actions."""

    facts: Facts
    _: KW_ONLY
    until: float | None = None  # when the facts change without an event
    worktree_problem: str = ""  # why the work tree cannot be used
    stage: str = ""  # the human checkpoint that is due

    @property
    def subject(self) -> str:
        """The key of the story or epic that a question is about."""
        return ""

    @property
    def record(self) -> StepRecord | None:
        """The current step, if it was started."""
        return None

    @property
    def call(self) -> CallId | None:
        """The last call of the current step."""
        record = self.record
        return call_id(record, record.last_call) if record and record.last_call else None

    @property
    def ended(self) -> Data:
        """How that call ended; empty: it has not, or there was none."""
        last = self.record.last_call if self.record else None
        return last.outcome if last and last.outcome else {}


@dataclass(frozen=True, kw_only=True)
class UnreadableFile(Observation):
    """The board, or a flow's state file, cannot be read."""

    problem: FileError
    step: StepRecord | None  # whose call may have corrupted it

    @property
    def record(self) -> StepRecord | None:
        return self.step


@dataclass(frozen=True, kw_only=True)
class StoryObservation(Observation):
    """A story in progress. Without a board: a fix round of a pull request, or the steps of a workflow file."""

    story: StoryRecord
    position: StoryPosition
    wanted_status: str = ""  # of the story's row; empty: it has none
    tree: WorktreeSnapshot | None = None  # taken where the checks matter

    @property
    def subject(self) -> str:
        return self.story.key

    @property
    def record(self) -> StepRecord | None:
        return self.position.record


@dataclass(frozen=True, kw_only=True)
class BoardObservation(Observation):
    rows: Mapping[str, Row]
    epic: Row | None = None


@dataclass(frozen=True, kw_only=True)
class BoardStory(StoryObservation, BoardObservation):
    """A story of the board in progress."""

    row: Row | None  # None: it was removed from the board


@dataclass(frozen=True, kw_only=True)
class UnstartedStory(BoardObservation):
    """A story that this run has not started: the next one, or one that says done without proof."""

    row: Row
    previous_status: str = ""  # before it said done; empty: unknown
    agent_question: UnansweredQuestion | None = None  # open question of an agent of another tool

    @property
    def subject(self) -> str:
        return self.row.key


@dataclass(frozen=True, kw_only=True)
class EpicObservation(BoardObservation):
    """No story has work left."""

    retrospective: StoryRecord | None  # recorded as a story under the epic's key

    @property
    def subject(self) -> str:
        return self.epic.key if self.epic else ""

    @property
    def record(self) -> StepRecord | None:
        return self.retrospective.current if self.retrospective else None


def board_rows(observation: Observation) -> Mapping[str, Row]:
    return observation.rows if isinstance(observation, BoardObservation) else {}


def call_id(step: StepRecord, call: CallRecord) -> CallId:
    return CallId(step.number, step.step, call.attempt)


def human_facts(ports: Ports, run: RunRecord) -> Facts:
    """The facts that people control: stop and pause requests, answers (also preset ones), changed settings."""
    question = _question(ports, run)
    is_open = question is QuestionFact.OPEN
    return Facts(
        stop=ports.people.is_stopping(),
        pause=ports.people.is_pausing(),
        question=question,
        slot=ports.agents.has_slot(),
        advance=is_open and allowed_preset_answer(ports, run) is not None,
        settings=ports.records.settings() in ("", run.settings or run.start_entry.get("settings", "")),
    )


def allowed_preset_answer(ports: Ports, run: RunRecord) -> PresetAnswer | None:
    """The preset answer to the open question. A policy choice applies at most MAX_CHOICES times per step and
    cause; after that a person decides, because another retry would not help."""
    asked = run.question or {}
    found = ports.people.preset_answer(str(asked.get("question", "")))
    if found is None or not found.is_choice:
        return found
    same = [one for one in run.answers if _is_same(one, asked) and one.get("by") == BY_POLICY]
    return found if len(same) < MAX_CHOICES else None


def _is_same(one: Data, asked: Data) -> bool:
    return all(one.get(name) == asked.get(name) for name in ("code", "cause", "story", "step", "number"))


def _question(ports: Ports, run: RunRecord) -> QuestionFact:
    if run.question is None or not ports.people.is_asked(str(run.question["question"])):
        return QuestionFact.NONE
    return (
        QuestionFact.OPEN if ports.people.answer(str(run.question["question"])) is None else QuestionFact.ANSWERED
    )


def call_status(ports: Ports, record: StepRecord | None) -> CallFact:
    """The status of a step's last call, or its finding."""
    last = record.last_call if record else None
    if record is None or last is None:
        return CallFact.NONE
    if last.outcome is not None:
        known = last.finding in tuple(CallFact)  # a newer version may have recorded an unknown finding
        return CallFact.NONE if record.retry_due else CallFact(last.finding) if known else CallFact.FAILED
    state = ports.agents.state(call_id(record, last))
    if state == NEW:
        return CallFact.NONE  # recorded as intent, never started
    return CallFact.RUNNING if state == RUNNING else CallFact.ENDED


def rest_status(ports: Ports, step: Step, record: StepRecord | None) -> tuple[BackoffFact, float | None]:
    until = ports.agents.choose(step).until
    if until > ports.clock.now():
        return BackoffFact.LIMIT, until
    pause = pause_until(record)
    return (BackoffFact.PAUSE, pause) if pause > ports.clock.now() else (BackoffFact.NONE, None)


def has_budget(ports: Ports, lane: Lane, run: RunRecord) -> bool:
    left = dollars_left(lane, run)
    if left is not None and left <= 0:
        return False
    return lane.max_hours is None or ports.clock.now() - run.hours_counted_from < lane.max_hours * 3600


def dollars_left(lane: Lane, run: RunRecord) -> float | None:
    """What is left of the run's cost cap; None: there is no cap."""
    return None if lane.max_cost is None else lane.max_cost * (1.0 + run.allowance) - run.dollars

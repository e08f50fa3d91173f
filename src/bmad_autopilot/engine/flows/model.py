"""The snapshot of a flow, the port to its state file, and the rule for its current position."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ...core.flow_state import FlowState
from ...core.run_record import StepRecord, StoryRecord
from ...workflows.flow_position import FlowPosition
from ...workflows.workflow import FlowPart, Step
from ..observation import StoryObservation, StoryPosition
from ..ports import CallId


class FlowSnapshot(NamedTuple):
    """A flow's state file and its position, read together."""

    state: FlowState | None  # None: the file does not exist yet
    position: FlowPosition


class StateUpdate(NamedTuple):
    """The state file's new content, and the names of the run's entries that it then records."""

    state: FlowState
    recorded: tuple[str, ...] = ()


class FlowStore(Protocol):
    def read(self) -> FlowSnapshot:
        """FileError: the state file cannot be read."""

    def write(self, wanted: FlowState) -> None:
        """Write the state file, keeping everything else in it."""

    def substep(self, call: CallId) -> str:
        """The substep last reported by the call's agent."""

    def can_commit(self) -> bool: ...
    def describe_output(self, step: Step) -> str:
        """A short description of the step's output, for a person who decides about it."""


@dataclass(frozen=True, kw_only=True)
class FlowObservation(StoryObservation):
    """The steps of a flow. `stage` names the decision that is due."""

    store: FlowStore
    snapshot: FlowSnapshot
    update: StateUpdate


# The position of a flow's run: its current step, otherwise what the folder and the state file say. Pure.

FAILURES = ("failed", "lacking")


def part_of(step: Step) -> FlowPart:
    assert step.flow is not None, step.name
    return step.flow


def is_our_blocker(blocker: str, steps: Sequence[Step]) -> bool:
    """Whether we wrote this blocker and may remove it; lines written by people stay."""
    heads = (f"Step {part_of(step).number} {title_of(step)}: " for step in steps)
    return any(blocker.startswith((f"{head}failed ", f"{head}waits for an answer")) for head in heads)


def title_of(step: Step) -> str:
    """The step's name in the state file."""
    return step.name.removesuffix(f" ({part_of(step).number})")


def with_unique_names(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Make step names unique: a run identifies steps by name, and a flow may repeat one."""
    names = [step.name for step in steps]
    return tuple(
        step._replace(name=f"{step.name} ({part_of(step).number})") if step.name in names[:index] else step
        for index, step in enumerate(steps)
    )


def index_of(steps: Sequence[Step], name: str) -> int | None:
    return next((index for index, step in enumerate(steps) if step.name == name), None)


def flow_position(
    steps: Sequence[Step], story: StoryRecord, position: FlowPosition, *, is_called: bool
) -> StoryPosition:
    """A step this run has called an agent for is judged by the run: files alone do not complete it. If the output
    of an earlier step is gone, that step comes first. `is_called`: a call is running or not collected yet."""
    current = story.current
    mine = index_of(steps, current.step) if current is not None and current.calls else None
    again = index_of(steps, story.repeat_step) if story.repeat_step else None
    if mine is not None and (is_called or (again is None and (position.index is None or mine <= position.index))):
        return _at(steps, mine, current)
    if again is not None:
        return _at(steps, again, None)
    if position.index is None:
        return StoryPosition(None, None)
    step = steps[position.index]
    return _at(steps, position.index, current if current is not None and current.step == step.name else None)


def _at(steps: Sequence[Step], index: int, record: StepRecord | None) -> StoryPosition:
    return StoryPosition(steps[index], record, index == len(steps) - 1)


def count_failures(record: StepRecord | None) -> int:
    """Calls that failed or lacked output since the last granted retry."""
    calls = record.calls[record.uncounted_calls :] if record else []
    return sum(call.finding in FAILURES for call in calls)

"""Where a flow's run stands: at the step in hand, else where its folder and its state file say. Pure."""

from collections.abc import Sequence

from ...core.records import StepRecord, StoryRecord
from ...workflows.flow_place import Place
from ...workflows.pipelines import FlowPart, Step
from ..position import Position

FAILURES = ("failed", "lacking")


def part_of(step: Step) -> FlowPart:
    assert step.flow is not None, step.name
    return step.flow


def is_ours(blocker: str, steps: Sequence[Step]) -> bool:
    """A line among the blockers that we have written, and take away again; what people write there stays."""
    heads = (f"Step {part_of(step).number} {title_of(step)}: " for step in steps)
    return any(blocker.startswith((f"{head}failed ", f"{head}waits for an answer")) for head in heads)


def title_of(step: Step) -> str:
    """What the state file calls it."""
    return step.name.removesuffix(f" ({part_of(step).number})")


def told_apart(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Each with a name of its own: a run knows its steps by them, and a flow may have one twice."""
    names = [step.name for step in steps]
    return tuple(
        step._replace(name=f"{step.name} ({part_of(step).number})") if step.name in names[:index] else step
        for index, step in enumerate(steps)
    )


def index_of(steps: Sequence[Step], name: str) -> int | None:
    return next((index for index, step in enumerate(steps) if step.name == name), None)


def flow_position(steps: Sequence[Step], story: StoryRecord, place: Place, *, is_called: bool) -> Position:
    """A step that this run has called an agent for is its own to judge: files alone do not complete it. Where what
    comes before it is gone, that comes first. `is_called`: a call that nobody has taken in yet."""
    current = story.current
    mine = index_of(steps, current.step) if current is not None and current.calls else None
    again = index_of(steps, story.repeat) if story.repeat else None
    if mine is not None and (is_called or (again is None and (place.index is None or mine <= place.index))):
        return _at(steps, mine, current)
    if again is not None:
        return _at(steps, again, None)
    if place.index is None:
        return Position(None, None)
    step = steps[place.index]
    return _at(steps, place.index, current if current is not None and current.step == step.name else None)


def _at(steps: Sequence[Step], index: int, record: StepRecord | None) -> Position:
    return Position(steps[index], record, index == len(steps) - 1)


def failures(record: StepRecord | None) -> int:
    """Calls that failed, or left not what they should, since somebody last said to try again."""
    calls = record.calls[record.forgiven :] if record else []
    return sum(call.finding in FAILURES for call in calls)

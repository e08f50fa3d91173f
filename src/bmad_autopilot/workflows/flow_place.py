"""Which step a flow stands at: the state file read first, the folder having the last word."""

from collections.abc import Sequence
from typing import NamedTuple

from ..core.flow_state import FlowState
from .flow_record import Record, record_of
from .flow_rules import RECORDED, Seen, asks_record, holds, lacking
from .pipelines import FlowPart, Step


class Place(NamedTuple):
    # Nobody looks for a value in a place: the tuple's own method is not missed.
    index: int | None  # type: ignore[assignment]  # of the step; None: all are done
    at_gate: bool = False  # its files are there, and nobody has decided yet
    found: tuple[int, ...] = ()  # steps that the folder shows done and the state file does not list yet
    passed: tuple[int, ...] = ()  # steps that count as done only because what comes after them is there
    why: str = ""  # for a person, where state file and folder disagree
    agrees: bool = True  # the state file's current step is this one
    left_out: tuple[int, ...] = ()  # steps that do not apply here, such as those for a user interface
    lacks: tuple[str, ...] = ()  # conditions of the step that do not hold yet


class _Verdict(NamedTuple):
    """What is known of one step."""

    done: bool
    by: str = ""  # "row", "folder", "passed", "left out"
    at_gate: bool = False


def locate(steps: Sequence[Step], seen: Seen, state: FlowState | None) -> Place:
    """The first step that is not done. Total: whatever the state file says, there is an answer."""
    record = record_of(steps, state)
    shown = [
        _is_shown(part_of(step, number), seen, number - 1 in record.anew) for number, step in _numbered(steps)
    ]
    last = max((index for index, is_shown in enumerate(shown) if is_shown), default=-1)
    verdicts = []
    for number, step in _numbered(steps):
        verdicts.append(_judge(part_of(step, number), number - 1, seen, record, last))
        if not verdicts[-1].done:
            break
    before = [(index, one.by) for index, one in enumerate(verdicts) if one.done]
    index = None if len(before) == len(steps) else len(before)
    where = len(steps) if index is None else index
    return Place(
        index,
        at_gate=index is not None and verdicts[-1].at_gate,
        found=tuple(one for one, by in before if by == "folder"),
        passed=tuple(one for one, by in before if by == "passed"),
        why=_why(steps, record, where, seen, at_gate=bool(verdicts) and verdicts[-1].at_gate)
        if state is not None
        else "",
        agrees=state is None or record.current == where,
        left_out=tuple(one for one, by in before if by == "left out"),
        lacks=_lacks(steps, index, seen),
    )


def part_of(step: Step, number: int) -> FlowPart:
    """Any workflow's step can be one of a flow: it is recorded."""
    part = step.flow or FlowPart(number)
    return part if part.done else part._replace(done=(RECORDED,))


def _numbered(steps: Sequence[Step]) -> list[tuple[int, Step]]:
    return list(enumerate(steps, 1))


def _is_shown(part: FlowPart, seen: Seen, is_anew: bool) -> bool:
    """The folder alone shows it done."""
    return not is_anew and not asks_record(part.done) and not lacking(part.done, seen)


def _judge(part: FlowPart, index: int, seen: Seen, record: Record, last: int) -> _Verdict:
    """`last`: the last step that the folder alone shows done."""
    has_row, is_anew = index in record.rows, index in record.anew
    if record.is_skipped(index):
        return _Verdict(True, "row" if has_row else "passed")
    if part.only and not holds(part.only, seen):
        return _Verdict(True, "row" if has_row else "left out")
    if is_anew:
        return _Verdict(False)
    is_passed = last > index
    is_recorded = has_row or is_passed or record.is_beyond(index)
    if part.gate is not None:
        if lacking(part.done, seen, is_recorded):
            return _Verdict(False)
        is_decided = has_row or is_passed or _holds_all(part.gate.passed, seen)
        return _Verdict(is_decided, "row" if has_row else "folder", at_gate=not is_decided)
    # Its files are no proof that the project's checks have passed.
    if part.checks and record.is_under_way and record.current == index and not has_row and not is_passed:
        return _Verdict(False)
    if not lacking(part.done, seen, recorded=False):
        return _Verdict(True, "row" if has_row else "folder")
    if not lacking(part.done, seen, is_recorded):
        return _Verdict(True, "row" if has_row else "passed")
    # What nobody has to do is not come back to once something later is there.
    is_left = is_passed and (part.optional or bool(part.only))
    return _Verdict(is_left, "row" if has_row else "passed")


def _holds_all(conditions: Sequence[str], seen: Seen) -> bool:
    return bool(conditions) and not lacking(conditions, seen)


def _lacks(steps: Sequence[Step], index: int | None, seen: Seen) -> tuple[str, ...]:
    return () if index is None else lacking(part_of(steps[index], index + 1).done, seen)


def _why(steps: Sequence[Step], record: Record, where: int, seen: Seen, *, at_gate: bool) -> str:
    """What the state file says, and what the folder says to it."""
    told = list(record.odd)
    said = f"the state file says {_name(steps, record.current or 0)}"
    if record.follows is None:
        told.append(f"by the folder it is {_name(steps, where)}")
    elif record.follows < where:
        told.append(f"{said}; by the folder it is {_name(steps, where)}")
    elif record.follows > where:
        told.append(f"{said}; {_comes_before(steps, record, where, seen, at_gate)}")
    return "; ".join(told)


def _comes_before(steps: Sequence[Step], record: Record, where: int, seen: Seen, at_gate: bool) -> str:
    here = _name(steps, where)
    if where in record.anew:
        return f"{here}, comes before it and is to be done once more"
    if at_gate:
        return f"{here}, comes before it and waits for a decision"
    lacks = [one for one in _lacks(steps, where, seen) if one != RECORDED]
    return f"{here}, comes before it and has not left {' and '.join(lacks)}" if lacks else f"{here}, is not done"


def _name(steps: Sequence[Step], index: int) -> str:
    return f"step {index + 1}, {steps[index].name}" if index < len(steps) else "the end: every step is done"

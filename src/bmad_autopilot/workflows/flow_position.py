"""Locates the current step of a flow from its state file and the project's folder; the folder takes precedence."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..core.flow_state import STATUSES, CompletedStep, FlowState
from ..core.text import one_line
from .flow_file import RECORDED, FolderState, condition_holds, needs_record, unmet_conditions
from .workflow import FlowPart, Step

# The state file: which of its rows still count, and which step is the current one.

DONE = "done"  # used instead of a step's number
SKIPPED, RESET, FOUND, PASSED = "skipped", "reset", "found", "passed"  # prefixes of a row's outcome

# Rows that only record what was found: the step was not executed again.
_NO_NEW_TURN = (SKIPPED, FOUND, PASSED)
_NUMBER = re.compile(r"(?:step\s*)?#?(\d{1,6})(?![\d.,]*\d)\b", re.IGNORECASE)
_SHOWN = 60


class FlowRecord(NamedTuple):
    rows: Mapping[int, CompletedStep]  # the rows that count, by the step's index
    redo: frozenset[int]  # steps that were done and must be repeated
    current: int | None = None  # an index; the number of steps: all done. None: the state file does not say
    ended: str = ""  # `completed` or `skipped`, if the current step is
    is_in_progress: bool = False  # the current step was started and has not succeeded
    inconsistencies: tuple[str, ...] = ()  # inconsistencies in the state file, as text for the user

    def is_skipped(self, index: int) -> bool:
        row = self.rows.get(index)
        if row is not None:
            return has_outcome(row, SKIPPED)
        return self.current == index and self.ended == SKIPPED and index not in self.redo

    def is_beyond(self, index: int) -> bool:
        """Whether the state file's current step is after this one."""
        if self.current is None or index in self.redo:
            return False
        return self.current > index or (self.current == index and bool(self.ended))

    @property
    def next_index(self) -> int | None:
        """The current step, or the one after it if the current step has ended."""
        return self.current if self.current is None or not self.ended else self.current + 1


def has_outcome(row: CompletedStep, word: str) -> bool:
    return row.outcome.strip().lower().startswith(word)


def read_flow_record(steps: Sequence[Step], state: FlowState | None) -> FlowRecord:
    if state is None:
        return FlowRecord({}, frozenset())
    rows, redo = _read_rows(steps, state)
    current, odd = _read_current(steps, state)
    status = state.status.strip().lower()
    if status and status not in STATUSES:
        odd.append(f"the state file's status, {_quote(state.status)}, is none that is known")
    is_over = status in ("completed", SKIPPED) and current is not None and current < len(steps)
    is_under_way = status in ("in_progress", "failed")
    return FlowRecord(rows, redo, current, status if is_over else "", is_under_way, tuple(odd))


def find_step_index(steps: Sequence[Step], number: str, name: str) -> int | None:
    """Find a step by its number, else by its name."""
    said = _number(number)
    if said is not None and 1 <= said <= len(steps):
        return said - 1
    names = [step.name.casefold() for step in steps]
    words = (name, number) if said is None else (name,)
    return next((names.index(word) for word in map(_folded, words) if word in names), None)


def _read_rows(steps: Sequence[Step], state: FlowState) -> tuple[dict[int, CompletedStep], frozenset[int]]:
    """A later row of an earlier step invalidates a step's row: the flow was repeated from there."""
    rows: dict[int, CompletedStep] = {}
    redo: set[int] = set()
    for row in state.completed:
        index = find_step_index(steps, row.step, row.name)
        if index is None:
            continue
        is_reset = has_outcome(row, RESET)
        if is_reset:
            redo.update(range(index, len(steps)))
        elif not any(has_outcome(row, word) for word in _NO_NEW_TURN):
            redo.update(other for other in rows if other > index)
        if not is_reset:
            rows[index] = row
            redo.discard(index)
        for other in redo & rows.keys():
            del rows[other]
    return rows, frozenset(redo)


def _read_current(steps: Sequence[Step], state: FlowState) -> tuple[int | None, list[str]]:
    said, name = state.step.strip(), state.name.strip()
    if said.lower() == DONE:
        return len(steps), []
    index = find_step_index(steps, said, name)
    number = _number(said)
    odd = []
    if number is not None and not 1 <= number <= len(steps):
        odd.append(f"the state file says step {_quote(said)}, and there are {len(steps)}")
    elif number is None and said and index is None:
        odd.append(f"the state file says step {_quote(said)}, which is no step of this flow")
    elif not said and not name:
        odd.append("the state file does not say which step it is")
    elif index is not None and name and steps[index].name.casefold() != _folded(name):
        odd.append(f"the state file calls step {index + 1} {_quote(name)}, and it is {steps[index].name}")
    return index, odd


def _number(text: str) -> int | None:
    match = _NUMBER.match(text.strip())
    if match:
        return int(match[1])
    return -1 if re.fullmatch(r"[-+]?[\d.,]+", text.strip()) else None  # a number, but not of a step


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _quote(text: str) -> str:
    return f"`{one_line(text, _SHOWN)}`"


class FlowPosition(NamedTuple):
    # `index` hides the tuple's own method, which no caller uses.
    index: int | None  # type: ignore[assignment]  # of the step; None: all are done
    at_gate: bool = False  # its files exist, and the user has not decided yet
    found: tuple[int, ...] = ()  # steps that the folder shows done and the state file does not list yet
    passed: tuple[int, ...] = ()  # steps that count as done only because the output of a later step exists
    disagreement: str = ""  # for the user, if state file and folder disagree
    matches_state_file: bool = True  # the state file's current step is this one
    not_applicable: tuple[int, ...] = ()  # steps that do not apply here, such as those for a user interface
    unmet_conditions: tuple[str, ...] = ()  # conditions of the step that do not hold yet


class _StepVerdict(NamedTuple):
    """Whether one step is done, and by which evidence."""

    done: bool
    evidence: str = ""  # "row", "folder", "passed", "left out"
    at_gate: bool = False


def locate_step(steps: Sequence[Step], folder: FolderState, state: FlowState | None) -> FlowPosition:
    """Find the first step that is not done. Total: every state file leads to an answer."""
    record = read_flow_record(steps, state)
    shown = [
        _is_done_by_folder(flow_part_of(step, number), folder, number - 1 in record.redo)
        for number, step in _numbered(steps)
    ]
    last = max((index for index, is_shown in enumerate(shown) if is_shown), default=-1)
    verdicts = []
    for number, step in _numbered(steps):
        verdicts.append(_judge_step(flow_part_of(step, number), number - 1, folder, record, last))
        if not verdicts[-1].done:
            break
    before = [(index, one.evidence) for index, one in enumerate(verdicts) if one.done]
    index = None if len(before) == len(steps) else len(before)
    where = len(steps) if index is None else index
    return FlowPosition(
        index,
        at_gate=index is not None and verdicts[-1].at_gate,
        found=tuple(one for one, by in before if by == "folder"),
        passed=tuple(one for one, by in before if by == "passed"),
        disagreement=_explain_disagreement(
            steps, record, where, folder, at_gate=bool(verdicts) and verdicts[-1].at_gate
        )
        if state is not None
        else "",
        matches_state_file=state is None or record.current == where,
        not_applicable=tuple(one for one, by in before if by == "left out"),
        unmet_conditions=_unmet_conditions(steps, index, folder),
    )


def flow_part_of(step: Step, number: int) -> FlowPart:
    """The step's flow data. A step without any can still be part of a flow: it is done once recorded."""
    part = step.flow or FlowPart(number)
    return part if part.done else part._replace(done=(RECORDED,))


def _numbered(steps: Sequence[Step]) -> list[tuple[int, Step]]:
    return list(enumerate(steps, 1))


def _is_done_by_folder(part: FlowPart, folder: FolderState, is_redo: bool) -> bool:
    """Whether the folder alone shows the step as done."""
    return not is_redo and not needs_record(part.done) and not unmet_conditions(part.done, folder)


def _judge_step(part: FlowPart, index: int, folder: FolderState, record: FlowRecord, last: int) -> _StepVerdict:
    """`last`: the last step that the folder alone shows as done."""
    has_row, is_redo = index in record.rows, index in record.redo
    if record.is_skipped(index):
        return _StepVerdict(True, "row" if has_row else "passed")
    if part.only and not condition_holds(part.only, folder):
        return _StepVerdict(True, "row" if has_row else "left out")
    if is_redo:
        return _StepVerdict(False)
    is_passed = last > index
    is_recorded = has_row or is_passed or record.is_beyond(index)
    if part.gate is not None:
        if unmet_conditions(part.done, folder, is_recorded):
            return _StepVerdict(False)
        is_decided = has_row or is_passed or _holds_all(part.gate.passed, folder)
        return _StepVerdict(is_decided, "row" if has_row else "folder", at_gate=not is_decided)
    # Its files do not prove that the project's checks have passed.
    if part.checks and record.is_in_progress and record.current == index and not has_row and not is_passed:
        return _StepVerdict(False)
    if not unmet_conditions(part.done, folder, recorded=False):
        return _StepVerdict(True, "row" if has_row else "folder")
    if not unmet_conditions(part.done, folder, is_recorded):
        return _StepVerdict(True, "row" if has_row else "passed")
    # An optional step is not required any more once the output of a later step exists.
    is_left = is_passed and (part.optional or bool(part.only))
    return _StepVerdict(is_left, "row" if has_row else "passed")


def _holds_all(conditions: Sequence[str], folder: FolderState) -> bool:
    return bool(conditions) and not unmet_conditions(conditions, folder)


def _unmet_conditions(steps: Sequence[Step], index: int | None, folder: FolderState) -> tuple[str, ...]:
    return () if index is None else unmet_conditions(flow_part_of(steps[index], index + 1).done, folder)


def _explain_disagreement(
    steps: Sequence[Step], record: FlowRecord, where: int, folder: FolderState, *, at_gate: bool
) -> str:
    """Explain how the state file and the folder disagree."""
    parts = list(record.inconsistencies)
    said = f"the state file says {_step_label(steps, record.current or 0)}"
    if record.next_index is None:
        parts.append(f"by the folder it is {_step_label(steps, where)}")
    elif record.next_index < where:
        parts.append(f"{said}; by the folder it is {_step_label(steps, where)}")
    elif record.next_index > where:
        parts.append(f"{said}; {_explain_earlier_step(steps, record, where, folder, at_gate)}")
    return "; ".join(parts)


def _explain_earlier_step(
    steps: Sequence[Step], record: FlowRecord, where: int, folder: FolderState, at_gate: bool
) -> str:
    here = _step_label(steps, where)
    if where in record.redo:
        return f"{here}, comes before it and is to be done once more"
    if at_gate:
        return f"{here}, comes before it and waits for a decision"
    lacks = [one for one in _unmet_conditions(steps, where, folder) if one != RECORDED]
    return f"{here}, comes before it and has not left {' and '.join(lacks)}" if lacks else f"{here}, is not done"


def _step_label(steps: Sequence[Step], index: int) -> str:
    return f"step {index + 1}, {steps[index].name}" if index < len(steps) else "the end: every step is done"

"""What a flow's state file says of each step: which rows still count, and which step is the current one."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..core.flow_state import Completed, FlowState
from .pipelines import Step

DONE = "done"  # in place of a step's number
STATUSES = ("not_started", "in_progress", "completed", "skipped", "failed")
SKIPPED, RESET, FOUND, PASSED = "skipped", "reset", "found", "passed"  # how a row's outcome may begin

# Such a row says what is there; nobody has gone through the step again.
_NO_NEW_TURN = (SKIPPED, FOUND, PASSED)
_NUMBER = re.compile(r"(?:step\s*)?#?(\d{1,6})(?![\d.,]*\d)\b", re.IGNORECASE)
_SHOWN = 60


class Record(NamedTuple):
    rows: Mapping[int, Completed]  # by the step's index: those that count
    anew: frozenset[int]  # steps that were done and are to be done once more
    current: int | None = None  # an index; as many as there are steps: all done. None: it does not say
    ended: str = ""  # `completed` or `skipped`, where the current step is
    is_under_way: bool = False  # the current step was begun, and has not come to a good end
    odd: tuple[str, ...] = ()  # what cannot be as it stands there, for people

    def is_skipped(self, index: int) -> bool:
        row = self.rows.get(index)
        if row is not None:
            return is_outcome(row, SKIPPED)
        return self.current == index and self.ended == SKIPPED and index not in self.anew

    def is_beyond(self, index: int) -> bool:
        """By the state file's own word for where it stands."""
        if self.current is None or index in self.anew:
            return False
        return self.current > index or (self.current == index and bool(self.ended))

    @property
    def follows(self) -> int | None:
        """Where it stands once a step that is over is left behind."""
        return self.current if self.current is None or not self.ended else self.current + 1


def is_outcome(row: Completed, word: str) -> bool:
    return row.outcome.strip().lower().startswith(word)


def record_of(steps: Sequence[Step], state: FlowState | None) -> Record:
    if state is None:
        return Record({}, frozenset())
    rows, anew = _rows(steps, state)
    current, odd = _current(steps, state)
    status = state.status.strip().lower()
    if status and status not in STATUSES:
        odd.append(f"the state file's status, {_shown(state.status)}, is none that is known")
    is_over = status in ("completed", SKIPPED) and current is not None and current < len(steps)
    is_under_way = status in ("in_progress", "failed")
    return Record(rows, anew, current, status if is_over else "", is_under_way, tuple(odd))


def index_of(steps: Sequence[Step], number: str, name: str) -> int | None:
    """A step by its number, else by its name."""
    said = _number(number)
    if said is not None and 1 <= said <= len(steps):
        return said - 1
    names = [step.name.casefold() for step in steps]
    words = (name, number) if said is None else (name,)
    return next((names.index(word) for word in map(_folded, words) if word in names), None)


def _rows(steps: Sequence[Step], state: FlowState) -> tuple[dict[int, Completed], frozenset[int]]:
    """A row of a step is overtaken by a later one of a step before it: a second turn has begun there."""
    rows: dict[int, Completed] = {}
    anew: set[int] = set()
    for row in state.completed:
        index = index_of(steps, row.step, row.name)
        if index is None:
            continue
        is_reset = is_outcome(row, RESET)
        if is_reset:
            anew.update(range(index, len(steps)))
        elif not any(is_outcome(row, word) for word in _NO_NEW_TURN):
            anew.update(other for other in rows if other > index)
        if not is_reset:
            rows[index] = row
            anew.discard(index)
        for other in anew & rows.keys():
            del rows[other]
    return rows, frozenset(anew)


def _current(steps: Sequence[Step], state: FlowState) -> tuple[int | None, list[str]]:
    said, name = state.step.strip(), state.name.strip()
    if said.lower() == DONE:
        return len(steps), []
    index = index_of(steps, said, name)
    number = _number(said)
    odd = []
    if number is not None and not 1 <= number <= len(steps):
        odd.append(f"the state file says step {_shown(said)}, and there are {len(steps)}")
    elif number is None and said and index is None:
        odd.append(f"the state file says step {_shown(said)}, which is no step of this flow")
    elif not said and not name:
        odd.append("the state file does not say which step it is")
    elif index is not None and name and steps[index].name.casefold() != _folded(name):
        odd.append(f"the state file calls step {index + 1} {_shown(name)}, and it is {steps[index].name}")
    return index, odd


def _number(text: str) -> int | None:
    match = _NUMBER.match(text.strip())
    if match:
        return int(match[1])
    return -1 if re.fullmatch(r"[-+]?[\d.,]+", text.strip()) else None  # a number, and none of a step


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return f"`{line[: _SHOWN - 1]}…`" if len(line) > _SHOWN else f"`{line}`"

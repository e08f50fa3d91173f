"""The board as a person thinks of it: epics with their stories."""

from typing import NamedTuple

from ..core.actions import Action, choose
from ..core.keys import Order
from ..core.statuses import BACKLOG, DONE, OPTIONAL, PARKED, STORY_LIFE, UNKNOWN, Kind
from .sprint import Board, Row


class EpicView(NamedTuple):
    """One epic: its own row (None where stories name an epic that has no row), its stories, its retrospective."""

    number: str | None  # None gathers the stories that belong to no epic
    row: Row | None
    stories: list[Row]
    meanings: list[str]  # of the stories, in their order
    retrospective: Row | None

    @property
    def key(self) -> str:
        return self.row.key if self.row else f"epic-{self.number}" if self.number else "no epic"

    @property
    def finished(self) -> int:
        return self.meanings.count(DONE)

    @property
    def is_closed(self) -> bool:
        """Nothing left to do in it: done, parked, or all stories are one or the other."""
        if self.row is not None and self.row.status.meaning == PARKED:
            return True
        if not self.stories:
            return self.row is not None and self.row.status.meaning in (DONE, UNKNOWN)
        return self.meanings.count(DONE) + self.meanings.count(PARKED) == len(self.meanings)

    @property
    def is_under_way(self) -> bool:
        """Work has begun and is not over: here the two ledgers may drift."""
        if self.is_closed:
            return False
        begun = self.row is not None and self.row.status.meaning not in (BACKLOG, DONE)
        return begun or self.meanings.count(BACKLOG) < len(self.meanings)


def overview(board: Board) -> list[EpicView]:
    """All epics in natural order; stories without an epic come last."""
    rows: dict[str | None, Row] = {}
    retrospectives: dict[str | None, Row] = {}
    stories: dict[str | None, list[Row]] = {}
    orders: dict[str | None, Order] = {}
    for row in board.rows.values():
        kind = row.kind
        if kind is Kind.STORY:
            group = stories.get(row.epic)
            if group is None:
                stories[row.epic] = [row]
                orders[row.epic] = row.order[0]
            else:
                group.append(row)
        elif kind is Kind.EPIC:
            rows[row.number] = row
            orders[row.number] = row.order[0]
        elif kind is Kind.RETROSPECTIVE:
            retrospectives[row.epic] = row
    ordered = sorted(orders, key=lambda number: (number is None, orders[number]))
    for group in stories.values():
        if len(group) > 1:
            group.sort(key=lambda row: row.order)
    views = []
    for number in ordered:
        own = stories.get(number, [])
        meanings = [row.status.meaning for row in own]
        views.append(EpicView(number, rows.get(number), own, meanings, retrospectives.get(number)))
    return views


def next_action(epics: list[EpicView]) -> Action | None:
    """What to do next on this board; a parked epic is left where it is."""
    return choose(
        (row.key, meaning)
        for epic in epics
        if epic.row is None or epic.row.status.meaning != PARKED
        for row, meaning in zip(epic.stories, epic.meanings, strict=True)
    )


def open_retrospective(epics: list[EpicView]) -> Row | None:
    """The first retrospective that is still open although its epic's stories are over."""
    for epic in epics:
        retro = epic.retrospective
        if retro is not None and retro.meaning == OPTIONAL and epic.stories and epic.is_closed:
            return retro
    return None


def count_stories(epics: list[EpicView]) -> dict[str, int]:
    """Stories per status, in the order of a story's life; parked and unknown ones only where there are any."""
    meanings = [meaning for epic in epics for meaning in epic.meanings]
    counts = {word: meanings.count(word) for word in (*STORY_LIFE, PARKED, UNKNOWN)}
    return {word: n for word, n in counts.items() if n or word in STORY_LIFE}

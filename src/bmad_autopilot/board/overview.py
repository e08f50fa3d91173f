"""Groups the board's rows into epics with their stories, and finds its risks."""

import time
from typing import NamedTuple

from ..core.errors import command
from ..core.keys import Order
from ..core.next_action import Action, SprintStatus, choose_action
from ..core.statuses import (
    BACKLOG,
    DONE,
    IN_PROGRESS,
    OPTIONAL,
    PARKED,
    READY,
    REVIEW,
    STORY_LIFECYCLE,
    UNKNOWN,
    RowKind,
)
from ..project.project import open_project
from .sprint_status import Board, Row, find_row, read_board


class EpicView(NamedTuple):
    """One epic: its own row (None if only its stories are on the board), its stories, its retrospective."""

    number: str | None  # None: the stories without an epic
    row: Row | None
    stories: list[Row]
    meanings: list[str]  # of the stories, in their order
    retrospective: Row | None

    @property
    def key(self) -> str:
        return self.row.key if self.row else f"epic-{self.number}" if self.number else "no epic"

    @property
    def done_count(self) -> int:
        return self.meanings.count(DONE)

    @property
    def is_closed(self) -> bool:
        """Whether nothing is left to do: the epic is done or parked, or each of its stories is."""
        if self.row is not None and self.row.status.meaning == PARKED:
            return True
        if not self.stories:
            return self.row is not None and self.row.status.meaning in (DONE, UNKNOWN)
        return self.meanings.count(DONE) + self.meanings.count(PARKED) == len(self.meanings)

    @property
    def is_in_progress(self) -> bool:
        """Whether work has started and is not finished: board and story files may drift here."""
        if self.is_closed:
            return False
        begun = self.row is not None and self.row.status.meaning not in (BACKLOG, DONE)
        return begun or self.meanings.count(BACKLOG) < len(self.meanings)


def epic_views(board: Board) -> list[EpicView]:
    """All epics in natural order; stories without an epic come last."""
    rows: dict[str | None, Row] = {}
    retrospectives: dict[str | None, Row] = {}
    stories: dict[str | None, list[Row]] = {}
    orders: dict[str | None, Order] = {}
    for row in board.rows.values():
        kind = row.kind
        if kind is RowKind.STORY:
            group = stories.get(row.epic)
            if group is None:
                stories[row.epic] = [row]
                orders[row.epic] = row.order[0]
            else:
                group.append(row)
        elif kind is RowKind.EPIC:
            rows[row.number] = row
            orders[row.number] = row.order[0]
        elif kind is RowKind.RETROSPECTIVE:
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
    """The next action on this board; parked epics are skipped."""
    return choose_action(
        (row.key, meaning)
        for epic in epics
        if epic.row is None or epic.row.status.meaning != PARKED
        for row, meaning in zip(epic.stories, epic.meanings, strict=True)
    )


def pending_retrospective(epics: list[EpicView]) -> Row | None:
    """The first open retrospective of an epic whose stories are closed."""
    for epic in epics:
        retro = epic.retrospective
        if retro is not None and retro.meaning == OPTIONAL and epic.stories and epic.is_closed:
            return retro
    return None


def count_stories(epics: list[EpicView]) -> dict[str, int]:
    """Stories per status, in the order of a story's life; parked and unknown only if there are any."""
    meanings = [meaning for epic in epics for meaning in epic.meanings]
    counts = {word: meanings.count(word) for word in (*STORY_LIFECYCLE, PARKED, UNKNOWN)}
    return {word: n for word, n in counts.items() if n or word in STORY_LIFECYCLE}


# Risks to show beside the board: BMAD's own, and a few of ours.

DAY = 86_400.0


class Risk(NamedTuple):
    code: str
    message: str
    hint: str | None = None


def find_risks(board: Board, epics: list[EpicView], *, now: float, stale_days: int = 7) -> list[Risk]:
    """The risks of the whole board."""
    counts = count_stories(epics)
    return [
        *epic_risks(epics),
        *_key_risks(board),
        *_progress_risks(counts, epics),
        *_stale_risks(board, now, stale_days),
    ]


def epic_risks(epics: list[EpicView]) -> list[Risk]:
    """The risks that can be found from some of the board's epics."""
    return [*_row_risks(count_stories(epics), epics), *_epic_risks(epics), *_review_risks(epics)]


def _row_risks(counts: dict[str, int], epics: list[EpicView]) -> list[Risk]:
    risks = []
    stories = [row for epic in epics for row in epic.stories]
    unknown = [row for row in stories if row.status.meaning == UNKNOWN] if counts.get(UNKNOWN) else []
    unknown += [epic.row for epic in epics if epic.row and epic.row.meaning == UNKNOWN]
    if unknown:
        words = list(dict.fromkeys(row.status.raw or "(empty)" for row in unknown))
        message = f"{_count(unknown, 'row')} with a status nobody knows ({_names(words, 3)}), left alone"
        risks.append(Risk("unknown-status", message, "bmad board check"))
    for number, rows in duplicate_numbers(stories):
        message = f"{_count(rows, 'story')} with the number {number}: {_names([row.key for row in rows], 2)}"
        risks.append(Risk("duplicate-number", message, "give each story a number of its own"))
    return risks


def _key_risks(board: Board) -> list[Risk]:
    risks = []
    others = board.of_kind(RowKind.OTHER)
    if others:
        message = f"{_count(others, 'unrecognised key')}: {_names([row.key for row in others], 2)}"
        risks.append(Risk("unrecognised-key", message, "bmad board check"))
    if board.shadowed:
        message = (
            f"{_count(board.shadowed, 'key')} more than once: {_names([row.key for row in board.shadowed], 2)}"
        )
        risks.append(Risk("duplicate-key", message, "bmad board check"))
    return risks


def _review_risks(epics: list[EpicView]) -> list[Risk]:
    waiting = [row for epic in epics if REVIEW in epic.meanings for row in epic.stories if row.meaning == REVIEW]
    if not waiting:
        return []
    waits = f" and {len(waiting) - 1} more wait" if len(waiting) > 1 else " waits"
    return [Risk("in-review", f"{waiting[0].key}{waits} for code-review")]


def duplicate_numbers(stories: list[Row]) -> list[tuple[str, list[Row]]]:
    if len({row.number for row in stories}) == len(stories):
        return []
    groups: dict[str, list[Row]] = {}
    for row in stories:
        groups.setdefault(row.number, []).append(row)
    return [(number, rows) for number, rows in groups.items() if len(rows) > 1]


def _epic_risks(epics: list[EpicView]) -> list[Risk]:
    risks = []
    orphans = [row for epic in epics if epic.row is None for row in epic.stories]
    if orphans:
        message = f"{_count(orphans, 'story')} without an epic row: {_names([row.key for row in orphans], 2)}"
        missing = next((epic.key for epic in epics if epic.row is None and epic.number), None)
        risks.append(Risk("orphaned-story", message, f"add a row {missing}" if missing else None))
    for epic in epics:
        if epic.row is None:
            continue
        if epic.row.meaning == IN_PROGRESS and not epic.stories:
            risks.append(Risk("empty-epic", f"{epic.key} is in-progress but has no stories"))
        if epic.row.status.meaning != DONE or epic.done_count == len(epic.stories):
            continue
        waiting = [row for row in epic.stories if row.status.meaning not in (DONE, PARKED, UNKNOWN)]
        if waiting:
            message = f"{epic.key} is done, but {_count(waiting, 'story')} of it {_verb(waiting)} not"
            risks.append(
                Risk("done-epic-open-story", message, command("board", "set", epic.key, "in-progress", "--force"))
            )
    return risks


def _progress_risks(counts: dict[str, int], epics: list[EpicView]) -> list[Risk]:
    risks = []
    if counts[IN_PROGRESS] and not counts[READY]:
        what = "a story is" if counts[IN_PROGRESS] == 1 else f"{counts[IN_PROGRESS]} stories are"
        risks.append(Risk("nothing-ready", f"{what} in progress and none is ready: finish before starting more"))
    started = any(epic.row and epic.row.meaning != BACKLOG for epic in epics)
    if counts[BACKLOG] and not started and not any(counts[word] for word in (READY, IN_PROGRESS, REVIEW, DONE)):
        risks.append(Risk("nothing-started", "every epic is in the backlog: the first story has to be created"))
    return risks


def _stale_risks(board: Board, now: float, stale_days: int) -> list[Risk]:
    name = "last_updated" if board.field("last_updated") else "generated"
    moment = read_date(board.field(name) or "")
    if moment is None or now - moment <= stale_days * DAY:
        return []
    days = int((now - moment) / DAY)
    return [Risk("stale", f"the board says {name.replace('_', ' ')} {days} days ago")]


def read_date(text: str) -> float | None:
    """Parse a board's date: ISO forms and BMAD's `MM-DD-YYYY HH:MM`; None for free text.
    Parsed by hand, since strptime's import alone takes as long as reading a board."""
    if text[4:5] == "-" and text[7:8] == "-":
        parts = [text[0:4], text[5:7], text[8:10], text[11:13], text[14:16]]
    elif text[2:3] == "-" and text[5:6] == "-":
        parts = [text[6:10], text[0:2], text[3:5], text[11:13], text[14:16]]
    else:
        return None
    digits = [part if part.isascii() and part.isdigit() else "" for part in parts]
    if not all(digits[:3]) or len(digits[0]) < 4:
        return None
    year, month, day, hour, minute = (int(part or 0) for part in digits)
    if not (1 <= month <= 12 and 1 <= day <= 31 and 1970 <= year <= 9999 and hour < 24 and minute < 60):
        return None
    return time.mktime((year, month, day, hour, minute, 0, 0, 0, -1))


def _count(rows: list[Row] | tuple[Row, ...], noun: str) -> str:
    many = "stories" if noun == "story" else noun + "s"
    return f"{len(rows)} {noun if len(rows) == 1 else many}"


def _verb(rows: list[Row]) -> str:
    return "is" if len(rows) == 1 else "are"


def _names(names: list[str], most: int) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


# The Python API: read a project's board in one call.


def load_sprint_status(project_path: str = ".") -> SprintStatus:
    """Read the board of the project at `project_path` (any folder inside it)."""
    board = read_board(open_project(project_path).require_board())
    statuses = {kind: {row.key: row.status.raw for row in board.of_kind(kind)} for kind in RowKind}
    return SprintStatus(
        epics=statuses[RowKind.EPIC],
        stories=statuses[RowKind.STORY],
        counts=count_stories(epic_views(board)),
        retrospectives=statuses[RowKind.RETROSPECTIVE],
    )


def load_story_status(story_id: str, project_path: str = ".") -> str:
    """One story's status: the canonical word, or the word as written where it is parked or unknown."""
    board = read_board(open_project(project_path).require_board())
    status = find_row(board, story_id).status
    return status.raw if status.meaning in (PARKED, UNKNOWN) else status.meaning

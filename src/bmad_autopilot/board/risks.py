"""What a look at the board should make a person think about: BMAD's own risks, and a few of ours."""

import time
from typing import NamedTuple

from ..core.commands import command
from ..core.statuses import BACKLOG, DONE, IN_PROGRESS, PARKED, READY, REVIEW, UNKNOWN, Kind
from .overview import EpicView, count_stories
from .sprint import Board, Row

DAY = 86_400.0


class Risk(NamedTuple):
    code: str
    message: str
    hint: str | None = None


def find_risks(board: Board, epics: list[EpicView], *, now: float, stale_days: int = 7) -> list[Risk]:
    """The risks of the whole board."""
    counts = count_stories(epics)
    return [*epic_risks(epics), *_keys(board), *_flow(counts, epics), *_stale(board, now, stale_days)]


def epic_risks(epics: list[EpicView]) -> list[Risk]:
    """Those that can be told from some of its epics."""
    return [*_broken(count_stories(epics), epics), *_order(epics), *_in_review(epics)]


def _broken(counts: dict[str, int], epics: list[EpicView]) -> list[Risk]:
    risks = []
    stories = [row for epic in epics for row in epic.stories]
    unknown = [row for row in stories if row.status.meaning == UNKNOWN] if counts.get(UNKNOWN) else []
    unknown += [epic.row for epic in epics if epic.row and epic.row.meaning == UNKNOWN]
    if unknown:
        words = list(dict.fromkeys(row.status.raw or "(empty)" for row in unknown))
        message = f"{_count(unknown, 'row')} with a status nobody knows ({_names(words, 3)}), left alone"
        risks.append(Risk("unknown-status", message, "bmad board check"))
    for number, rows in same_numbers(stories):
        message = f"{_count(rows, 'story')} with the number {number}: {_names([row.key for row in rows], 2)}"
        risks.append(Risk("duplicate-number", message, "give each story a number of its own"))
    return risks


def _keys(board: Board) -> list[Risk]:
    risks = []
    others = board.of_kind(Kind.OTHER)
    if others:
        message = f"{_count(others, 'unrecognised key')}: {_names([row.key for row in others], 2)}"
        risks.append(Risk("unrecognised-key", message, "bmad board check"))
    if board.shadowed:
        message = (
            f"{_count(board.shadowed, 'key')} more than once: {_names([row.key for row in board.shadowed], 2)}"
        )
        risks.append(Risk("duplicate-key", message, "bmad board check"))
    return risks


def _in_review(epics: list[EpicView]) -> list[Risk]:
    waiting = [row for epic in epics if REVIEW in epic.meanings for row in epic.stories if row.meaning == REVIEW]
    if not waiting:
        return []
    waits = f" and {len(waiting) - 1} more wait" if len(waiting) > 1 else " waits"
    return [Risk("in-review", f"{waiting[0].key}{waits} for code-review")]


def same_numbers(stories: list[Row]) -> list[tuple[str, list[Row]]]:
    if len({row.number for row in stories}) == len(stories):
        return []
    groups: dict[str, list[Row]] = {}
    for row in stories:
        groups.setdefault(row.number, []).append(row)
    return [(number, rows) for number, rows in groups.items() if len(rows) > 1]


def _order(epics: list[EpicView]) -> list[Risk]:
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
        if epic.row.status.meaning != DONE or epic.finished == len(epic.stories):
            continue
        waiting = [row for row in epic.stories if row.status.meaning not in (DONE, PARKED, UNKNOWN)]
        if waiting:
            message = f"{epic.key} is done, but {_count(waiting, 'story')} of it {_verb(waiting)} not"
            risks.append(
                Risk("done-epic-open-story", message, command("board", "set", epic.key, "in-progress", "--force"))
            )
    return risks


def _flow(counts: dict[str, int], epics: list[EpicView]) -> list[Risk]:
    risks = []
    if counts[IN_PROGRESS] and not counts[READY]:
        what = "a story is" if counts[IN_PROGRESS] == 1 else f"{counts[IN_PROGRESS]} stories are"
        risks.append(Risk("nothing-ready", f"{what} in progress and none is ready: finish before starting more"))
    started = any(epic.row and epic.row.meaning != BACKLOG for epic in epics)
    if counts[BACKLOG] and not started and not any(counts[word] for word in (READY, IN_PROGRESS, REVIEW, DONE)):
        risks.append(Risk("nothing-started", "every epic is in the backlog: the first story has to be created"))
    return risks


def _stale(board: Board, now: float, stale_days: int) -> list[Risk]:
    name = "last_updated" if board.field("last_updated") else "generated"
    moment = read_date(board.field(name) or "")
    if moment is None or now - moment <= stale_days * DAY:
        return []
    days = int((now - moment) / DAY)
    return [Risk("stale", f"the board says {name.replace('_', ' ')} {days} days ago")]


def read_date(text: str) -> float | None:
    """The moment a board's date names: ISO forms and BMAD's `MM-DD-YYYY HH:MM`; None for free text.
    By hand, since strptime's import alone takes as long as reading a board."""
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

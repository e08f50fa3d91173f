"""Renders `bmad status` on one screen."""

from collections.abc import Iterator
from typing import NamedTuple

from ..board.overview import EpicView
from ..board.sprint_status import Row
from ..core.statuses import BACKLOG, DONE, IN_PROGRESS, PARKED, READY, REVIEW, UNKNOWN
from ..core.text import printable
from .terminal import Terminal, cut, display_width, pad, wrap

COLORS = {
    DONE: "green",
    REVIEW: "magenta",
    IN_PROGRESS: "yellow",
    READY: "cyan",
    BACKLOG: "dim",
    PARKED: "blue",
    UNKNOWN: "red",
}
MAX_EPICS = 12
MAX_LINES = 24  # epics and stories together
BAR_WIDTH = 20
URGENCY = (IN_PROGRESS, REVIEW, READY, UNKNOWN, PARKED)


class NextStep(NamedTuple):
    """The next step in one sentence, and its commands."""

    sentence: str
    commands: tuple[tuple[str, str], ...] = ()  # command, purpose


class StatusView(NamedTuple):
    title: str
    subtitle: str
    epics: list[EpicView]
    counts: dict[str, int]
    risks: list[tuple[str, str | None]]  # message, fix
    next: NextStep
    parked_reasons: dict[str, str]  # story key → why it is parked
    next_key: str | None = None
    show_all: bool = False
    one_epic: bool = False
    titles: dict[str, str] = {}  # noqa: RUF012  epic number → title, where the epics file was read
    run_lines: tuple[str, ...] = ()  # lines about unfinished runs
    lane_branches: dict[str, str] = {}  # noqa: RUF012  epic number → the branch whose board its rows are from


def render(view: StatusView, out: Terminal) -> Iterator[str]:
    yield from _header(view, out)
    if view.epics:
        yield ""
        yield from _epics(view, out)
        yield ""
        yield from _counts(view, out)
    if view.risks:
        yield ""
        for message, hint in view.risks:
            text = printable(message) + (f" ({hint})" if hint else "")
            lines = wrap(text, out.width - 4, "")
            yield "  " + out.style("!", "yellow") + " " + lines[0]
            yield from ("    " + line for line in lines[1:])
    if view.run_lines:
        yield ""
        for text in view.run_lines:
            lines = wrap(printable(text), out.width - 4, "")
            yield "  " + out.style(">", "cyan") + " " + lines[0]
            yield from ("    " + line for line in lines[1:])
    yield ""
    yield from _next(view, out)


def _header(view: StatusView, out: Terminal) -> Iterator[str]:
    title = cut(printable(view.title), out.width)
    subtitle = printable(view.subtitle)
    if display_width(title) + 3 + display_width(subtitle) <= out.width:
        yield out.style(title, "bold") + "   " + out.style(subtitle, "dim")
    else:
        yield out.style(title, "bold")
        yield out.style(cut(subtitle, out.width), "dim")


def _epics(view: StatusView, out: Terminal) -> Iterator[str]:
    whole = view.show_all or view.one_epic
    shown = view.epics if whole else _choose(view)
    label = min(max((display_width(epic.key) for epic in view.epics), default=6), 24)
    busy = sum(bool(_active(epic)) for epic in shown)
    most = None if whole else max(1, (MAX_LINES - len(shown)) // max(1, busy))
    chosen = {id(epic) for epic in shown}
    skipped: list[EpicView] = []
    for epic in view.epics:
        if id(epic) not in chosen:
            skipped.append(epic)
            continue
        yield from _skipped(view, skipped, label, out)
        skipped = []
        yield _epic_line(view, epic, label, out)
        yield from _stories(view, epic, most, out)
    yield from _skipped(view, skipped, label, out)


def _choose(view: StatusView) -> list[EpicView]:
    """Selects epics for one screen: those under way, most urgent first, then a few upcoming ones."""
    if len(view.epics) <= MAX_EPICS:
        return view.epics
    under_way = [epic for epic in view.epics if epic.is_in_progress]
    under_way.sort(key=lambda epic: min((_urgency(view, row) for row in epic.stories), default=len(URGENCY)))
    coming = [epic for epic in view.epics if not epic.is_closed and not epic.is_in_progress]
    return [*under_way[:MAX_EPICS], *coming[: max(0, min(3, MAX_EPICS - len(under_way)))]]


def _urgency(view: StatusView, row: Row) -> int:
    if row.key == view.next_key:
        return -1
    return URGENCY.index(row.meaning) if row.meaning in URGENCY else len(URGENCY)


def _skipped(view: StatusView, epics: list[EpicView], label: int, out: Terminal) -> Iterator[str]:
    if len(epics) == 1:
        yield _epic_line(view, epics[0], label, out)
    elif epics:
        closed = sum(epic.is_closed for epic in epics)
        begun = sum(epic.is_in_progress for epic in epics)
        tally = {"closed": closed, "under way": begun, "to come": len(epics) - closed - begun}
        parts = ", ".join(f"{n} {word}" for word, n in tally.items() if n)
        stories = sum(len(epic.stories) for epic in epics)
        noun = "story" if stories == 1 else "stories"
        line = f"  … {len(epics)} more epics ({parts}; {stories} {noun}; --all shows them)"
        yield out.style(cut(line, out.width), "dim")


def _epic_line(view: StatusView, epic: EpicView, label: int, out: Terminal) -> str:
    finished = epic.done_count
    total = len(epic.stories)
    tally = f"{finished}/{total}".rjust(6)
    status = printable(epic.row.status.raw) if epic.row else "no row"
    meaning = epic.row.meaning if epic.row else UNKNOWN
    bar = BAR_WIDTH if out.width >= 60 else 8
    room = out.width - 2 - label - 2 - bar - len(tally) - 3
    title = view.titles.get(epic.number or "", "")
    branch = view.lane_branches.get(epic.number or "")
    if branch is not None:
        title = f"on {branch}" + (f"  {title}" if title else "")
    text = cut(status, max(room, 4))
    line = f"  {pad(printable(epic.key), label)}  {out.bar(finished, total, bar)} {tally}  "
    line += out.style(text, COLORS.get(meaning, "dim"))
    left = room - display_width(text) - 2
    return line + (f"  {cut(printable(title), left)}" if title and left > 8 else "")


def _active(epic: EpicView) -> list[Row]:
    """The stories of an epic that are neither done nor in the backlog."""
    if epic.row is not None and epic.row.meaning in (PARKED, DONE) and epic.is_closed:
        return []
    return [row for row in epic.stories if row.meaning not in (DONE, BACKLOG)]


def _stories(view: StatusView, epic: EpicView, most: int | None, out: Terminal) -> Iterator[str]:
    rows = shown = epic.stories if most is None else _active(epic)
    if most is not None and len(rows) > most:
        urgent = sorted(rows, key=lambda row: _urgency(view, row))[: max(1, most - 1)]
        shown = [row for row in rows if row in urgent]
    widest = max((display_width(row.key) for row in shown), default=0)
    for row in shown:
        yield _story_line(view, row, min(widest, max(12, out.width - 24)), out)
    if len(rows) > len(shown):
        where = f"--epic {epic.number}" if epic.number else "--all"
        text = f"    … {len(rows) - len(shown)} more ({where} shows them)"
        yield out.style(cut(text, out.width), "dim")


def _story_line(view: StatusView, row: Row, key_room: int, out: Terminal) -> str:
    status = printable(row.status.raw) or "(empty)"
    key = pad(printable(row.key), key_room)
    text = cut(status, max(4, out.width - 4 - key_room - 2))
    line = f"    {key}  " + out.style(text, COLORS.get(row.meaning, "red"))
    reason = view.parked_reasons.get(row.key)
    left = out.width - 4 - key_room - 2 - display_width(text) - 2
    return line + (out.style(f"  {cut(printable(reason), left)}", "dim") if reason and left > 8 else "")


def _counts(view: StatusView, out: Terminal) -> Iterator[str]:
    total = sum(view.counts.values())
    words = [(f"{total} {'story' if total == 1 else 'stories'}", "bold")]
    words += [(f"{view.counts[word]} {word}", COLORS[word]) for word in COLORS if word in view.counts]
    line, used = "  ", 2
    for index, (word, color) in enumerate(words):
        separator = "" if index == 0 else " · "
        if used + len(separator) + len(word) > out.width:
            yield line
            line, used, separator = "    ", 4, ""
        line += separator + out.style(word, color)
        used += len(separator) + len(word)
    yield line


def _next(view: StatusView, out: Terminal) -> Iterator[str]:
    lines = wrap(printable(view.next.sentence), out.width - 8, "")
    yield "  " + out.style("next", "bold") + "  " + lines[0]
    yield from ("        " + line for line in lines[1:])
    commands = [(printable(command), purpose) for command, purpose in view.next.commands]
    width = max((display_width(command) for command, _ in commands), default=0)
    for command, purpose in commands:
        line = f"        {out.style(command, 'bold')}"
        if purpose and 8 + width + 3 + display_width(purpose) <= out.width:
            line += " " * (width - display_width(command)) + "   " + out.style(purpose, "dim")
        yield line

"""The runs of a project, one a line."""

import time
from collections.abc import Iterator
from typing import NamedTuple

from ..runs.times import iso
from .figures import counted, money
from .terminal import Terminal, clean, display_width, pad, wrap

COLORS = {"running": "green", "completed": "green", "cut short": "red", "failed": "red", "paused": "yellow"}
HEADS = ("run", "session", "target", "status", "step", "started", "last", "cost")
GAP = "  "


class RunRow(NamedTuple):
    run: str
    session: str
    target: str
    status: str  # as in its state; `cut short`: running, and nobody looks after it
    step: int
    total: int
    started: float
    last: float  # its last checkpoint
    dollars: float
    unpriced: int  # calls without a price
    calls: int
    checkpoint: str = ""
    is_archived: bool = False
    is_protocol: bool = False  # agents keep it, with `bmad checkpoint`


class RunsView(NamedTuple):
    rows: list[RunRow]
    more: int  # that are not shown
    now: float


def render(view: RunsView, out: Terminal) -> Iterator[str]:
    if not view.rows:
        archived = f"no run but {counted(view.more, 'run')} in the archive: bmad runs --all"
        yield archived if view.more else "there is no run in this project yet: bmad run-epic begins one"
        return
    table = [HEADS, *(_cells(row, view.now) for row in view.rows)]
    widths = [max(display_width(row[n]) for row in table) for n in range(len(HEADS))]
    for kept in _choices(view.rows):
        if not out.is_terminal or sum(widths[n] for n in kept) + len(GAP) * (len(kept) - 1) <= out.width:
            yield out.style(_line(HEADS, widths, kept), "dim")
            for row, cells in zip(view.rows, table[1:], strict=True):
                yield _coloured(_line(cells, widths, kept), row, out)
            break
    else:
        for cells in table[1:]:
            yield from _in_two_lines(cells, out)
    yield from _below(view, out)


def _choices(rows: list[RunRow]) -> Iterator[list[int]]:
    """Which columns to show: all; where that is too wide, without those that tell nothing new."""
    kept = list(range(len(HEADS)))
    yield kept
    if all(row.run.startswith(f"{row.target}-") for row in rows):
        kept = [n for n in kept if HEADS[n] != "target"]
        yield kept
    if len({row.session for row in rows}) == 1:
        yield [n for n in kept if HEADS[n] != "session"]


def _cells(row: RunRow, now: float) -> tuple[str, ...]:
    step = f"{row.step}/{row.total}" if row.total else str(row.step) if row.step else ""
    return (
        clean(row.run),
        clean(row.session),
        clean(row.target),
        row.status,
        step,
        moment(row.started, now),
        ago(row.last, now),
        cost(row.dollars, row.unpriced, row.calls),
    )


def _line(cells: tuple[str, ...], widths: list[int], kept: list[int]) -> str:
    return GAP.join(pad(cells[n], widths[n]) for n in kept).rstrip()


def _coloured(line: str, row: RunRow, out: Terminal) -> str:
    """The status in its colour; what is archived is dim."""
    if row.is_archived:
        return out.style(line, "dim")
    begin = line.find(f"{GAP}{row.status}", len(clean(row.run))) + len(GAP)
    end = begin + len(row.status)
    return line[:begin] + out.style(row.status, *filter(None, [COLORS.get(row.status)])) + line[end:]


def _in_two_lines(cells: tuple[str, ...], out: Terminal) -> Iterator[str]:
    run, session, target, status, step, started, last, price = cells
    yield from (out.style(line, "bold") for line in wrap(run, out.width, "  "))
    known = [status, f"step {step}" if step else "", target, f"session {session}", f"began {started}", last, price]
    yield from wrap("  " + " · ".join(filter(None, known)), out.width, "  ")


def _below(view: RunsView, out: Terminal) -> Iterator[str]:
    said = []
    if view.more:
        said.append(f"… {view.more:,} older: bmad runs --all")
    if any(row.status == "cut short" for row in view.rows):
        said.append("cut short: it was running, and nobody looks after it now; bmad resume goes on with it")
    if said:
        yield ""
    for text in said:
        yield from wrap(text, out.width, "  ") if out.is_terminal else [text]


def moment(at: float, now: float) -> str:
    """`14:03` of today, `02-26 14:03` of this year, else the date."""
    if not at:
        return "–"
    there, here = time.localtime(at), time.localtime(now)
    form = "%H:%M" if there[:3] == here[:3] else "%m-%d %H:%M" if there[0] == here[0] else "%Y-%m-%d"
    return time.strftime(form, there)


def ago(at: float, now: float) -> str:
    if not at:
        return "–"
    minutes = int(max(0.0, now - at) // 60)
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes} min ago"
    return f"{minutes // 60} h ago" if minutes < 48 * 60 else f"{minutes // 1440} days ago"


def cost(dollars: float, unpriced: int, calls: int) -> str:
    """`$1.26+`: and calls that named no price."""
    if not calls:
        return "–"
    return "?" if unpriced == calls else money(dollars) + "+" * bool(unpriced)


def document(view: RunsView) -> dict[str, object]:
    return {
        "version": 1,
        "kind": "runs",
        "runs": [
            {
                "run": row.run,
                "session": row.session,
                "target": row.target,
                "status": row.status,
                "step": row.step,
                "total": row.total,
                "started_at": iso(row.started) if row.started else None,
                "last_checkpoint": iso(row.last) if row.last else None,
                "checkpoint": row.checkpoint or None,
                "dollars": round(row.dollars, 6),
                "unpriced": row.unpriced,
                "calls": row.calls,
                "archived": row.is_archived,
                "protocol": row.is_protocol,
            }
            for row in view.rows
        ],
    }


class SessionRow(NamedTuple):
    session: str
    statuses: tuple[tuple[str, int], ...]  # word, how many runs
    last: float


def render_sessions(rows: list[SessionRow], now: float, out: Terminal) -> Iterator[str]:
    if not rows:
        yield "no session has a run yet"
        return
    width = max(display_width(clean(row.session)) for row in rows)
    for row in rows:
        runs = ", ".join(f"{number} {word}" for word, number in row.statuses)
        whole = counted(sum(number for _, number in row.statuses), "run")
        text = f"{pad(clean(row.session), width)}  {whole}: {runs}; last {ago(row.last, now)}"
        yield from wrap(text, out.width, " " * (width + 2)) if out.is_terminal else [text]


def sessions_document(rows: list[SessionRow]) -> dict[str, object]:
    return {
        "version": 1,
        "kind": "sessions",
        "sessions": [
            {"session": row.session, "runs": dict(row.statuses), "last": iso(row.last) if row.last else None}
            for row in rows
        ],
    }

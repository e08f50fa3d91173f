"""Renders the list of runs, the list of sessions and the timeline of one run."""

import time
from collections.abc import Iterator, Mapping
from typing import Annotated, NamedTuple

from ..core.json_types import Count, Keywords, Moment, ShortId, one_of, pick
from ..core.text import printable
from ..runs.state_file import RunStatus
from ..runs.timeline import AttemptLine, CommitLine, ForkOrigin, QuestionLine, StepTimeline, Timeline
from .format import FINDINGS, elapsed, first_line, fit, money, most_relevant_line, pluralize
from .terminal import Terminal, display_width, pad, wrap

COLORS = {"running": "green", "completed": "green", "cut short": "red", "failed": "red", "paused": "yellow"}
HEADS = ("run", "session", "target", "status", "step", "started", "last", "cost")
GAP = "  "


CUT_SHORT = "cut short"
RunWord = Annotated[str, one_of([*RunStatus, CUT_SHORT])]


class RunRow(NamedTuple):
    run: str
    session: str
    target: str
    status: Annotated[RunWord, "cut short: running, and nobody looks after it"]
    step: Count
    total: Count
    started_at: Moment | None
    last_checkpoint: Moment | None
    checkpoint: ShortId | None
    dollars: float
    unpriced: Annotated[Count, "calls without a price"]
    calls: Count
    archived: bool = False
    protocol: Annotated[bool, "agents keep it, with bmad checkpoint"] = False


class RunList(NamedTuple):
    runs: list[RunRow]


class RunsView(NamedTuple):
    rows: list[RunRow]
    more: int  # runs not shown
    now: float


def render_runs(view: RunsView, out: Terminal) -> Iterator[str]:
    if not view.rows:
        archived = f"no run but {pluralize(view.more, 'run')} in the archive: bmad runs --all"
        yield archived if view.more else "there is no run in this project yet: bmad run-epic begins one"
        return
    table = [HEADS, *(_cells(row, view.now) for row in view.rows)]
    widths = [max(display_width(row[n]) for row in table) for n in range(len(HEADS))]
    for kept in _column_choices(view.rows):
        if not out.is_terminal or sum(widths[n] for n in kept) + len(GAP) * (len(kept) - 1) <= out.width:
            yield out.style(_line(HEADS, widths, kept), "dim")
            for row, cells in zip(view.rows, table[1:], strict=True):
                yield _coloured(_line(cells, widths, kept), row, out)
            break
    else:
        for cells in table[1:]:
            yield from _narrow_row_lines(cells, out)
    yield from _footnotes(view, out)


def _column_choices(rows: list[RunRow]) -> Iterator[list[int]]:
    """Sets of columns to try, widest first: redundant columns are dropped."""
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
        printable(row.run),
        printable(row.session),
        printable(row.target),
        row.status,
        step,
        short_timestamp(row.started_at, now),
        ago(row.last_checkpoint, now),
        cost(row.dollars, row.unpriced, row.calls),
    )


def _line(cells: tuple[str, ...], widths: list[int], kept: list[int]) -> str:
    return GAP.join(pad(cells[n], widths[n]) for n in kept).rstrip()


def _coloured(line: str, row: RunRow, out: Terminal) -> str:
    """Colours the status; archived runs are dim."""
    if row.archived:
        return out.style(line, "dim")
    begin = line.find(f"{GAP}{row.status}", len(printable(row.run))) + len(GAP)
    end = begin + len(row.status)
    return line[:begin] + out.style(row.status, *filter(None, [COLORS.get(row.status)])) + line[end:]


def _narrow_row_lines(cells: tuple[str, ...], out: Terminal) -> Iterator[str]:
    run, session, target, status, step, started, last, price = cells
    yield from (out.style(line, "bold") for line in wrap(run, out.width, "  "))
    known = [status, f"step {step}" if step else "", target, f"session {session}", f"began {started}", last, price]
    yield from wrap("  " + " · ".join(filter(None, known)), out.width, "  ")


def _footnotes(view: RunsView, out: Terminal) -> Iterator[str]:
    said = []
    if view.more:
        said.append(f"… {view.more:,} older: bmad runs --all")
    if any(row.status == CUT_SHORT for row in view.rows):
        said.append("cut short: it was running, and nobody looks after it now; bmad resume goes on with it")
    if said:
        yield ""
    for text in said:
        yield from wrap(text, out.width, "  ") if out.is_terminal else [text]


def short_timestamp(at: float | None, now: float) -> str:
    """`14:03` of today, `02-26 14:03` of this year, else the date."""
    if not at:
        return "–"
    there, here = time.localtime(at), time.localtime(now)
    form = "%H:%M" if there[:3] == here[:3] else "%m-%d %H:%M" if there[0] == here[0] else "%Y-%m-%d"
    return time.strftime(form, there)


def ago(at: float | None, now: float) -> str:
    if not at:
        return "–"
    minutes = int(max(0.0, now - at) // 60)
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes} min ago"
    return f"{minutes // 60} h ago" if minutes < 48 * 60 else f"{minutes // 1440} days ago"


def cost(dollars: float, unpriced: int, calls: int) -> str:
    """`$1.26+`: some calls reported no price."""
    if not calls:
        return "–"
    return "?" if unpriced == calls else money(dollars) + "+" * bool(unpriced)


class SessionRow(NamedTuple):
    session: str
    runs: Annotated[
        Mapping[str, Count], Keywords(propertyNames={"enum": [*RunStatus, CUT_SHORT]})
    ]  # by status, the most frequent first
    last: Moment | None


class SessionList(NamedTuple):
    sessions: list[SessionRow]


def render_sessions(rows: list[SessionRow], now: float, out: Terminal) -> Iterator[str]:
    if not rows:
        yield "no session has a run yet"
        return
    width = max(display_width(printable(row.session)) for row in rows)
    for row in rows:
        runs = ", ".join(f"{number} {word}" for word, number in row.runs.items())
        whole = pluralize(sum(row.runs.values()), "run")
        text = f"{pad(printable(row.session), width)}  {whole}: {runs}; last {ago(row.last, now)}"
        yield from wrap(text, out.width, " " * (width + 2)) if out.is_terminal else [text]


# `bmad runs show`: the steps of one run with calls, questions, checkpoints and commits.

MAX_STEPS = 200  # steps shown

_STEP_COLORS = {"done": "green", "sent back": "yellow", "given up": "red", "open": "cyan"}


class RunTimelineView(NamedTuple):
    row: RunRow
    timeline: Timeline
    folder: str  # relative to the current folder, if below it
    now: float
    problems: tuple[str, ...] = ()  # problems of its files


def render_run(view: RunTimelineView, out: Terminal) -> Iterator[str]:
    yield from _head(view, out)
    steps = view.timeline.all_steps
    if len(steps) > MAX_STEPS:
        yield ""
        yield f"… {len(steps) - MAX_STEPS} steps before these: --json has them all"
    for step in steps[-MAX_STEPS:]:
        yield ""
        yield from _step(step, out)
    yield ""
    yield from fit(f"{out.style('its files', 'dim')}  {printable(view.folder)}", out, "  ")


def _head(view: RunTimelineView, out: Terminal) -> Iterator[str]:
    row = view.row
    yield from (out.style(line, "bold") for line in fit(printable(row.run), out, "  "))
    step = f"step {row.step}/{row.total}" if row.total else ""
    about = [row.target, f"session {row.session}", row.status + " (archived)" * row.archived, step]
    yield from fit("  " + " · ".join(printable(part) for part in about if part), out, "  ")
    own = [one for step in view.timeline.steps if not step.taken_over for one in step.attempts]
    calls, tokens = len(own), sum(one.tokens for one in own)
    spent = [
        f"began {_when(row.started_at)}",
        f"last checkpoint {ago(row.last_checkpoint, view.now)}",
        pluralize(calls, "agent call") if calls else "",
        cost(row.dollars, row.unpriced, row.calls) if row.calls else "",
        pluralize(tokens, "token") if tokens else "",
        f"resumed {pluralize(view.timeline.resumed, 'time')}" if view.timeline.resumed else "",
    ]
    yield from fit("  " + " · ".join(part for part in spent if part), out, "  ")
    forked = view.timeline.forked
    if forked:
        branch = f", on branch {forked.branch}" if forked.branch else ""
        text = f"  began at step {forked.step} of {forked.run} [{forked.checkpoint[:6]}]{branch}"
        yield from fit(printable(text), out, "  ")
        if forked.saved:
            yield from fit(printable(f"  what lay in the work tree then: {forked.saved}"), out, "  ")
    for odd in view.problems:
        yield from fit(f"  {out.style('!', 'yellow')} {printable(odd)}", out, "    ")


def _step(step: StepTimeline, out: Terminal) -> Iterator[str]:
    if step.number:
        of = " ".join(filter(None, (step.story, f"round {step.round}" if step.round > 1 else "")))
        words = [pad(step.status, 9), elapsed(step.seconds) if step.ended else ""]
        words += [
            money(step.dollars) if step.attempts and not step.taken_over else "",
            f"[{step.checkpoint}]" if step.checkpoint else "",
        ]
        words.append("taken over" if step.taken_over else "")
        text = f"{step.number:>3}  {pad(printable(step.name), max(12, display_width(step.name)))}  "
        text += "  ".join(printable(word) for word in (of, *words) if word.strip())
        lines = fit(text.rstrip(), out, " " * 5)
        yield lines[0].replace(step.status, out.style(step.status, _STEP_COLORS[step.status]), 1)
        yield from lines[1:]
    else:
        yield "  –  before the first step"
    happened: list[tuple[float, list[str]]] = []
    happened += [(one.at, list(_attempt(one, out))) for one in step.attempts]
    happened += [(one.at, list(_question(one, out))) for one in step.questions]
    happened += [
        (one.at, _indented(f"commit {one.sha[:7]}  {first_line(one.subject)}", out)) for one in step.commits
    ]
    for _, lines in sorted(happened, key=lambda item: item[0]):
        yield from lines
    if step.output:
        yield from _indented(f"output {step.output}", out)


def _attempt(one: AttemptLine, out: Terminal) -> Iterator[str]:
    word, color = FINDINGS.get(one.finding, (one.finding, "red"))
    spent = [elapsed(one.seconds) if one.finding else "", pluralize(one.tokens, "token") if one.tokens else ""]
    spent.append(money(one.dollars) if one.dollars is not None else "")
    said = most_relevant_line(one.message) if one.finding not in ("good", "asked", "") else ""
    text = f"attempt {one.attempt}  {one.agent}  {word}  " + " · ".join(part for part in spent if part)
    lines = _indented(text.rstrip() + (f": {said}" if said else ""), out)
    yield lines[0].replace(word, out.style(word, color), 1)
    yield from lines[1:]


def _question(one: QuestionLine, out: Terminal) -> Iterator[str]:
    yield from _indented(f"asks {one.id}  {first_line(one.text)}", out)
    if one.answer is not None:
        by = f"  ({one.by})" if one.by not in ("", "human") else ""
        yield from _indented(f"answer  {first_line(one.answer)}{by}", out)
    else:
        yield from _indented("no answer yet: bmad questions", out)


def _indented(text: str, out: Terminal) -> list[str]:
    return fit(" " * 5 + printable(text), out, " " * 7)


def _when(at: float | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at)) if at else "at an unknown time"


class StepRow(NamedTuple):
    number: Count
    name: str
    story: str
    round: Count
    began: Moment | None
    ended: Moment | None
    status: Annotated[str, one_of(_STEP_COLORS)]
    attempts: list[AttemptLine]
    questions: list[QuestionLine]
    commits: list[CommitLine]
    checkpoint: str | None
    output: str
    taken_over: bool
    seconds: float


class RunDetails(NamedTuple):
    run: str
    session: str
    target: str
    status: RunWord
    archived: bool
    protocol: bool
    step: Count
    total: Count
    started_at: Moment | None
    last_checkpoint: Moment | None
    dollars: float
    unpriced: Count
    resumed: Count
    forked_from: Annotated[ForkOrigin | None, "the checkpoint of another run that it began at"]
    folder: str
    odd: Annotated[tuple[str, ...], "what is wrong with its files"]
    steps: list[StepRow]


def run_details(view: RunTimelineView) -> RunDetails:
    timeline = view.timeline
    return pick(
        RunDetails,
        view.row,
        resumed=timeline.resumed,
        forked_from=timeline.forked,
        folder=view.folder,
        odd=view.problems,
        steps=[_step_row(step) for step in timeline.all_steps],
    )


def _step_row(step: StepTimeline) -> StepRow:
    known = {"began": step.began or None, "ended": step.ended or None, "checkpoint": step.checkpoint or None}
    return pick(StepRow, step, seconds=round(step.seconds, 3), **known)

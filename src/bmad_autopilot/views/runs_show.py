"""One run: its steps with their calls, questions, checkpoints and commits."""

import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import NamedTuple

from ..runs.timeline import AttemptLine, QuestionLine, StepTimeline, Timeline
from ..runs.times import iso
from .figures import counted, money, took
from .log_lines import fit
from .runs import RunRow, ago, cost
from .terminal import Terminal, clean, display_width, pad
from .words import FINDINGS, first_line, telling

MOST = 200  # steps on one page

_STEP_COLORS = {"done": "green", "sent back": "yellow", "given up": "red", "open": "cyan"}


class ShowView(NamedTuple):
    row: RunRow
    whole: Timeline
    folder: str  # as a person in the project's folder would write it
    now: float
    odd: tuple[str, ...] = ()  # what is wrong with its files


def render(view: ShowView, out: Terminal) -> Iterator[str]:
    yield from _head(view, out)
    steps = view.whole.all_steps
    if len(steps) > MOST:
        yield ""
        yield f"… {len(steps) - MOST} steps before these: --json has them all"
    for step in steps[-MOST:]:
        yield ""
        yield from _step(step, out)
    yield ""
    yield from fit(f"{out.style('its files', 'dim')}  {clean(view.folder)}", out, "  ")


def _head(view: ShowView, out: Terminal) -> Iterator[str]:
    row = view.row
    yield from (out.style(line, "bold") for line in fit(clean(row.run), out, "  "))
    step = f"step {row.step}/{row.total}" if row.total else ""
    about = [row.target, f"session {row.session}", row.status + " (archived)" * row.is_archived, step]
    yield from fit("  " + " · ".join(clean(part) for part in about if part), out, "  ")
    own = [one for step in view.whole.steps if not step.taken_over for one in step.attempts]
    calls, tokens = len(own), sum(one.tokens for one in own)
    spent = [
        f"began {_when(row.started)}",
        f"last checkpoint {ago(row.last, view.now)}",
        counted(calls, "agent call") if calls else "",
        cost(row.dollars, row.unpriced, row.calls) if row.calls else "",
        counted(tokens, "token") if tokens else "",
        f"resumed {counted(view.whole.resumed, 'time')}" if view.whole.resumed else "",
    ]
    yield from fit("  " + " · ".join(part for part in spent if part), out, "  ")
    forked = view.whole.forked
    if forked:
        branch = f", on branch {forked['branch']}" if forked["branch"] else ""
        text = f"  began at step {forked['step']} of {forked['run']} [{forked['checkpoint'][:6]}]{branch}"
        yield from fit(clean(text), out, "  ")
        if forked["saved"]:
            yield from fit(clean(f"  what lay in the work tree then: {forked['saved']}"), out, "  ")
    for odd in view.odd:
        yield from fit(f"  {out.style('!', 'yellow')} {clean(odd)}", out, "    ")


def _step(step: StepTimeline, out: Terminal) -> Iterator[str]:
    if step.number:
        of = " ".join(filter(None, (step.story, f"round {step.round}" if step.round > 1 else "")))
        words = [pad(step.status, 9), took(step.seconds) if step.ended else ""]
        words += [
            money(step.dollars) if step.attempts and not step.taken_over else "",
            f"[{step.checkpoint}]" if step.checkpoint else "",
        ]
        words.append("taken over" if step.taken_over else "")
        text = f"{step.number:>3}  {pad(clean(step.name), max(12, display_width(step.name)))}  "
        text += "  ".join(clean(word) for word in (of, *words) if word.strip())
        lines = fit(text.rstrip(), out, " " * 5)
        yield lines[0].replace(step.status, out.style(step.status, _STEP_COLORS[step.status]), 1)
        yield from lines[1:]
    else:
        yield "  –  before the first step"
    happened: list[tuple[float, list[str]]] = []
    happened += [(one.at, list(_attempt(one, out))) for one in step.attempts]
    happened += [(one.at, list(_question(one, out))) for one in step.questions]
    happened += [(one.at, _below(f"commit {one.sha[:7]}  {first_line(one.subject)}", out)) for one in step.commits]
    for _, lines in sorted(happened, key=lambda item: item[0]):
        yield from lines
    if step.output:
        yield from _below(f"output {step.output}", out)


def _attempt(one: AttemptLine, out: Terminal) -> Iterator[str]:
    word, color = FINDINGS.get(one.finding, (one.finding, "red"))
    spent = [took(one.seconds) if one.finding else "", counted(one.tokens, "token") if one.tokens else ""]
    spent.append(money(one.dollars) if one.dollars is not None else "")
    said = telling(one.message) if one.finding not in ("good", "asked", "") else ""
    text = f"attempt {one.attempt}  {one.agent}  {word}  " + " · ".join(part for part in spent if part)
    lines = _below(text.rstrip() + (f": {said}" if said else ""), out)
    yield lines[0].replace(word, out.style(word, color), 1)
    yield from lines[1:]


def _question(one: QuestionLine, out: Terminal) -> Iterator[str]:
    yield from _below(f"asks {one.id}  {first_line(one.text)}", out)
    if one.answer is not None:
        by = f"  ({one.by})" if one.by not in ("", "human") else ""
        yield from _below(f"answer  {first_line(one.answer)}{by}", out)
    else:
        yield from _below("no answer yet: bmad questions", out)


def _below(text: str, out: Terminal) -> list[str]:
    return fit(" " * 5 + clean(text), out, " " * 7)


def _when(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at)) if at else "at an unknown time"


def document(view: ShowView) -> dict[str, object]:
    row = view.row
    return {
        "version": 1,
        "kind": "run",
        "run": row.run,
        "session": row.session,
        "target": row.target,
        "status": row.status,
        "archived": row.is_archived,
        "protocol": row.is_protocol,
        "step": row.step,
        "total": row.total,
        "started_at": iso(row.started) if row.started else None,
        "last_checkpoint": iso(row.last) if row.last else None,
        "dollars": round(row.dollars, 6),
        "unpriced": row.unpriced,
        "resumed": view.whole.resumed,
        "forked_from": dict(view.whole.forked) or None,
        "folder": view.folder,
        "odd": list(view.odd),
        "steps": [_step_document(step) for step in view.whole.all_steps],
    }


def _step_document(step: StepTimeline) -> dict[str, object]:
    data = asdict(step)
    for name in ("attempts", "questions", "commits"):
        data[name] = [{**one, "at": iso(one["at"])} for one in data[name]]
    moments = {name: iso(data[name]) if data[name] else None for name in ("began", "ended")}
    return {**data, **moments, "checkpoint": step.checkpoint or None, "seconds": round(step.seconds, 3)}

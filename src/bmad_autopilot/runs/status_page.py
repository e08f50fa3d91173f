"""`workflow-status.md`: a run's page for a person, beside `state.json` for programs."""

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ..files import write_atomic
from .state import Artefact

NAME = "workflow-status.md"
MAX_STEPS = 100  # rows of the table
MAX_LISTED = 50  # variables, artefacts, issues
MAX_CELL = 120
MAX_VALUE = 400
BAR = 20

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_YAML_WORDS = frozenset("null true false yes no on off y n".split())
_MARKS = {"done": "✅", "running": "▶️", "failed": "❌", "skipped": "⏭️", "waiting": "⏸️", "pending": "·"}


class StepLine(NamedTuple):
    number: int
    name: str
    status: str  # done, running, failed, skipped, waiting, pending
    agent: str = ""
    seconds: float | None = None
    output: str = ""  # a path, or a few words
    story: str = ""


class Page(NamedTuple):
    workflow: str
    run_id: str
    session: str
    status: str
    started_at: float
    updated_at: float
    agent: str = ""  # at work now
    current_step: int = 0
    total_steps: int = 0
    steps: tuple[StepLine, ...] = ()
    variables: Mapping[str, Any] = {}
    artefacts: tuple[Artefact, ...] = ()
    issues: tuple[str, ...] = ()
    resume: str = ""  # the command
    earlier: int = 0  # steps before those
    done: int | None = None  # steps that are completed; None: as those tell


def write_status_page(run: str, page: Page) -> None:
    """Not waited for: it can be made anew."""
    write_atomic(os.path.join(run, NAME), render(page).encode("utf-8", "replace"), durable=False)


def render(page: Page) -> str:
    """Pure. Names come from files and agents: none of them ends a table's cell or a code block."""
    parts = (
        [f"# {_line(page.workflow) or 'Workflow'} — {_line(page.status)}"],
        list(_head(page)),
        [f"`{_bar(page)}`"],
        ["## Steps", "", *_steps(page.steps, page.earlier)],
        ["## Variables", "", *_variables(page.variables)] if page.variables else [],
        ["## Artefacts", "", *_artefacts(page.artefacts)] if page.artefacts else [],
        ["## Issues", "", *_issues(page.issues)] if page.issues else [],
        list(_resume(page)),
    )
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _head(page: Page) -> Iterator[str]:
    yield "| | |"
    yield "|---|---|"
    step = f"{page.current_step}/{page.total_steps}" if page.total_steps else str(page.current_step)
    for name, value in (
        ("Workflow", page.workflow),
        ("Run ID", page.run_id),
        ("Session branch", page.session),
        ("Status", page.status),
        ("Started", _moment(page.started_at)),
        ("Last update", _moment(page.updated_at)),
        ("Active agent", page.agent),
        ("Step", step),
    ):
        yield f"| **{name}** | {_cell(value) or '–'} |"


def _bar(page: Page) -> str:
    """What is done, of all that is to do."""
    done = sum(step.status == "done" for step in page.steps) if page.done is None else page.done
    total = max(page.total_steps, page.earlier + len(page.steps), 1)
    filled = done * BAR // total
    if 0 < done < total:
        filled = max(1, min(filled, BAR - 1))
    return f"{'█' * filled}{'░' * (BAR - filled)} {done * 100 // total:>3}%  {done}/{total} steps"


def _steps(steps: tuple[StepLine, ...], earlier: int) -> Iterator[str]:
    if not steps:
        yield "None has begun."
        return
    left_out = max(0, len(steps) - MAX_STEPS)
    if before := earlier + left_out:
        yield f"The last {MAX_STEPS} of {earlier + len(steps):,}; {before:,} before them are in `journal.jsonl`."
        yield ""
    yield "| Step | Name | Story | Status | Agent | Duration | Output |"
    yield "|---:|---|---|---|---|---:|---|"
    for step in steps[left_out:]:
        status = " ".join(filter(None, (_MARKS.get(step.status, ""), step.status)))
        took = _took(step.seconds) if step.seconds is not None else ""
        cells = (step.name, step.story, status, step.agent, took, step.output)
        yield f"| {step.number} | {' | '.join(map(_cell, cells))} |"


def _variables(variables: Mapping[str, Any]) -> Iterator[str]:
    yield "```yaml"
    for name, value in list(variables.items())[:MAX_LISTED]:
        yield f"{_plain_name(name)}: {_value(value)}"
    if len(variables) > MAX_LISTED:
        yield f"# … {len(variables) - MAX_LISTED} more in state.json"
    yield "```"


def _artefacts(artefacts: tuple[Artefact, ...]) -> Iterator[str]:
    for one in artefacts[-MAX_LISTED:]:
        name = f" ({_line(one.name)})" if one.name and one.name not in one.path else ""
        yield f"- step {one.step}: {_code(one.path)}{name}"
    if len(artefacts) > MAX_LISTED:
        yield f"- … {len(artefacts) - MAX_LISTED} earlier ones in `state.json`"


def _issues(issues: tuple[str, ...]) -> Iterator[str]:
    for issue in issues[-MAX_LISTED:]:
        yield f"- {_line(issue)}"
    if len(issues) > MAX_LISTED:
        yield f"- … {len(issues) - MAX_LISTED} earlier ones in `state.json`"


def _resume(page: Page) -> Iterator[str]:
    if page.resume and page.status != "completed":
        yield from ("## How to go on", "", "```sh", _one_line(page.resume), "```")


def _moment(at: float) -> str:
    """With its zone: the page may be read elsewhere."""
    return time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(at)) if at else ""


def _took(seconds: float) -> str:
    if seconds < 60:
        return f"{max(0.0, seconds):.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _one_line(text: str) -> str:
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _line(text: str) -> str:
    """One line, whatever stands in it, and no tag of HTML."""
    return _cut(_one_line(text), MAX_VALUE).replace("<", "&lt;")


@lru_cache(maxsize=4096)  # the same names stand there after each step
def _cell(text: str) -> str:
    short = _cut(_one_line(text), MAX_CELL).replace("<", "&lt;")
    return short.replace("\\", "\\\\").replace("|", "\\|").replace("`", "'")


def _code(text: str) -> str:
    return f"`{_cut(_one_line(text), MAX_CELL).replace('`', chr(39))}`"


def _plain_name(name: str) -> str:
    return name if _NAME.fullmatch(name) and name.lower() not in _YAML_WORDS else _value(name)


def _value(value: object) -> str:
    """As JSON, which YAML reads too; on one line, so that no value ends the block."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return _cut(text if text.isprintable() else json.dumps(value, default=str), MAX_VALUE)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"

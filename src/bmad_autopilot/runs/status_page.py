"""Renders `workflow-status.md`, the human-readable counterpart of `state.json`."""

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ..core.text import clip, one_line
from ..io.files import write_atomic
from .state_file import StepArtefact

STATUS_PAGE_FILE = "workflow-status.md"
MAX_STEPS = 100  # rows in the table
MAX_LISTED = 50  # variables, artefacts, issues
MAX_CELL = 120
MAX_VALUE = 400
BAR_WIDTH = 20

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


class StatusPage(NamedTuple):
    workflow: str
    run_id: str
    session: str
    status: str
    started_at: float
    updated_at: float
    agent: str = ""  # the active agent
    current_step: int = 0
    total_steps: int = 0
    steps: tuple[StepLine, ...] = ()
    variables: Mapping[str, Any] = {}
    artefacts: tuple[StepArtefact, ...] = ()
    issues: tuple[str, ...] = ()
    resume: str = ""  # command that resumes the run
    earlier: int = 0  # number of steps before `steps`
    done: int | None = None  # completed steps; None: count them in `steps`


def write_status_page(run: str, page: StatusPage) -> None:
    """Not synced to disk: it can be regenerated."""
    write_atomic(
        os.path.join(run, STATUS_PAGE_FILE), render_status_page(page).encode("utf-8", "replace"), durable=False
    )


def render_status_page(page: StatusPage) -> str:
    """Pure. Escapes names from files and agents so that none ends a table cell or a code block."""
    parts = (
        [f"# {_line(page.workflow) or 'Workflow'} — {_line(page.status)}"],
        list(_head(page)),
        [f"`{_progress_bar(page)}`"],
        ["## Steps", "", *_steps(page.steps, page.earlier)],
        ["## Variables", "", *_variables(page.variables)] if page.variables else [],
        ["## Artefacts", "", *_artefacts(page.artefacts)] if page.artefacts else [],
        ["## Issues", "", *_issues(page.issues)] if page.issues else [],
        list(_resume(page)),
    )
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _head(page: StatusPage) -> Iterator[str]:
    yield "| | |"
    yield "|---|---|"
    step = f"{page.current_step}/{page.total_steps}" if page.total_steps else str(page.current_step)
    for name, value in (
        ("Workflow", page.workflow),
        ("Run ID", page.run_id),
        ("Session branch", page.session),
        ("Status", page.status),
        ("Started", _timestamp(page.started_at)),
        ("Last update", _timestamp(page.updated_at)),
        ("Active agent", page.agent),
        ("Step", step),
    ):
        yield f"| **{name}** | {_cell(value) or '–'} |"


def _progress_bar(page: StatusPage) -> str:
    """Progress bar of completed and total steps."""
    done = sum(step.status == "done" for step in page.steps) if page.done is None else page.done
    total = max(page.total_steps, page.earlier + len(page.steps), 1)
    filled = done * BAR_WIDTH // total
    if 0 < done < total:
        filled = max(1, min(filled, BAR_WIDTH - 1))
    return f"{'█' * filled}{'░' * (BAR_WIDTH - filled)} {done * 100 // total:>3}%  {done}/{total} steps"


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
        took = _duration(step.seconds) if step.seconds is not None else ""
        cells = (step.name, step.story, status, step.agent, took, step.output)
        yield f"| {step.number} | {' | '.join(map(_cell, cells))} |"


def _variables(variables: Mapping[str, Any]) -> Iterator[str]:
    yield "```yaml"
    for name, value in list(variables.items())[:MAX_LISTED]:
        yield f"{_plain_name(name)}: {_value(value)}"
    if len(variables) > MAX_LISTED:
        yield f"# … {len(variables) - MAX_LISTED} more in state.json"
    yield "```"


def _artefacts(artefacts: tuple[StepArtefact, ...]) -> Iterator[str]:
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


def _resume(page: StatusPage) -> Iterator[str]:
    if page.resume and page.status != "completed":
        yield from ("## How to go on", "", "```sh", one_line(page.resume), "```")


def _timestamp(at: float) -> str:
    """Includes the time zone: the page may be read elsewhere."""
    return time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(at)) if at else ""


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{max(0.0, seconds):.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _line(text: str) -> str:
    """One line without HTML tags."""
    return one_line(text, MAX_VALUE).replace("<", "&lt;")


@lru_cache(maxsize=4096)  # the same names recur after each step
def _cell(text: str) -> str:
    short = one_line(text, MAX_CELL).replace("<", "&lt;")
    return short.replace("\\", "\\\\").replace("|", "\\|").replace("`", "'")


def _code(text: str) -> str:
    return f"`{one_line(text, MAX_CELL).replace('`', chr(39))}`"


def _plain_name(name: str) -> str:
    return name if _NAME.fullmatch(name) and name.lower() not in _YAML_WORDS else _value(name)


def _value(value: object) -> str:
    """JSON, which is valid YAML; on one line, so that no value ends the block."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return clip(text if text.isprintable() else json.dumps(value, default=str), MAX_VALUE)

"""Reads a flow's state file, `_docs/_autopilot_state.md`, in the format of spec 004. People and agents edit it
too: reading is tolerant, and irregularities become diagnostics."""

import re

from ..core.flow_state import STATUSES, CompletedStep, FlowState, LastSession, RetryEntry
from ..io.files import TextFile
from . import flow_state_page as tables
from .flow_state_page import (
    MarkdownPage,
    PageField,
    PageSection,
    clean_line,
    find_fields,
    find_items,
    is_empty_value,
    letters_only,
    make_warning,
    read_page,
)

# Values: steps, statuses and counts as people write them.

DONE = "done"  # the step of a finished flow
MAX_COUNT = 999_999_999

_STEP = re.compile(
    r"(?:step[ \t]*)?#?0*([0-9]{1,4})[.:)]?(?:[ \t]*[—–-][ \t].*|[ \t]+[A-Za-z(].*)?", re.IGNORECASE
)
_COUNT = re.compile(r"([0-9]{1,9})(?:[ \t]*(?:/|of)[ \t]*[0-9]+)?")
_MARKS = "`*\"' \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_STATUS_ALIASES = {
    "completed": ("done", "complete", "finished", "passed"),
    "in_progress": ("started", "wip", "running", "active"),
    "not_started": ("pending", "todo", "new", "ready"),
    "skipped": ("skip", "omitted"),
    "failed": ("blocked", "error", "failure"),
}


def normalise_step(raw: str) -> str:
    """`3` for `03`, `Step 3` and `3 — Plan`."""
    word = strip_marks(raw)
    if word.lower() == DONE:
        return DONE
    match = _STEP.fullmatch(word)
    return match[1] if match else word


def normalise_status(raw: str) -> str:
    word = strip_marks(raw)
    known = re.sub(r"[\s_-]+", "_", word.lower())
    return known if known in STATUSES else word


def parse_count(raw: str) -> int | None:
    match = _COUNT.fullmatch(strip_marks(raw))
    return int(match[1]) if match else None


def strip_marks(raw: str) -> str:
    """Strips quotes and emphasis around a word."""
    return clean_line(raw).strip(_MARKS)


def suggest_status(raw: str) -> str | None:
    from difflib import get_close_matches

    word = re.sub(r"[\s_-]+", "_", strip_marks(raw).lower())
    meant = next((status for status, words in _STATUS_ALIASES.items() if word in words), None)
    if meant:
        return meant
    close = get_close_matches(word[:40], STATUSES, n=1, cutoff=0.6)
    return close[0] if close else None


CURRENT, COMPLETED, DECISIONS = "Current Step", "Completed Steps", "Key Decisions"
LAST, RETRIES, BLOCKERS = "Last Session", "Retry Log", "Blockers"
SECTIONS = (CURRENT, COMPLETED, DECISIONS, LAST, RETRIES, BLOCKERS)
MAX_DIAGNOSTICS = 100
CURRENT_FIELDS = ("flow", "step", "name", "status", "sub_step", "retry_count")


def read_flow_state(text: TextFile) -> FlowState:
    """Never fails, whatever the file contains."""
    page = open_page(text)
    fields = section_fields(text, page, CURRENT, CURRENT_FIELDS)
    last = section_fields(text, page, LAST, LastSession._fields)
    flow, step, name, status, sub_step, count = (_field_value(fields, name) for name in CURRENT_FIELDS)
    state = FlowState(
        *(flow, step, name, status, sub_step),
        retry_count=parse_count(count) or 0,
        completed=tuple(CompletedStep(*row.value) for row in section_table(text, page, COMPLETED).rows),
        decisions=_items(page, DECISIONS),
        last=LastSession(*(_field_value(last, name) for name in LastSession._fields)),
        retries=tuple(RetryEntry(*row.value) for row in section_table(text, page, RETRIES).rows),
        blockers=_items(page, BLOCKERS),
    )
    _check_values(text, page, fields)
    noted = sorted(page.diagnostics, key=lambda one: one.location.line or 0)
    return normalise_flow_state(state)._replace(diagnostics=tuple(noted[:MAX_DIAGNOSTICS]))


def _field_value(fields: dict[str, PageField], name: str) -> str:
    return fields[name].text if name in fields else ""


def normalise_flow_state(state: FlowState) -> FlowState:
    """Normalises values to what a later read of the file returns."""
    rows = (CompletedStep(*map(clean_line, row)) for row in state.completed)
    retries = (RetryEntry(*map(clean_line, row)) for row in state.retries)
    return FlowState(
        flow=strip_marks(state.flow),
        step=normalise_step(state.step),
        name=clean_line(state.name),
        status=normalise_status(state.status),
        sub_step=clean_line(state.sub_step),
        retry_count=min(max(0, state.retry_count), MAX_COUNT),
        completed=tuple(row for row in rows if tables.is_row(row, tables.COMPLETED)),
        decisions=_clean_items(state.decisions),
        last=LastSession(*map(clean_line, state.last)),
        retries=tuple(row for row in retries if tables.is_row(row, tables.RETRIES)),
        blockers=_clean_items(state.blockers),
    )


def _clean_items(items: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text for text in map(clean_line, items) if not is_empty_value((text,)))


def open_page(text: TextFile) -> MarkdownPage:
    return read_page(text, [letters_only(title) for title in SECTIONS])


def find_section(page: MarkdownPage, title: str) -> PageSection | None:
    return page.sections.get(letters_only(title))


def section_fields(text: TextFile, page: MarkdownPage, title: str, names: tuple[str, ...]) -> dict[str, PageField]:
    section = find_section(page, title)
    return find_fields(text, page, section, names) if section else {}


def section_table(text: TextFile, page: MarkdownPage, title: str) -> tables.Table:
    section, columns = find_section(page, title), COLUMNS[title]
    return tables.find_table(text, page, section or PageSection(0, 0), columns)


COLUMNS = {COMPLETED: tables.COMPLETED, RETRIES: tables.RETRIES}


def _items(page: MarkdownPage, title: str) -> tuple[str, ...]:
    section = find_section(page, title)
    return tuple(one.value[0] for one in find_items(page, section)[0]) if section else ()


def _check_values(text: TextFile, page: MarkdownPage, fields: dict[str, PageField]) -> None:
    if find_section(page, CURRENT) is None and text.text.strip():
        page.diagnostics.append(make_warning(text, "missing-section", f"there is no section `## {CURRENT}`", 0))
    status, count = fields.get("status"), fields.get("retry_count")
    if status and normalise_status(status.text) not in ("", *STATUSES):
        near = suggest_status(status.text)
        hint = f"did you mean {near}?" if near else f"one of {', '.join(STATUSES)}"
        message = f"the status {status.text[:80]!r} is unknown"
        page.diagnostics.append(make_warning(text, "unknown-status", message, status.line, hint))
    if count and count.text and parse_count(count.text) is None:
        message = f"retry_count is no number: {count.text[:80]!r}; it is read as 0"
        page.diagnostics.append(make_warning(text, "bad-retry-count", message, count.line, "write 0, 1, 2 or 3"))

"""A flow's state file, `_docs/_autopilot_state.md`: what it says. 004 documents its form. People and agents edit
it too: it is read tolerantly, and what is odd becomes a diagnostic."""

from ..core.flow_state import Completed as Completed
from ..core.flow_state import FlowState as FlowState
from ..core.flow_state import LastSession as LastSession
from ..core.flow_state import Retry as Retry
from ..files import Text
from . import flow_state_table as tables
from .flow_state_page import (
    Field,
    Page,
    Section,
    clean,
    find_fields,
    find_items,
    letters,
    note,
    read_page,
    says_nothing,
)
from .flow_state_words import MAX_COUNT, STATUSES, count_of, status_of, step_of, suggested, word_of

CURRENT, COMPLETED, DECISIONS = "Current Step", "Completed Steps", "Key Decisions"
LAST, RETRIES, BLOCKERS = "Last Session", "Retry Log", "Blockers"
SECTIONS = (CURRENT, COMPLETED, DECISIONS, LAST, RETRIES, BLOCKERS)
MAX_DIAGNOSTICS = 100
CURRENT_FIELDS = ("flow", "step", "name", "status", "sub_step", "retry_count")


def read_flow_state(text: Text) -> FlowState:
    """Whatever the file holds. Never fails."""
    page = open_page(text)
    fields = fields_of(text, page, CURRENT, CURRENT_FIELDS)
    last = fields_of(text, page, LAST, LastSession._fields)
    flow, step, name, status, sub_step, count = (_said(fields, name) for name in CURRENT_FIELDS)
    state = FlowState(
        *(flow, step, name, status, sub_step),
        retry_count=count_of(count) or 0,
        completed=tuple(Completed(*row.value) for row in table_of(text, page, COMPLETED).rows),
        decisions=_items(page, DECISIONS),
        last=LastSession(*(_said(last, name) for name in LastSession._fields)),
        retries=tuple(Retry(*row.value) for row in table_of(text, page, RETRIES).rows),
        blockers=_items(page, BLOCKERS),
    )
    _judge(text, page, fields)
    noted = sorted(page.diagnostics, key=lambda one: one.place.line or 0)
    return plain(state)._replace(diagnostics=tuple(noted[:MAX_DIAGNOSTICS]))


def _said(fields: dict[str, Field], name: str) -> str:
    return fields[name].text if name in fields else ""


def plain(state: FlowState) -> FlowState:
    """As it will be read again once it is written."""
    rows = (Completed(*map(clean, row)) for row in state.completed)
    retries = (Retry(*map(clean, row)) for row in state.retries)
    return FlowState(
        flow=word_of(state.flow),
        step=step_of(state.step),
        name=clean(state.name),
        status=status_of(state.status),
        sub_step=clean(state.sub_step),
        retry_count=min(max(0, state.retry_count), MAX_COUNT),
        completed=tuple(row for row in rows if tables.is_row(row, tables.COMPLETED)),
        decisions=_texts(state.decisions),
        last=LastSession(*map(clean, state.last)),
        retries=tuple(row for row in retries if tables.is_row(row, tables.RETRIES)),
        blockers=_texts(state.blockers),
    )


def _texts(items: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text for text in map(clean, items) if not says_nothing((text,)))


def open_page(text: Text) -> Page:
    return read_page(text, [letters(title) for title in SECTIONS])


def section_of(page: Page, title: str) -> Section | None:
    return page.sections.get(letters(title))


def fields_of(text: Text, page: Page, title: str, names: tuple[str, ...]) -> dict[str, Field]:
    section = section_of(page, title)
    return find_fields(text, page, section, names) if section else {}


def table_of(text: Text, page: Page, title: str) -> tables.Table:
    section, columns = section_of(page, title), COLUMNS[title]
    return tables.find_table(text, page, section or Section(0, 0), columns)


COLUMNS = {COMPLETED: tables.COMPLETED, RETRIES: tables.RETRIES}


def _items(page: Page, title: str) -> tuple[str, ...]:
    section = section_of(page, title)
    return tuple(one.value[0] for one in find_items(page, section)[0]) if section else ()


def _judge(text: Text, page: Page, fields: dict[str, Field]) -> None:
    if section_of(page, CURRENT) is None and text.text.strip():
        page.diagnostics.append(note(text, "missing-section", f"there is no section `## {CURRENT}`", 0))
    status, count = fields.get("status"), fields.get("retry_count")
    if status and status_of(status.text) not in ("", *STATUSES):
        near = suggested(status.text)
        hint = f"did you mean {near}?" if near else f"one of {', '.join(STATUSES)}"
        message = f"the status {status.text[:80]!r} is unknown"
        page.diagnostics.append(note(text, "unknown-status", message, status.line, hint))
    if count and count.text and count_of(count.text) is None:
        message = f"retry_count is no number: {count.text[:80]!r}; it is read as 0"
        page.diagnostics.append(note(text, "bad-retry-count", message, count.line, "write 0, 1, 2 or 3"))

"""Writing a flow's state file: a new one in 004's form; in one that is there, only the lines that change."""

from collections.abc import Sequence

from ..core.errors import FileError, Place
from ..files import BOM, Text
from .flow_state import (
    BLOCKERS,
    COLUMNS,
    COMPLETED,
    CURRENT,
    CURRENT_FIELDS,
    DECISIONS,
    LAST,
    SECTIONS,
    FlowState,
    fields_of,
    open_page,
    plain,
    read_flow_state,
    section_of,
    table_of,
)
from .flow_state_edit import Edits, Row
from .flow_state_page import Page, Section, field_text, find_items
from .flow_state_table import new_table, row_line

TITLE = "# Autopilot State"
NONE = "none"


def written_flow_state(before: Text | None, wanted: FlowState) -> bytes:
    """The file's new content. What is not changed stays byte for byte."""
    wanted = plain(wanted)
    if before is None or not before.text:
        lines = [TITLE, *(line for title in SECTIONS for line in _new_section(title, wanted))]
        return ((BOM if before and before.bom else "") + "\n".join(lines) + "\n").encode()
    was = plain(read_flow_state(before))
    if was == wanted:
        return before.raw
    after = ((BOM if before.bom else "") + _changed(before, was, wanted)).encode()
    if plain(read_flow_state(Text(before.path, after))) != wanted:
        raise FileError(
            "could not be changed without changing what else it says; nothing was written",
            place=Place(before.path),
            found="code, comments or tables that end elsewhere than they seem to",
            expected="the sections of a flow's state file",
            hint=f"mend it by hand, or put it aside: mv {before.path} {before.path}.old",
        )
    return after


def _new_section(title: str, state: FlowState) -> list[str]:
    heading = f"## {title}"
    if title in COLUMNS:
        return [heading, *new_table(COLUMNS[title], _rows(title, state))]
    if title in (CURRENT, LAST):
        return [heading, *(_field_line(name, value) for name, value in _values(title, state).items())]
    return [heading, *(f"- {text}" for (text,) in _rows(title, state) or _nothing(title))]


def _values(title: str, state: FlowState) -> dict[str, str]:
    if title == LAST:
        return state.last._asdict()
    return {name: str(getattr(state, name)) for name in CURRENT_FIELDS}


def _rows(title: str, state: FlowState) -> Sequence[Row]:
    """Of a table or a list."""
    if title in COLUMNS:
        return state.completed if title == COMPLETED else state.retries
    return [(text,) for text in (state.decisions if title == DECISIONS else state.blockers)]


def _nothing(title: str) -> Sequence[Row]:
    return [(NONE,)] if title == BLOCKERS else []


def _field_line(name: str, value: str) -> str:
    return f"{name}: {field_text(value)}".rstrip()


def _changed(text: Text, was: FlowState, wanted: FlowState) -> str:
    page = open_page(text)
    edits = Edits(page)
    missing: list[str] = []
    for title in SECTIONS:
        section = section_of(page, title)
        of = _values if title in (CURRENT, LAST) else _rows
        if of(title, was) == of(title, wanted):
            continue
        if section is None:
            missing += [*_space(page), *_new_section(title, wanted)]
        elif title in (CURRENT, LAST):
            _change_fields(text, edits, title, was, wanted)
        elif title in COLUMNS:
            _change_table(text, edits, title, _rows(title, wanted))
        else:
            _change_list(edits, title, _rows(title, wanted))
    edits.add(len(page.lines) - 1, missing)
    return edits.joined()


def _change_fields(text: Text, edits: Edits, title: str, was: FlowState, wanted: FlowState) -> None:
    before, values = _values(title, was), _values(title, wanted)
    found = fields_of(text, edits.page, title, tuple(values))
    lead = _lead([one.lead for one in found.values()], "")
    above = _section(edits.page, title).heading
    for name, value in values.items():
        field = found.get(name)
        above = field.line if field else above
        if before[name] == value:
            continue
        if field:
            edits.set_value(field, field_text(value))
        else:
            edits.add(above, [lead + _field_line(name, value)])


def _change_table(text: Text, edits: Edits, title: str, rows: Sequence[Row]) -> None:
    table = table_of(text, edits.page, title)
    if table.last is None:
        edits.add(_last_shown(edits.page, title), new_table(COLUMNS[title], rows))
    else:
        edits.set_entries(table.rows, rows, lambda row, old: row_line(table, row, old), table.last)


def _change_list(edits: Edits, title: str, rows: Sequence[Row]) -> None:
    items, nothing = find_items(edits.page, _section(edits.page, title))
    if not items:
        items = nothing[:1]  # the first item takes the place of `none`
    elif not rows and not nothing:
        rows = _nothing(title)
    lead = _lead([one.lead for one in items], "- ")
    last = items[-1].end - 1 if items else _last_shown(edits.page, title)
    edits.set_entries(items, rows, lambda row, old: (old.lead if old else lead) + row[0], last)


def _lead(leads: list[str], default: str) -> str:
    """Indented and bulleted as the lines around it, but not numbered."""
    return next((lead for lead in leads if not any(map(str.isdigit, lead))), default)


def _section(page: Page, title: str) -> Section:
    section = section_of(page, title)
    assert section is not None
    return section


def _last_shown(page: Page, title: str) -> int:
    section = _section(page, title)
    return max((number for number, line in page.body(section) if line.strip()), default=section.heading)


def _space(page: Page) -> list[str]:
    """A blank line before a new section, where the file has one before others."""
    headings = [section.heading for section in page.sections.values()]
    return [""] if any(at > 0 and not page.shown[at - 1].strip() for at in headings) else []

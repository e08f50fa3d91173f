"""Updates a flow's state file safely while agents and people, who take no lock, may write it too."""

import os
from collections.abc import Sequence
from typing import Any, TypeVar

from ..board.sprint_status_writer import MAX_ATTEMPTS, backup_path
from ..core.errors import ConflictError, FileError, Location
from ..core.flow_state import FlowState, LastSession
from ..io.exchange import replace_if_unchanged
from ..io.files import BOM, TextFile, hold_lock, read_stable, resolve_inside, sync_folder, write_temporary
from .flow_state_page import (
    MarkdownPage,
    PageEdits,
    PageSection,
    Row,
    escape_field,
    find_items,
    format_row,
    format_table,
)
from .flow_state_reader import (
    BLOCKERS,
    COLUMNS,
    COMPLETED,
    CURRENT,
    CURRENT_FIELDS,
    DECISIONS,
    LAST,
    SECTIONS,
    find_section,
    normalise_flow_state,
    open_page,
    read_flow_state,
    section_fields,
    section_table,
)

# Rendering: a new file in the format of spec 004; in an existing one, only the lines that change.

TITLE = "# Autopilot State"
NONE = "none"


def render_flow_state(before: TextFile | None, wanted: FlowState) -> bytes:
    """The file's new content. Unchanged parts stay byte for byte."""
    wanted = normalise_flow_state(wanted)
    if before is None or not before.text:
        lines = [TITLE, *(line for title in SECTIONS for line in _new_section(title, wanted))]
        return ((BOM if before and before.bom else "") + "\n".join(lines) + "\n").encode()
    was = normalise_flow_state(read_flow_state(before))
    if was == wanted:
        return before.raw
    after = ((BOM if before.bom else "") + _edit_lines(before, was, wanted)).encode()
    if normalise_flow_state(read_flow_state(TextFile(before.path, after))) != wanted:
        raise FileError(
            "could not be changed without changing what else it says; nothing was written",
            location=Location(before.path),
            found="code, comments or tables that end elsewhere than they seem to",
            expected="the sections of a flow's state file",
            hint=f"mend it by hand, or put it aside: mv {before.path} {before.path}.old",
        )
    return after


def _new_section(title: str, state: FlowState) -> list[str]:
    heading = f"## {title}"
    if title in COLUMNS:
        return [heading, *format_table(COLUMNS[title], _rows(title, state))]
    if title in (CURRENT, LAST):
        return [heading, *(_field_line(name, value) for name, value in _values(title, state).items())]
    return [heading, *(f"- {text}" for (text,) in _rows(title, state) or _empty_rows(title))]


def _values(title: str, state: FlowState) -> dict[str, str]:
    if title == LAST:
        return state.last._asdict()
    return {name: str(getattr(state, name)) for name in CURRENT_FIELDS}


def _rows(title: str, state: FlowState) -> Sequence[Row]:
    """Rows of a table or a list."""
    if title in COLUMNS:
        return state.completed if title == COMPLETED else state.retries
    return [(text,) for text in (state.decisions if title == DECISIONS else state.blockers)]


def _empty_rows(title: str) -> Sequence[Row]:
    return [(NONE,)] if title == BLOCKERS else []


def _field_line(name: str, value: str) -> str:
    return f"{name}: {escape_field(value)}".rstrip()


def _edit_lines(text: TextFile, was: FlowState, wanted: FlowState) -> str:
    page = open_page(text)
    edits = PageEdits(page)
    missing: list[str] = []
    for title in SECTIONS:
        section = find_section(page, title)
        of = _values if title in (CURRENT, LAST) else _rows
        if of(title, was) == of(title, wanted):
            continue
        if section is None:
            missing += [*_blank_line_before(page), *_new_section(title, wanted)]
        elif title in (CURRENT, LAST):
            _change_fields(text, edits, title, was, wanted)
        elif title in COLUMNS:
            _change_table(text, edits, title, _rows(title, wanted))
        else:
            _change_list(edits, title, _rows(title, wanted))
    edits.add(len(page.lines) - 1, missing)
    return edits.render()


def _change_fields(text: TextFile, edits: PageEdits, title: str, was: FlowState, wanted: FlowState) -> None:
    before, values = _values(title, was), _values(title, wanted)
    found = section_fields(text, edits.page, title, tuple(values))
    lead = _lead([one.lead for one in found.values()], "")
    above = _required_section(edits.page, title).heading
    for name, value in values.items():
        field = found.get(name)
        above = field.line if field else above
        if before[name] == value:
            continue
        if field:
            edits.set_value(field, escape_field(value))
        else:
            edits.add(above, [lead + _field_line(name, value)])


def _change_table(text: TextFile, edits: PageEdits, title: str, rows: Sequence[Row]) -> None:
    table = section_table(text, edits.page, title)
    if table.last is None:
        edits.add(_last_shown(edits.page, title), format_table(COLUMNS[title], rows))
    else:
        edits.set_entries(table.rows, rows, lambda row, old: format_row(table, row, old), table.last)


def _change_list(edits: PageEdits, title: str, rows: Sequence[Row]) -> None:
    items, nothing = find_items(edits.page, _required_section(edits.page, title))
    if not items:
        items = nothing[:1]  # the first item replaces `none`
    elif not rows and not nothing:
        rows = _empty_rows(title)
    lead = _lead([one.lead for one in items], "- ")
    last = items[-1].end - 1 if items else _last_shown(edits.page, title)
    edits.set_entries(items, rows, lambda row, old: (old.lead if old else lead) + row[0], last)


def _lead(leads: list[str], default: str) -> str:
    """The indent and bullet of neighbouring lines, but no number."""
    return next((lead for lead in leads if not any(map(str.isdigit, lead))), default)


def _required_section(page: MarkdownPage, title: str) -> PageSection:
    section = find_section(page, title)
    assert section is not None
    return section


def _last_shown(page: MarkdownPage, title: str) -> int:
    section = _required_section(page, title)
    return max((number for number, line in page.body(section) if line.strip()), default=section.heading)


def _blank_line_before(page: MarkdownPage) -> list[str]:
    """A blank line before a new section, if other sections have one."""
    headings = [section.heading for section in page.sections.values()]
    return [""] if any(at > 0 and not page.visible_lines[at - 1].strip() for at in headings) else []


MAX_BYTES = 1_000_000

T = TypeVar("T")
_LISTS = ("completed", "decisions", "retries", "blockers")


def load_flow_state(path: str, *, inside: str) -> FlowState | None:
    """The file's state; None if there is no file. Raises FileError if it is not readable text."""
    text = _read_text(path, resolve_inside(path, inside))
    return read_flow_state(text) if text else None


def write_flow_state(
    path: str, wanted: FlowState, *, inside: str, state_folder: str, base: FlowState | None = None
) -> FlowState:
    """Writes `wanted` and returns the resulting state. `inside`: the folder that no link may lead out of.
    `state_folder`: our own folder, for the lock and the backup. `base`: the state that `wanted` was derived from,
    if it was read earlier; later changes by other writers are kept unless we change the same value."""
    target = resolve_inside(path, inside)
    _make_folder(state_folder)
    with hold_lock(os.path.join(state_folder, "flow-state.lock")):
        for _ in range(MAX_ATTEMPTS):
            text = _read_text(path, target)
            if text is None:
                data = render_flow_state(None, wanted)
            else:
                now = read_flow_state(text)
                base = now if base is None else base
                data = render_flow_state(
                    text,
                    merge_flow_states(
                        normalise_flow_state(base), normalise_flow_state(wanted), normalise_flow_state(now)
                    ),
                )
                if data == text.raw:
                    return now
            _refuse_too_large(path, len(data), "would become too large")
            if _replace_or_create(target, text, data, state_folder):
                return read_flow_state(TextFile(path, data))
    raise ConflictError(
        f"was changed {MAX_ATTEMPTS} times by somebody else while it was being written",
        location=Location(path),
        hint="find who writes it, then try again",
    )


def merge_flow_states(base: FlowState, wanted: FlowState, now: FlowState) -> FlowState:
    """Three-way merge: our changes since `base` on top of the current file."""
    three = (base, wanted, now)
    ours: dict[str, Any] = {name: _merge_value(*(getattr(one, name) for one in three)) for name in CURRENT_FIELDS}
    ours |= {name: _merge_list(*(getattr(one, name) for one in three)) for name in _LISTS}
    last = (_merge_value(*fields) for fields in zip(*(one.last for one in three), strict=True))
    return FlowState(last=LastSession(*last), **ours)


def _merge_value(base: T, wanted: T, now: T) -> T:
    return now if wanted == base else wanted


def _merge_list(base: Sequence[T], wanted: Sequence[T], now: Sequence[T]) -> tuple[T, ...]:
    """Appends our new items after theirs; any other change of ours wins."""
    if wanted == base or now == base or wanted[: len(base)] != base:
        return tuple(_merge_value(base, wanted, now))
    theirs = now[len(base) :] if now[: len(base)] == base else now
    return (*now, *(one for one in wanted[len(base) :] if one not in theirs))


def _read_text(path: str, target: str) -> TextFile | None:
    if not os.path.lexists(target):
        return None
    text = read_stable(target, follow=False)
    _refuse_too_large(path, len(text.raw), "is too large to be read")
    return text


def _refuse_too_large(path: str, size: int, message: str) -> None:
    if size > MAX_BYTES:
        raise FileError(
            message,
            location=Location(path),
            found=f"{size / 1e6:.1f} MB",
            expected=f"at most {MAX_BYTES / 1e6:.0f} MB",
            hint="shorten it by hand: old rows and notes can go to a file of their own",
        )


def _make_folder(folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"cannot be made: {error.strerror}", location=Location(folder), expected="a folder"
        ) from None


def _replace_or_create(target: str, before: TextFile | None, data: bytes, state_folder: str) -> bool:
    """False if another writer changed the file meanwhile."""
    if before is None:
        return _create(target, data)
    return replace_if_unchanged(target, before.raw, data, backup_path(state_folder, target))


def _create(target: str, data: bytes) -> bool:
    """Creates the file. False if another writer created it meanwhile."""
    folder = os.path.dirname(target)
    _make_folder(folder)
    temporary = write_temporary(target, data)
    try:
        os.link(temporary, target)
    except FileExistsError:
        return False
    except OSError:  # a file system without links: the smallest window there is
        if os.path.lexists(target):
            return False
        os.replace(temporary, target)
        return True
    finally:
        if os.path.lexists(temporary):
            os.unlink(temporary)
        sync_folder(folder)
    return True

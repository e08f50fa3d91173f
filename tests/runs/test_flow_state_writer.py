"""A flow's state file is written in the documented form; in one that is there, only what changes is touched."""

import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import ConflictError, FileError
from bmad_autopilot.core.flow_state import CompletedStep, FlowState, LastSession, RetryEntry
from bmad_autopilot.io import exchange, files
from bmad_autopilot.io.files import BOM
from bmad_autopilot.runs import flow_state_writer
from bmad_autopilot.runs.flow_state_reader import (
    BLOCKERS,
    COMPLETED,
    CURRENT,
    CURRENT_FIELDS,
    DECISIONS,
    LAST,
    RETRIES,
    find_section,
    open_page,
)
from bmad_autopilot.runs.flow_state_writer import (
    MAX_BYTES,
    load_flow_state,
    merge_flow_states,
    render_flow_state,
    write_flow_state,
)
from tests.runs.flow_states import FILE, ODD, STATE, read, said, text

ROW = CompletedStep("3", "Plan", "2026-03-04", "Six components")
RETRY = RetryEntry("2", "3", "Plan", "", "no answer", "2026-03-03 11:00")


def changed(content: str, **fields: Any) -> str:
    """The file after these fields were set, and the proof that they and nothing else were."""
    before = read(content)
    after = render_flow_state(text(content), before._replace(**fields))
    assert said(read(after)) == said(before)._replace(**fields)
    return after.decode()


def test_a_new_file_has_the_documented_form() -> None:
    assert render_flow_state(None, STATE).decode() == FILE


def test_a_new_file_with_nothing_in_it() -> None:
    assert render_flow_state(None, FlowState()).decode() == (
        "# Autopilot State\n## Current Step\nflow:\nstep:\nname:\nstatus:\nsub_step:\nretry_count: 0\n"
        "## Completed Steps\n"
        "| Step | Name | Completed | Key Outcome |\n|------|------|-----------|-------------|\n"
        "## Key Decisions\n## Last Session\ndate:\nended_at:\nreason:\nnotes:\n"
        "## Retry Log\n| Attempt | Step | Name | SubStep | Failure Reason | Timestamp |\n"
        "|---------|------|------|---------|----------------|-----------|\n## Blockers\n- none\n"
    )


@pytest.mark.parametrize("content", ["", "\ufeff"])
def test_an_empty_file_becomes_a_new_one(content: str) -> None:
    assert render_flow_state(text(content), STATE).decode() == content + FILE


@pytest.mark.parametrize("content", [FILE, ODD, "words", "\ufeff\r\n", FILE.replace("\n", "\r\n")])
def test_what_says_it_already_is_not_touched(content: str) -> None:
    assert render_flow_state(text(content), read(content)) == content.encode()


def test_one_value() -> None:
    assert changed(FILE, status="completed") == FILE.replace("in_progress", "completed")


def test_values_keep_their_remarks_and_marks() -> None:
    after = changed(ODD, flow="greenfield", step="3", name="Plan", retry_count=0)
    expected = ODD.replace("**Flow:** existing-code ←", "**Flow:** greenfield ←").replace("Step 02 ←", "3 ←")
    assert after == expected.replace("`name`: Test Spec", "`name`: Plan").replace("2/3", "0")


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("flow:", "flow: x"),
        ("flow: ", "flow: x"),
        ("flow:← remark", "flow: x ← remark"),
        ("**flow:**", "**flow:** x"),
        ("flow:  `a`  ", "flow:  x  "),
    ],
)
def test_a_value_where_none_or_another_stood(line: str, after: str) -> None:
    assert changed(f"## Current Step\r\n{line}\r\n", flow="x") == f"## Current Step\r\n{after}\r\n"


def test_a_value_is_taken_away() -> None:
    assert changed("## Current Step\nsub_step: 4 — Review\n", sub_step="") == "## Current Step\nsub_step:\n"
    assert changed("## Current Step\nsub_step: 4 ← x\n", sub_step="") == "## Current Step\nsub_step:  ← x\n"


def test_an_arrow_in_a_value_is_no_remark() -> None:
    assert changed(FILE, name=r"← a \← b ← c") == FILE.replace("name: Plan", r"name: \← a \\← b \← c")


def test_missing_keys_come_below_those_before_them_as_these_are_written() -> None:
    content = "## Current Step\r\n\r\n- flow: a\r\nprose\r\n- status: failed"
    after = changed(content, step="3", name="Plan", sub_step="4", retry_count=2)
    assert after == (
        "## Current Step\r\n\r\n- flow: a\r\n- step: 3\r\n- name: Plan\r\nprose\r\n- status: failed\r\n"
        "- sub_step: 4\r\n- retry_count: 2"
    )


def test_completing_a_step_appends_a_row_and_keeps_the_others() -> None:
    spaced = FILE.replace("| 1 | Problem |", "|1|   Problem |")
    line = "| 3 | Plan | 2026-03-04 | Six components |\n"
    assert changed(spaced, completed=(*STATE.completed, ROW)) == spaced.replace("## Key", line + "## Key")


def test_a_row_has_its_cells_where_the_header_says() -> None:
    before = read(ODD).completed
    after = changed(ODD, completed=(*before, ROW))
    assert after == ODD.replace(
        "| Test Spec | 2 |\n", "| Test Spec | 2 |\n| Plan | 3 |  | Six components | 2026-03-04 |\n"
    )


def test_cells_of_foreign_columns_stay_when_a_row_changes() -> None:
    before = read(ODD).completed
    after = changed(ODD, completed=(before[0]._replace(outcome="nine"), before[1]))
    line = "Document | 1 | Ann | eight components | 2026-01-01"
    assert after == ODD.replace(line, "| Document | 1 | Ann | nine | 2026-01-01 |")


def test_retries_are_appended_and_cleared() -> None:
    line = "| 2 | 3 | Plan |  | no answer | 2026-03-03 11:00 |\n"
    after = changed(FILE, retries=(*STATE.retries, RETRY), retry_count=2)
    assert after == FILE.replace("## Blockers", line + "## Blockers").replace("retry_count: 1", "retry_count: 2")
    remark = "(Clear this table when the step succeeds)\n"
    cleared = changed(after.replace("## Blockers", remark + "## Blockers"), retries=())
    gone = re.sub(r"(?m)^\| [12] \| 3 .*\n", "", after)
    assert cleared == gone.replace("## Blockers", remark + "## Blockers")


def test_a_table_where_none_stood() -> None:
    content = "## Current Step\n## Completed Steps\n(nothing yet)\n\n## Mine\n"
    after = changed(content, completed=(ROW,))
    assert after.startswith("## Current Step\n## Completed Steps\n(nothing yet)\n| Step | Name |")
    assert after.endswith("| 3 | Plan | 2026-03-04 | Six components |\n\n## Mine\n")


def test_blockers_come_in_the_place_of_none_and_none_in_theirs() -> None:
    blocked = changed(FILE, blockers=("Plan failed", "no key"))
    assert blocked == FILE.replace("- none\n", "- Plan failed\n- no key\n")
    assert changed(blocked, blockers=("no key",)) == FILE.replace("- none", "- no key")
    assert changed(blocked, blockers=()) == FILE


def test_decisions_are_added_below_the_last_and_leave_nothing_behind() -> None:
    assert changed(FILE, decisions=(*STATE.decisions, "No ORM")) == FILE.replace(
        "- One database\n", "- One database\n- No ORM\n"
    )
    assert changed(FILE, decisions=()) == re.sub("(?m)^- [TO].*\n", "", FILE)
    assert changed(ODD, decisions=("Keep it",)) == re.sub(r"(?s)1\. Keep.*ORM\n", "1. Keep it\n", ODD)


@pytest.mark.parametrize("gap", ["", "\n"])
def test_sections_that_are_missing_come_at_the_end_in_order(gap: str) -> None:
    content = f"# Autopilot State\n{gap}## Last Session\nnotes: x"
    after = changed(content, flow="greenfield", blockers=("b",), decisions=("d",))
    current = "## Current Step\nflow: greenfield\nstep:\nname:\nstatus:\nsub_step:\nretry_count: 0"
    parts = [content, current, "## Key Decisions\n- d", "## Blockers\n- b"]
    assert after == f"\n{gap}".join(parts)


def test_each_new_line_ends_as_its_neighbour_does() -> None:
    content = FILE.replace("One database\n", "One database\r\n").removesuffix("\n")
    after = changed(content, decisions=(*STATE.decisions, "x"), blockers=("a", "b"))
    assert "- One database\r\n- x\r\n## Last" in after
    assert after.endswith("- a\n- b")


def test_texts_of_many_lines_become_one() -> None:
    state = STATE._replace(
        decisions=("a\nb\r\nc\x85d",), last=LastSession(notes="1\n## Blockers\n- x"), name="x\ud800y\0"
    )
    found = read(render_flow_state(None, state))
    assert (found.decisions, found.last.notes, found.name) == (("a b c d",), "1 ## Blockers - x", "x y")


def test_what_cannot_be_changed_alone_is_refused() -> None:
    """The comment never ends; a value with its end would hide what stands between."""
    content = f"<!--\n{FILE}"
    with pytest.raises(FileError, match="nothing was written") as caught:
        render_flow_state(text(content), read(content)._replace(blockers=("see -->",)))
    error = caught.value
    assert all((error.location, error.found, error.expected, error.hint))


CHARACTERS = st.text(
    st.sampled_from([*"|\\ab1 \n\r\t-:#`*_←é漢🎉<>", "\u00a0", "\u2028", "\x85", "\0"]), max_size=12
)
NASTY = (
    CHARACTERS | st.text(max_size=20) | st.sampled_from(["-->", "<!-- x", "```", r"\|", "\\", "| a | b |", "---"])
)
# Steps and statuses are words that are understood; the others may be anything.
WORDS = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)
STEPS = st.integers(0, 99).map(str) | st.just("done")
STATUSES = st.sampled_from(["not_started", "in_progress", "completed", "skipped", "failed", ""])


def tuples(one: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(one, max_size=4).map(tuple)


FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "flow": WORDS,
    "step": STEPS,
    "name": NASTY,
    "status": STATUSES,
    "sub_step": NASTY,
    "retry_count": st.integers(0, 10**6),
    "completed": tuples(st.builds(CompletedStep, STEPS, NASTY, NASTY, NASTY)),
    "decisions": tuples(NASTY),
    "last": st.builds(LastSession, NASTY, NASTY, NASTY, NASTY),
    "retries": tuples(st.builds(RetryEntry, STEPS, NASTY, NASTY, NASTY, NASTY, NASTY)),
    "blockers": tuples(NASTY),
}
STATES = st.fixed_dictionaries(FIELDS).map(lambda fields: FlowState(**fields))


def one_line(value: str) -> str:
    """A text as it must be read again: an oracle of its own."""
    for char in [*map(chr, (*range(32), *range(127, 160))), "\u2028", "\u2029"]:
        value = value.replace("\r\n", " ").replace(char, " ")
    return "".join(" " if "\ud800" <= char <= "\udfff" else char for char in value).strip()


NOTHING = re.compile(r"[\W_]*|[\W_]*(?:none|n[\W_]*a|nothing)[\W_]*", re.IGNORECASE)


def as_read(state: FlowState) -> FlowState:
    def listed(items: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(item for item in map(one_line, items) if not NOTHING.fullmatch(item))

    return state._replace(
        name=one_line(state.name),
        sub_step=one_line(state.sub_step),
        completed=tuple(CompletedStep(*map(one_line, row)) for row in state.completed),
        decisions=listed(state.decisions),
        last=LastSession(*map(one_line, state.last)),
        retries=tuple(RetryEntry(*map(one_line, row)) for row in state.retries),
        blockers=listed(state.blockers),
    )


@given(STATES)
def test_what_is_written_is_read_again(state: FlowState) -> None:
    found = read(render_flow_state(None, state))
    assert found == as_read(state)


TITLES = dict.fromkeys(CURRENT_FIELDS, CURRENT) | {
    "completed": COMPLETED,
    "decisions": DECISIONS,
    "last": LAST,
    "retries": RETRIES,
    "blockers": BLOCKERS,
}
INSERTED = (
    "```\n",
    "```md\n",
    "~~~\n",
    "<!--\n",
    "-->\n",
    "---\n",
    "\n",
    "prose | a | b\n",
    "  more\n",
    "## Blockers\n",
)


def around(raw: bytes, name: str) -> tuple[str, str]:
    """What stands before and behind the section of this field, byte order mark and all."""
    opened = text(raw)
    page, mark = open_page(opened), BOM if opened.bom else ""
    section = find_section(page, TITLES[name])
    if section is None:  # it would come at the end
        return mark + opened.text, ""
    return mark + "".join(page.lines[: section.heading]), "".join(page.lines[section.end :])


@st.composite
def hand_edits(draw: st.DrawFn) -> bytes:
    """A valid file after somebody's hands: lines dropped, doubled and moved, sections shuffled, bytes garbled."""
    content = (
        render_flow_state(None, draw(STATES)).decode()
        if draw(st.booleans())
        else draw(st.sampled_from([FILE, ODD]))
    )
    lines = content.splitlines(keepends=True)
    if draw(st.booleans()):
        parts = draw(st.permutations(re.split(r"(?m)^(?=#)", content)))
        lines = "".join(parts).splitlines(keepends=True)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, max(0, len(lines) - 1)))
        what = draw(st.sampled_from(["drop", "double", "move", "end", "insert"]))
        if what == "insert":
            lines.insert(
                at,
                draw(st.sampled_from(INSERTED)),
            )
        elif not lines:
            continue
        elif what == "drop":
            del lines[at]
        elif what == "double":
            lines.insert(at, lines[at])
        elif what == "move":
            lines.insert(draw(st.integers(0, len(lines) - 1)), lines.pop(at))
        else:
            lines[at] = lines[at].rstrip("\r\n") + draw(st.sampled_from(["\r\n", "\r", "", " \n"]))
    raw = bytearray(draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + "".join(lines).encode())
    for _ in range(draw(st.integers(0, 3))):
        if raw:
            raw[draw(st.integers(0, len(raw) - 1))] = draw(st.integers(1, 255))
    return bytes(raw)


@given(hand_edits(), st.data())
def test_after_any_edit_one_field_is_changed_and_nothing_else(raw: bytes, data: st.DataObject) -> None:
    try:
        opened = text(raw)
    except FileError:
        return  # not UTF-8: said, with its place
    before = read(raw)
    name = data.draw(st.sampled_from(sorted(FIELDS)))
    wanted = as_read(said(before)._replace(**{name: data.draw(FIELDS[name])}))
    try:
        after = render_flow_state(opened, wanted)
    except FileError:
        if "-->" not in str(wanted):  # the end of a comment that has none
            raise
        return
    assert said(read(after)) == wanted
    before_it, behind_it = around(raw, name)
    assert after.decode().startswith(before_it)
    assert after.decode().endswith(behind_it)


# A flow's state file beside others who write it: nobody's edit is lost, and the file never is.

THEIRS = CompletedStep("2", "Research", "2026-03-05", "once more")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "project" / "_docs" / "_autopilot_state.md"


@pytest.fixture
def there(path: Path) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text(FILE, encoding="utf-8")
    return path


def put(path: Path, wanted: FlowState, seen: FlowState | None = None) -> FlowState:
    top = path.parent.parent
    return write_flow_state(str(path), wanted, inside=str(top), state_folder=str(top.parent / "state"), base=seen)


def load(path: Path) -> FlowState | None:
    return load_flow_state(str(path), inside=str(path.parent.parent))


def before_writing(monkeypatch: pytest.MonkeyPatch, module: object, act: Callable[[], None]) -> None:
    """Do this once, after the file was read and before it is replaced."""
    acts, real = iter([act]), files.write_temporary

    def meanwhile(target: str, data: bytes) -> str:
        for one in acts:
            one()
            break
        return real(target, data)

    monkeypatch.setattr(module, "write_temporary", meanwhile)


def test_the_first_call_makes_folder_and_file(path: Path) -> None:
    assert load(path) is None
    assert put(path, STATE) == STATE
    assert path.read_text(encoding="utf-8") == FILE
    assert os.listdir(path.parent) == [path.name]
    assert load(path) == STATE


def test_a_change_keeps_mode_and_the_old_file(there: Path, tmp_path: Path) -> None:
    there.chmod(0o640)
    put(there, STATE._replace(step="4"))
    assert there.stat().st_mode & 0o777 == 0o640
    assert there.read_text(encoding="utf-8") == FILE.replace("step: 3", "step: 4")
    (backup,) = (tmp_path / "state").glob("*.bak")
    assert backup.read_text(encoding="utf-8") == FILE
    assert os.listdir(there.parent) == [there.name]


def test_what_it_says_already_is_not_written(there: Path) -> None:
    before = there.stat()
    assert put(there, STATE) == STATE
    assert (there.stat().st_ino, there.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_diagnostics_of_what_stands_there_come_back(there: Path) -> None:
    there.write_text(ODD, encoding="utf-8")
    assert [one.code for one in put(there, said(read(ODD))._replace(step="3")).diagnostics] == ["short-row"]


def test_an_edit_that_comes_between_is_kept(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def decide() -> None:
        files.write_atomic(str(there), FILE.replace("- One", "- No ORM\n- One").encode())

    before_writing(monkeypatch, exchange, decide)
    put(there, STATE._replace(step="4", completed=(*STATE.completed, ROW)))
    assert load(there) == STATE._replace(
        step="4",
        completed=(*STATE.completed, ROW),
        decisions=("Tech stack: Python + Rust", "No ORM", "One database"),
    )


def test_what_was_changed_since_it_was_seen_is_kept(there: Path) -> None:
    put(there, STATE._replace(name="Planning", completed=(*STATE.completed, THEIRS)))
    put(there, STATE._replace(step="4", completed=(*STATE.completed, ROW)), seen=STATE)
    expected = STATE._replace(step="4", name="Planning", completed=(*STATE.completed, THEIRS, ROW))
    assert load(there) == expected


def test_a_file_that_appears_meanwhile_is_not_overwritten(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.parent.mkdir(parents=True)

    def appear() -> None:
        path.write_bytes(ODD.encode())

    before_writing(monkeypatch, flow_state_writer, appear)
    put(path, STATE)
    assert "Our own section" in path.read_text(encoding="utf-8")
    assert said(read(path.read_bytes())) == STATE


def test_without_links_a_new_file_is_made_too(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    put(path, STATE)
    assert path.read_text(encoding="utf-8") == FILE
    assert os.listdir(path.parent) == [path.name]


def test_who_never_stops_writing_is_named_as_the_reason(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = files.write_temporary

    def always(target: str, data: bytes) -> str:
        files.write_atomic(str(there), there.read_bytes() + b"\n")
        return real(target, data)

    monkeypatch.setattr(exchange, "write_temporary", always)
    with pytest.raises(ConflictError, match="20 times"):
        put(there, STATE._replace(step="4"))
    assert load(there) == STATE


def test_many_writers_lose_nothing(there: Path) -> None:
    """Each adds a row to what it has seen."""
    rows = [ROW._replace(outcome=f"number {number}") for number in range(8)]
    threads = [
        threading.Thread(target=put, args=(there, STATE._replace(completed=(*STATE.completed, row)), STATE))
        for row in rows
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    found = load(there)
    assert found is not None
    assert sorted(found.completed[2:]) == rows
    assert there.read_text(encoding="utf-8").startswith(FILE[: FILE.index("## Key")])


@pytest.mark.parametrize(
    ("raw", "message", "line"),
    [(b"# x\n\xff\xfe", "is not UTF-8", 2), (b"\xff\xfe#\0", "is not UTF-8", 1), (b"a\n\0", "NUL", 2)],
)
def test_bytes_that_are_no_text_are_said_and_kept(there: Path, raw: bytes, message: str, line: int) -> None:
    there.write_bytes(raw)
    with pytest.raises(FileError, match=message) as caught:
        put(there, STATE)
    assert caught.value.location is not None
    assert (caught.value.location.line, bool(caught.value.hint)) == (line, True)
    with pytest.raises(FileError, match=message):
        load(there)
    assert there.read_bytes() == raw
    assert os.listdir(there.parent) == [there.name]


def test_a_link_inside_the_project_is_followed(there: Path) -> None:
    real = there.with_name("real.md")
    there.rename(real)
    there.symlink_to("real.md")
    put(there, STATE._replace(step="4"))
    assert there.is_symlink()
    assert "step: 4" in real.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["_docs", "_docs/_autopilot_state.md"])
def test_a_link_that_leads_out_is_refused(tmp_path: Path, path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    link = tmp_path / "project" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(outside / "file" if name != "_docs" else outside)
    with pytest.raises(FileError, match="leads out of the project"):
        load(path)
    with pytest.raises(FileError, match="leads out of the project") as caught:
        put(path, STATE)
    assert all((caught.value.location, caught.value.found, caught.value.expected, caught.value.hint))
    assert os.listdir(outside) == []


def test_too_large_is_refused_and_not_written(there: Path) -> None:
    with pytest.raises(FileError, match="would become too large"):
        put(there, STATE._replace(decisions=("x" * MAX_BYTES,)))
    assert there.read_text(encoding="utf-8") == FILE
    there.write_bytes(FILE.encode() + b"x" * MAX_BYTES)
    with pytest.raises(FileError, match="is too large to be read"):
        put(there, STATE)
    with pytest.raises(FileError, match="is too large to be read"):
        load(there)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_is_no_file_is_said(there: Path, make: Callable[[Path], None]) -> None:
    there.unlink()
    make(there)
    with pytest.raises(FileError, match="cannot be read"):
        put(there, STATE)


def test_a_file_in_the_place_of_the_folder_is_said(path: Path) -> None:
    path.parent.parent.mkdir(parents=True)
    path.parent.write_text("no folder")
    with pytest.raises(FileError, match="cannot be made"):
        put(path, STATE)
    assert path.parent.read_text() == "no folder"


def test_a_file_that_was_removed_is_made_again_with_all_its_history(there: Path) -> None:
    there.unlink()
    put(there, STATE._replace(step="4"), seen=STATE)
    assert load(there) == STATE._replace(step="4")


def test_bringing_both_together() -> None:
    seen = FlowState(step="1", retries=(), decisions=("a",), last=LastSession("d", "e"))
    wanted = seen._replace(step="2", decisions=(), last=LastSession("d2", "e"))
    now = seen._replace(step="3", name="N", decisions=("a", "b"), last=LastSession("d", "e2"), blockers=("x",))
    assert merge_flow_states(seen, wanted, now) == FlowState(
        step="2", name="N", decisions=(), last=LastSession("d2", "e2"), blockers=("x",)
    )
    added = seen._replace(decisions=("a", "c"))
    assert merge_flow_states(seen, added, now).decisions == ("a", "b", "c")
    assert merge_flow_states(seen, added, seen._replace(decisions=("a", "c", "b"))).decisions == ("a", "c", "b")
    assert merge_flow_states(seen, added, seen._replace(decisions=("b",))).decisions == ("b", "c")

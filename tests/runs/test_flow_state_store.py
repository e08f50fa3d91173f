"""A flow's state file beside others who write it: nobody's edit is lost, and the file never is."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from bmad_autopilot import exchange, files
from bmad_autopilot.core.errors import ConflictError, FileError
from bmad_autopilot.runs import flow_state_store
from bmad_autopilot.runs.flow_state import Completed, FlowState, LastSession
from bmad_autopilot.runs.flow_state_store import MAX_BYTES, load_flow_state, merged, set_flow_state
from tests.runs.flow_states import FILE, ODD, STATE, read, said

ROW = Completed("3", "Plan", "2026-03-04", "Six components")
THEIRS = Completed("2", "Research", "2026-03-05", "once more")


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
    return set_flow_state(str(path), wanted, inside=str(top), state=str(top.parent / "state"), seen=seen)


def load(path: Path) -> FlowState | None:
    return load_flow_state(str(path), inside=str(path.parent.parent))


def before_writing(monkeypatch: pytest.MonkeyPatch, module: object, act: Callable[[], None]) -> None:
    """Do this once, after the file was read and before it is replaced."""
    acts, real = iter([act]), files.write_beside

    def meanwhile(target: str, data: bytes) -> str:
        for one in acts:
            one()
            break
        return real(target, data)

    monkeypatch.setattr(module, "write_beside", meanwhile)


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

    before_writing(monkeypatch, flow_state_store, appear)
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
    real = files.write_beside

    def always(target: str, data: bytes) -> str:
        files.write_atomic(str(there), there.read_bytes() + b"\n")
        return real(target, data)

    monkeypatch.setattr(exchange, "write_beside", always)
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
    assert caught.value.place is not None
    assert (caught.value.place.line, bool(caught.value.hint)) == (line, True)
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
    assert all((caught.value.place, caught.value.found, caught.value.expected, caught.value.hint))
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
    assert merged(seen, wanted, now) == FlowState(
        step="2", name="N", decisions=(), last=LastSession("d2", "e2"), blockers=("x",)
    )
    added = seen._replace(decisions=("a", "c"))
    assert merged(seen, added, now).decisions == ("a", "b", "c")
    assert merged(seen, added, seen._replace(decisions=("a", "c", "b"))).decisions == ("a", "c", "b")
    assert merged(seen, added, seen._replace(decisions=("b",))).decisions == ("b", "c")

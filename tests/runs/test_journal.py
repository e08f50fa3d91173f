"""The journal: what was appended is there after any crash, and nothing else is."""

import errno
import json
import os
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import FileError
from bmad_autopilot.runs.journal import (
    CLIPPED,
    MAX_LINE,
    Journal,
    JournalChangedError,
    first_entry,
    lane_entry,
    last_entry,
    make_entry,
    parse_line,
    parse_lines,
)
from tests.runs.kill_process import killed_after


def as_is(value: object) -> object:
    return value


def journal(run: Path, **parts: object) -> Journal:
    return Journal(str(run), **{"redact": as_is, **parts})  # type: ignore[arg-type]


def test_what_was_appended_is_read_back_in_order(tmp_path: Path) -> None:
    ours = journal(tmp_path, clock=iter([1.5, 2.25]).__next__)
    first = ours.append("run", target="1-2-sign-in", kind="odd names are fine")
    second = ours.append("step", number=1, text="größe\n→", nothing=None)
    assert (first.n, first.at, first.kind) == (1, 1.5, "run")
    assert first.data == {"target": "1-2-sign-in", "kind": "odd names are fine"}
    assert journal(tmp_path).entries() == [first, second]
    lines = (tmp_path / "journal.jsonl").read_text().splitlines()
    assert json.loads(lines[1])["data"]["text"] == "größe\n→"
    assert first_entry(str(tmp_path)) == first


def test_only_a_run_of_the_loop_has_a_lane(tmp_path: Path) -> None:
    assert lane_entry(str(tmp_path)) is None
    for name, kind, field in (("a", "run", "target"), ("b", "step", "workflow"), ("c", "run", "workflow")):
        (tmp_path / name).mkdir()
        journal(tmp_path / name).append(kind, **{field: {}})
    assert [lane_entry(str(tmp_path / name)) is not None for name in "abc"] == [False, False, True]
    (tmp_path / "d" / "journal.jsonl").mkdir(parents=True)
    assert lane_entry(str(tmp_path / "d")) is None


def test_what_was_written_last_is_read_without_the_rest(tmp_path: Path) -> None:
    assert last_entry(str(tmp_path)) is None
    one = journal(tmp_path)
    for text in ("a" * 100_000, "b"):
        last = one.append("said", text=text)
        assert last_entry(str(tmp_path)) == last
    with open(one.path, "ab") as file:
        file.write(b'{"n":3,"at":')  # a kill in the middle of a write
    assert last_entry(str(tmp_path)) == last
    with open(one.path, "ab") as file:
        file.write(b"\n")
    assert last_entry(str(tmp_path)) is None
    os.unlink(one.path)
    os.mkfifo(one.path)
    assert last_entry(str(tmp_path)) is None


def test_numbers_go_on_in_a_new_process(tmp_path: Path) -> None:
    journal(tmp_path).append("run")
    assert journal(tmp_path).append("resumed").n == 2


def test_no_journal_is_an_empty_one(tmp_path: Path) -> None:
    assert journal(tmp_path).entries() == []
    assert first_entry(str(tmp_path)) is None
    assert not (tmp_path / "journal.jsonl").exists(), "reading makes nothing"


@pytest.mark.parametrize("cut", range(1, 40))
def test_a_torn_tail_is_dropped_and_cut_off(tmp_path: Path, cut: int) -> None:
    ours = journal(tmp_path)
    ours.append("run", target="1")
    ours.append("step", number=1)
    path = tmp_path / "journal.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[: -min(cut, len(whole))])
    kept = journal(tmp_path).entries()
    assert [entry.kind for entry in kept] == ["run"]
    journal(tmp_path).append("next")
    again = journal(tmp_path)
    assert [(entry.n, entry.kind) for entry in again.entries()] == [(1, "run"), (2, "next")]
    assert again.diagnostics == ()


def test_a_line_in_the_middle_that_is_no_entry_is_said_and_passed_over(tmp_path: Path) -> None:
    journal(tmp_path).append("run")
    path = tmp_path / "journal.jsonl"
    with path.open("ab") as file:
        file.write(b"\xff\0 rubbish\n" + b"x" * (3 * MAX_LINE) + b'\n[1]\n{"n": "1"}\n')
    ours = journal(tmp_path)
    assert ours.append("next").n == 2
    assert [entry.kind for entry in ours.entries()] == ["run", "next"]
    assert [odd.location.line for odd in ours.diagnostics] == [2, 3, 4, 5]
    assert {odd.code for odd in ours.diagnostics} == {"journal-line"}


def test_a_follower_reads_what_was_added(tmp_path: Path) -> None:
    writer, follower = journal(tmp_path), journal(tmp_path)
    seen = 0
    for number in range(1, 4):
        writer.append("step", number=number)
        new = follower.entries(since=seen)
        assert [entry.data["number"] for entry in new] == [number]
        seen = new[-1].n
    assert follower.entries(since=seen) == []
    assert [entry.n for entry in follower.entries(since=1)] == [2, 3], "an earlier number is read again"


def test_a_follower_does_not_read_from_the_beginning(tmp_path: Path) -> None:
    writer, follower = journal(tmp_path), journal(tmp_path)
    writer.append("run")
    follower.entries()
    with (tmp_path / "journal.jsonl").open("r+b") as file:
        file.write(b"#")  # whoever reads the first line again notices
        file.seek(0, os.SEEK_END)
        file.write(b'{"n":2,"at":1,"kind":"x","data":{}}\n')
    assert [entry.n for entry in follower.entries(since=1)] == [2]
    assert follower.diagnostics == ()


def test_a_follower_waits_for_the_end_of_a_line(tmp_path: Path) -> None:
    journal(tmp_path).append("run")
    follower = journal(tmp_path)
    follower.entries()
    path = tmp_path / "journal.jsonl"
    line = b'{"n":2,"at":1,"kind":"late","data":{}}\n'
    with path.open("ab", buffering=0) as file:
        file.write(line[:10])
        assert follower.entries(since=1) == []
        file.write(line[10:])
    assert [entry.kind for entry in follower.entries(since=1)] == ["late"]


def test_another_file_in_its_place_is_read_from_its_beginning(tmp_path: Path) -> None:
    journal(tmp_path).append("run")
    follower = journal(tmp_path)
    follower.entries()
    other = tmp_path / "other"
    other.mkdir()
    for _ in range(3):
        journal(other).append("other", text="longer than it was")
    os.replace(other / "journal.jsonl", tmp_path / "journal.jsonl")
    assert [entry.n for entry in follower.entries(since=1)] == [2, 3]
    assert follower.diagnostics == (), "no line is taken up in its middle"


@pytest.mark.parametrize("change", ["shorter", "longer", "other", "replaced", "removed"])
def test_a_change_by_somebody_else_is_noticed(tmp_path: Path, change: str) -> None:
    ours = journal(tmp_path)
    ours.append("run")
    ours.append("step", number=1)
    path = tmp_path / "journal.jsonl"
    text = path.read_bytes()
    if change == "shorter":
        os.truncate(path, 10)
    elif change == "longer":
        path.write_bytes(text + b"\n")
    elif change == "other":
        with path.open("r+b") as file:
            file.seek(len(text) - 5)
            file.write(b"7")
    elif change == "replaced":
        path.unlink()
        path.write_bytes(text)
    else:
        path.unlink()
    before = path.read_bytes() if path.exists() else None
    for _ in range(2):
        with pytest.raises(JournalChangedError) as error:
            ours.append("next")
        assert str(path) in str(error.value)
    assert (path.read_bytes() if path.exists() else None) == before


def test_secrets_do_not_reach_the_disk(tmp_path: Path) -> None:
    def redact(value: object) -> object:
        return json.loads(json.dumps(value).replace("hunter2", "[redacted]"))

    entry = journal(tmp_path, redact=redact).append("call", said=["my hunter2", {"hunter2": 1}])
    assert entry.data == {"said": ["my [redacted]", {"[redacted]": 1}]}
    assert b"hunter2" not in (tmp_path / "journal.jsonl").read_bytes()


def test_a_secret_is_found_before_its_text_is_cut(tmp_path: Path) -> None:
    def redact(value: object) -> object:
        return json.loads(json.dumps(value).replace("hunter2", "*"))

    journal(tmp_path, redact=redact).append("call", said=("x" * (64 * 1024 - 3) + "hunter2") * 8)
    assert b"hun" not in (tmp_path / "journal.jsonl").read_bytes()


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = journal(tmp_path)
    ours.append("run")
    write = os.write

    def half(fd: int, data: bytes) -> int:
        return write(fd, data[: len(data) // 2])

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(FileError) as error:
        ours.append("step", number=1)
    assert os.strerror(errno.ENOSPC) in str(error.value)
    monkeypatch.undo()
    assert ours.append("again").n == 2
    assert [entry.kind for entry in journal(tmp_path).entries()] == ["run", "again"]


def test_an_entry_that_did_not_reach_the_disk_is_not_found_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = journal(tmp_path)
    ours.append("run")

    def fails(fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fdatasync", fails)
    with pytest.raises(FileError):
        ours.append("step", number=1)
    monkeypatch.undo()
    assert [entry.kind for entry in journal(tmp_path).entries()] == ["run"]
    assert ours.append("again").n == 2


def test_a_link_or_a_pipe_is_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("mine\n")
    path = tmp_path / "journal.jsonl"
    path.symlink_to(secret)
    with pytest.raises(FileError):
        journal(tmp_path).append("run")
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(FileError):
        journal(tmp_path).entries()
    with pytest.raises(FileError):
        journal(tmp_path).append("run")
    assert secret.read_text() == "mine\n"


def test_another_name_of_a_file_of_the_users_is_not_written_in_place(tmp_path: Path) -> None:
    """Found where the journal belongs, it would be cut after its last whole entry: to nothing."""
    mine = tmp_path / "mine"
    mine.write_text("mine\n")
    os.link(mine, tmp_path / "journal.jsonl")
    with pytest.raises(FileError, match="2 hard links"):
        journal(tmp_path).append("run")
    assert mine.read_text() == "mine\n"


APPENDS = """
import sys
from bmad_autopilot.runs.journal import Journal
journal = Journal(sys.argv[1], lambda value: value)
while True:
    print(journal.append("step", text="x" * 5000).n, flush=True)
"""


def test_a_kill_loses_nothing_and_leaves_nothing_half(tmp_path: Path) -> None:
    last = 0
    for lines in (1, 2, 5, 1, 9, 3, 20, 1):
        printed = killed_after(lines, APPENDS, str(tmp_path))
        numbers = [entry.n for entry in journal(tmp_path).entries()]
        assert numbers == list(range(1, len(numbers) + 1))
        assert last < int(printed[-1]) <= len(numbers) <= int(printed[-1]) + 1
        last = len(numbers)
    assert journal(tmp_path).append("after").n == last + 1


@given(st.binary(max_size=2000))
def test_no_bytes_are_too_odd_to_be_read_and_added_to(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    run = tmp_path_factory.mktemp("run")
    (run / "journal.jsonl").write_bytes(data)
    before = journal(run).entries()
    added = journal(run).append("next")
    assert journal(run).entries() == [*before, added]
    assert added.n == max((entry.n for entry in before), default=0) + 1


# A journal's line: bounded, one line, and read back as it was written.

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3) | st.tuples(inner),
    max_leaves=8,
)


class Word(StrEnum):
    ONE = "one"


def make_(**fields: object) -> tuple[Any, bytes]:
    return make_entry(1, 2.0, "kind", fields, lambda value: value)


@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_whatever_is_written_is_one_line_and_read_back(fields: dict[str, object]) -> None:
    entry, line = make_entry(7, 1.25, "kind", fields, lambda value: value)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert parse_line(line) == entry


@pytest.mark.parametrize(
    "value",
    [
        "x" * (3 * MAX_LINE),
        "\0" * MAX_LINE,
        ["x" * 1000] * 1000,
        list(range(1_000_000)),
        {f"key {number}": "x" * 100 for number in range(10_000)},
        {"deep": [["x" * 60_000] * 30] * 30},
    ],
)
def test_what_is_too_long_is_clipped_with_a_mark(value: object) -> None:
    entry, line = make_(value=value, story="1-2-sign-in")
    assert len(line) <= MAX_LINE
    assert CLIPPED in line.decode()
    assert entry.data.get("story") == "1-2-sign-in"
    assert parse_line(line) == entry


def test_even_ten_thousand_long_names_end_in_a_line() -> None:
    entry, line = make_(**{f"{number}" + "k" * 200: [number] * 20 for number in range(20_000)})
    assert len(line) <= MAX_LINE
    assert parse_line(line) == entry


def test_a_value_in_itself_is_clipped() -> None:
    circle: list[object] = []
    circle.append(circle)
    entry, line = make_(circle=circle)
    assert parse_line(line) == entry


def test_words_of_ours_and_odd_numbers() -> None:
    entry, line = make_(word=Word.ONE, many={"b"}, pair=(1, 2), nan=float("nan"), big=10**30)
    assert entry.data == {"word": "one", "many": ["b"], "pair": [1, 2], "nan": "nan", "big": hex(10**30)}
    assert parse_line(line) == entry


def test_half_a_character_is_no_trouble() -> None:
    entry, line = make_(path="caf\udce9")
    assert entry.data == {"path": "caf\udce9"}
    assert parse_line(line) == entry


@given(st.binary())
def test_any_bytes_are_an_entry_or_none(line: bytes) -> None:
    parse_line(line)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"[]",
        b"7",
        b'{"n":0,"at":1,"kind":"x","data":{}}',
        b'{"n":true,"at":1,"kind":"x","data":{}}',
        b'{"n":1,"at":"1","kind":"x","data":{}}',
        b'{"n":1,"at":1,"kind":2,"data":{}}',
        b'{"n":1,"at":1,"kind":"x","data":[]}',
        b'{"n":1,"at":1,"kind":"x"}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_entry(line: bytes) -> None:
    assert parse_line(line) is None


@pytest.mark.parametrize("at", ["NaN", "Infinity", "-1", "1e300", '"1"'])
def test_what_is_no_moment_is_no_entry(at: str) -> None:
    assert parse_line(f'{{"n":1,"at":{at},"kind":"x","data":{{}}}}'.encode()) is None


LINES = [
    make_entry(1, 2.0, "kind", {"text": "é\u2028\\n", "deep": {"a": [1]}}, lambda value: value)[1],
    make_entry(2, 3.0, "kind", {}, lambda value: value)[1],
    make_entry(3, 4.0, "kind", {"path": "a\udcff"}, lambda value: value)[1],
    b'{"n":4,"at":5,"kind":"k","data":{}} \n',
    b"{}\n",
    b"\n",
    b"no JSON\n",
    b'{"n":5,"at":1e999,"kind":"k","data":{}}\n',
    b'\xff{"n":6}\n',
    b'{"n":7,"at":5,"kind":"k","data":{}}{"n":8,"at":5,"kind":"k","data":{}}\n',
    b"[" * 100_000 + b"\n",
    b'{"n":9,"at":5,"ki',
]
OURS = LINES[:3]


@given(st.lists(st.sampled_from(LINES), max_size=6))
def test_all_lines_at_once_are_read_as_one_by_one_or_not_at_all(lines: list[bytes]) -> None:
    raw = b"".join(lines)
    at_once = parse_lines(raw)
    one_by_one = [parse_line(line) for line in raw.split(b"\n")[:-1]]
    assert at_once is None or at_once == one_by_one
    assert (at_once is not None) or any(line not in OURS for line in lines)


def test_a_line_longer_than_any_of_ours_is_looked_at_alone() -> None:
    long = make_entry(1, 2.0, "kind", {"text": "x" * (MAX_LINE // 3)}, lambda value: value)[1]
    assert parse_line(long) is not None
    assert parse_lines(long) is None

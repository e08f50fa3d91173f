"""One token changes; every other byte stays."""

import random
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bmad_autopilot.board import sprint_status_writer
from bmad_autopilot.board.sprint_status_cells import Cells, read_cells
from bmad_autopilot.board.sprint_status_writer import add_row, change_status, find_cell
from bmad_autopilot.core.errors import AutopilotError, FileError
from bmad_autopilot.io.files import TextFile
from tests.support.random_boards import make_board


def cells(raw: bytes | str) -> Cells:
    return read_cells(TextFile("board.yaml", raw if isinstance(raw, bytes) else raw.encode()))


def assert_same_cells(one: Cells, changed: int) -> None:
    """Put together from its parts or read anew: the same board, and its values at the same places."""
    read_cells(TextFile("other.yaml", b"development_status:\n  1-1-a: done\n"))  # so that no reader remembers it
    again = read_cells(TextFile(one.text.path, one.text.raw))
    assert again is not one
    assert one.text.text == again.text.text
    assert (one.cells, dict(one.fields)) == (again.cells, dict(again.fields))
    last = len(one.cells) - 1
    for index in {0, max(changed - 1, 0), changed, min(changed + 1, last), last}:
        assert one.cell_span(index) == again.cell_span(index)


def assert_one_token_changes(before: Cells, index: int, status: str) -> None:
    raw = before.text.raw
    start, end = before.cell_span(index)
    offset = 3 if before.text.bom else 0
    head = offset + len(before.text.text[:start].encode())
    tail = len(raw) - offset - len(before.text.text[:end].encode())
    changed = change_status(before, index, status)
    after = changed.text.raw
    assert_same_cells(changed, index)
    assert after[:head] == raw[:head]
    assert after[len(after) - tail :] == raw[len(raw) - tail :]
    token = after[head : len(after) - tail].decode()
    assert token.strip().strip("\"'") == status
    assert len(token) <= len(status) + 3  # quotes kept, or the blank a value needs
    values = [cell[1] for cell in before.cells]
    values[index] = status
    assert [cell[1] for cell in changed.cells] == values


@pytest.mark.real
def test_every_value_of_every_board_of_the_corpus(corpus: Path) -> None:
    edits = 0
    for path in sorted([*corpus.glob("sprint-status/*"), *corpus.glob("extra/*")]):
        try:
            before = cells(path.read_bytes())
        except FileError:
            continue
        for index in range(len(before.cells)):
            assert_one_token_changes(before, index, "in-progress" if index % 2 else "awaiting-operator")
            edits += 1
    assert edits > 2_000


@pytest.mark.parametrize("count", [2_000, pytest.param(10_000, marks=pytest.mark.soak)])
def test_thousands_of_generated_boards(count: int) -> None:
    for seed in range(count):
        rng = random.Random(seed)
        made = make_board(rng, odd=rng.choice([0.0, 0.1, 0.5]))
        before = cells(made.raw)
        assert [cell[:2] for cell in before.cells] == made.cells, seed
        index = rng.randrange(len(before.cells))
        assert_one_token_changes(before, index, rng.choice(["done", "review", "in-progress", "on hold: x"]))


@given(st.randoms(use_true_random=False), st.floats(0, 1), st.data())
@settings(max_examples=300)
def test_generated_boards(rng: random.Random, odd: float, data: st.DataObject) -> None:
    before = cells(make_board(rng, odd=odd).raw)
    assert_one_token_changes(before, data.draw(st.integers(0, len(before.cells) - 1)), "review")


@pytest.mark.soak
@given(st.randoms(use_true_random=False), st.floats(0, 1), st.data())
@settings(max_examples=10_000)
def test_many_generated_boards(rng: random.Random, odd: float, data: st.DataObject) -> None:
    before = cells(make_board(rng, odd=odd).raw)
    assert_one_token_changes(before, data.draw(st.integers(0, len(before.cells) - 1)), "review")


def test_a_value_that_must_be_quoted_is() -> None:
    before = cells("development_status:\n  1-1-a: done\n")
    assert change_status(before, 0, "yes").text.raw == b'development_status:\n  1-1-a: "yes"\n'
    assert change_status(before, 0, "a: b # c").text.raw == b'development_status:\n  1-1-a: "a: b # c"\n'


@pytest.mark.parametrize("status", ["", " ", "a\nb", 'a"b', "a\\b", "a'b", "done ", "\x1b[31m"])
def test_what_is_no_status_is_refused(status: str) -> None:
    with pytest.raises(AutopilotError, match="not a status"):
        change_status(cells("development_status:\n  1-1-a: done\n"), 0, status)


def test_a_key_that_stands_twice_is_not_guessed_at() -> None:
    before = cells("development_status:\n  1-1-a: done\n  1-1-a: review\n")
    with pytest.raises(FileError, match="more than once") as caught:
        find_cell(before, "1-1-a")
    assert caught.value.found == "lines 2, 3"


NOON = time.mktime((2026, 3, 4, 12, 30, 15, 0, 0, -1))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2026-01-15", "2026-03-04"),
        ("'2026-01-15 09:00'", "'2026-03-04 12:30'"),
        ("01-15-2026 09:00", "03-04-2026 12:30"),
        ("2026-01-15T09:00:00Z", "2026-03-04T12:30:15Z"),
        ("2026-01-15T09:00:00+0000", "2026-03-04T12:30:15+0000"),
        ("last Tuesday (4-8 done)", "last Tuesday (4-8 done)"),
        ("", ""),
    ],
)
def test_the_date_keeps_its_form_and_free_text_stays(old: str, new: str) -> None:
    text = "project: x\nlast_updated: {}\ndevelopment_status:\n  1-1-a: backlog\n"
    after = change_status(cells(text.format(old)), 0, "done", now=NOON).text.text
    assert after == text.format(new).replace("backlog", "done")


def test_no_date_is_added_where_there_is_none() -> None:
    after = change_status(cells("development_status:\n  1-1-a: backlog\n"), 0, "done", now=NOON).text.raw
    assert after == b"development_status:\n  1-1-a: done\n"


def test_a_date_in_a_file_that_only_the_parser_reads() -> None:
    text = "last_updated: 2026-01-15\nextra: [a]\ndevelopment_status:\n  1-1-a: backlog\n"
    after = change_status(cells(text), 0, "done", now=NOON).text.text
    assert re.findall("2026-03-04|done", after) == ["2026-03-04", "done"]


@pytest.mark.parametrize("head", ["", "extra: [x]\n"])  # read by the scanner, and by the parser
@pytest.mark.parametrize("token", ["done\n  1-9-x: done", "done\nother: x", "'done", "done\nlast_updated: x"])
def test_a_splice_that_would_touch_more_is_refused(monkeypatch: pytest.MonkeyPatch, head: str, token: str) -> None:
    before = cells(head + "development_status:\n  1-1-a: review\n  1-2-b: done\n")
    real = sprint_status_writer._value_splice
    monkeypatch.setattr(
        sprint_status_writer,
        "_value_splice",
        lambda text, span, value: real(text, span, value)._replace(token=token),
    )
    with pytest.raises(FileError):
        change_status(before, 0, "done")


def test_equal_bytes_of_two_boards_are_two_boards() -> None:
    raw = b"development_status:\n  1-1-a: done\n"
    assert read_cells(TextFile("one.yaml", raw)).text.path == "one.yaml"
    assert read_cells(TextFile("two.yaml", raw)).text.path == "two.yaml"


BOARD = """\
development_status:
  epic-1: backlog
  1-1-a: done  # first

  # later
  1-10-c: backlog
  epic-2: backlog
"""


@pytest.mark.parametrize(
    ("key", "above"),
    [("1-2-b", "1-1-a"), ("1-11-d", "1-10-c"), ("epic-1-retrospective", "1-10-c"), ("2-1-e", "epic-2")],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_row_is_added_below_the_one_before_it(key: str, above: str, end: str) -> None:
    before = cells(BOARD.replace("\n", end))
    after = add_row(before, key, "in-progress")
    names = [cell[0] for cell in after.cells]
    assert names[names.index(key) - 1] == above
    line = f"  {key}: in-progress{end}"
    assert after.text.text.replace(line, "") == before.text.text


def test_a_row_before_all_others_is_added_above_them() -> None:
    after = add_row(cells("development_status:\n  1-2-b: done"), "1-1-a", "done")
    assert after.text.text == "development_status:\n  1-1-a: done\n  1-2-b: done"
    assert add_row(after, "1-3-c", "done").text.text.endswith("1-2-b: done\n  1-3-c: done")


@pytest.mark.parametrize(
    ("board", "key"),
    [
        ("development_status: {1-1-a: done}\n", "1-2-b"),
        ("development_status:\n", "1-2-b"),
        ("development_status:\n  1-1-a:\n    status: done\n", "1-2-b"),
        ("development_status:\n  1-1-a: done\n", "a: b"),
        ("development_status:\n  1-1-a: done\n", "1-1-a"),
    ],
)
def test_where_a_row_has_no_sure_place_nothing_is_written(board: str, key: str) -> None:
    with pytest.raises(FileError, match="nothing was written"):
        add_row(cells(board), key, "done")


@given(st.randoms(use_true_random=False), st.floats(0, 0.5))
def test_a_row_taken_out_of_a_generated_board_comes_back(rng: random.Random, odd: float) -> None:
    before = cells(make_board(rng, odd=odd).raw)
    if not before.cells:
        return
    try:
        after = add_row(before, "999-1-new", "review")
    except FileError:
        return
    assert [cell[:2] for cell in after.cells if cell[0] != "999-1-new"] == [cell[:2] for cell in before.cells]
    assert ("999-1-new", "review") in [cell[:2] for cell in after.cells]

"""A journal's line: bounded, one line, and read back as it was written."""

from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.runs.journal_lines import CLIPPED, MAX_LINE, make, parse, parse_all

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3) | st.tuples(inner),
    max_leaves=8,
)


class Word(StrEnum):
    ONE = "one"


def make_(**fields: object) -> tuple[Any, bytes]:
    return make(1, 2.0, "kind", fields, lambda value: value)


@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_whatever_is_written_is_one_line_and_read_back(fields: dict[str, object]) -> None:
    entry, line = make(7, 1.25, "kind", fields, lambda value: value)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert parse(line) == entry


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
    assert parse(line) == entry


def test_even_ten_thousand_long_names_end_in_a_line() -> None:
    entry, line = make_(**{f"{number}" + "k" * 200: [number] * 20 for number in range(20_000)})
    assert len(line) <= MAX_LINE
    assert parse(line) == entry


def test_a_value_in_itself_is_clipped() -> None:
    circle: list[object] = []
    circle.append(circle)
    entry, line = make_(circle=circle)
    assert parse(line) == entry


def test_words_of_ours_and_odd_numbers() -> None:
    entry, line = make_(word=Word.ONE, many={"b"}, pair=(1, 2), nan=float("nan"), big=10**30)
    assert entry.data == {"word": "one", "many": ["b"], "pair": [1, 2], "nan": "nan", "big": hex(10**30)}
    assert parse(line) == entry


def test_half_a_character_is_no_trouble() -> None:
    entry, line = make_(path="caf\udce9")
    assert entry.data == {"path": "caf\udce9"}
    assert parse(line) == entry


@given(st.binary())
def test_any_bytes_are_an_entry_or_none(line: bytes) -> None:
    parse(line)


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
    assert parse(line) is None


@pytest.mark.parametrize("at", ["NaN", "Infinity", "-1", "1e300", '"1"'])
def test_what_is_no_moment_is_no_entry(at: str) -> None:
    assert parse(f'{{"n":1,"at":{at},"kind":"x","data":{{}}}}'.encode()) is None


LINES = [
    make(1, 2.0, "kind", {"text": "é\u2028\\n", "deep": {"a": [1]}}, lambda value: value)[1],
    make(2, 3.0, "kind", {}, lambda value: value)[1],
    make(3, 4.0, "kind", {"path": "a\udcff"}, lambda value: value)[1],
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
    at_once = parse_all(raw)
    one_by_one = [parse(line) for line in raw.split(b"\n")[:-1]]
    assert at_once is None or at_once == one_by_one
    assert (at_once is not None) or any(line not in OURS for line in lines)


def test_a_line_longer_than_any_of_ours_is_looked_at_alone() -> None:
    long = make(1, 2.0, "kind", {"text": "x" * (MAX_LINE // 3)}, lambda value: value)[1]
    assert parse(long) is not None
    assert parse_all(long) is None

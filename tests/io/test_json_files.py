"""Small JSON files that others write too."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import FileError
from bmad_autopilot.core.json_types import ABSENT, Absent, Count, Moment, pick
from bmad_autopilot.io.json_files import (
    as_count,
    as_list,
    as_text,
    document,
    parse_timestamp,
    read_json_object,
    to_iso,
    to_json,
    write_json_object,
)


def test_an_object_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for data in ({"größe": [1, None, "→"]}, {"half": "caf\udce9"}, {}):
        write_json_object(str(path), data)
        assert read_json_object(str(path)) == data
    assert read_json_object(str(tmp_path / "none")) is None


def test_what_is_wrong_is_said_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{\n "a": 1,\n "b" 2}')
    with pytest.raises(FileError) as error:
        read_json_object(str(path), hint="do this")
    assert f"{path}:3:6: is no JSON" in str(error.value)
    assert "do this" in str(error.value)


@pytest.mark.parametrize("data", [b"\xff\xfe{\0}\0", b'{"a": "\xff"}', b'{"a": "\0"}'])
def test_bytes_that_are_no_text(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(data)
    with pytest.raises(FileError):
        read_json_object(str(path))


def test_a_file_without_end(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    with path.open("wb") as file:
        file.truncate(10**10)
    with pytest.raises(FileError, match="too large"):
        read_json_object(str(path))


def test_a_link_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("{}")
    link = tmp_path / "link"
    link.symlink_to(other)
    with pytest.raises(FileError, match="is a link"):
        read_json_object(str(link))
    with pytest.raises(FileError, match="is a link"):
        write_json_object(str(link), {"a": 1})
    assert other.read_text() == "{}"


@pytest.mark.parametrize(
    ("value", "text"),
    [("x", "x"), (None, ""), (3, "3"), (True, "True"), ([1, "é"], json.dumps([1, "é"], ensure_ascii=False))],
)
def test_a_text_in_place_of_anything(value: object, text: str) -> None:
    assert as_text(value) == text


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3),
        ("3", 3),
        (3.0, 3),
        (" 7 ", 7),
        (-1, 0),
        (True, 0),
        ("x", 0),
        (None, 0),
        (float("nan"), 0),
        ("9" * 5000, 0),
    ],
)
def test_a_count_in_place_of_anything(value: object, number: int) -> None:
    assert as_count(value) == number


def test_a_list_in_place_of_anything() -> None:
    assert (as_list(None), as_list(""), as_list("x"), as_list([1]), as_list({})) == ([], [], ["x"], [1], [{}])


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (1_772_107_200.0, "2026-02-26T12:00:00Z"),
        (1_772_107_200.25, "2026-02-26T12:00:00.250Z"),
        (1_772_107_200.9996, "2026-02-26T12:00:01Z"),
        (0.0, "1970-01-01T00:00:00Z"),
        (-5.0, "1970-01-01T00:00:00Z"),
    ],
)
def test_moments_are_written_in_utc(at: float, text: str) -> None:
    assert to_iso(at) == text


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-02-26T12:00:00Z", 1_772_107_200.0),
        ("2026-02-26T13:00:00+01:00", 1_772_107_200.0),
        (" 2026-02-26 12:00:00 ", 1_772_107_200.0),
        ("2026-02-26", 1_772_064_000.0),
        ("20260226T120000Z", 1_772_107_200.0),
        (1_772_107_200, 1_772_107_200.0),
        ("yesterday", 0.0),
        ("", 0.0),
        (None, 0.0),
        (True, 0.0),
        ([], 0.0),
        (float("nan"), 0.0),
        (1e300, 0.0),
        ("0001-01-01T00:00:00+23:59", 0.0),
    ],
)
def test_moments_are_read_as_people_write_them(text: object, at: float) -> None:
    assert parse_timestamp(text) == at


@given(st.floats(0, 250_000_000_000))
def test_a_moment_comes_back_to_the_millisecond(at: float) -> None:
    assert abs(parse_timestamp(to_iso(at)) - at) <= 0.001


@given(st.text())
def test_any_text_is_a_moment_or_none(text: str) -> None:
    assert parse_timestamp(text) >= 0


# Records.


class Color(Enum):
    RED = "red"


class Shape(StrEnum):
    ROUND = "round"


@dataclass
class Point:
    at: Moment
    size: Count = 0


class Drawing(NamedTuple):
    name: str | None
    points: tuple[Point, ...] = ()
    by_color: Mapping[str, list[Point]] = {}
    color: Color | None = None
    shape: Annotated[Shape, "its outline"] = Shape.ROUND
    begun: Moment | None = None
    seen: Annotated[Moment | None, "when it was last shown"] = None
    ended: Annotated[Moment, "when it was finished"] | None = None
    note: "str | Absent" = ABSENT


def test_a_record_becomes_the_object_of_its_fields() -> None:
    drawing = Drawing(
        "a", (Point(0.0, 2),), {"red": [Point(1.5)]}, Color.RED, begun=60.0, seen=61.0, ended=62.0, note="n"
    )
    assert json.loads(json.dumps(document("drawing", drawing))) == {
        "version": 1,
        "kind": "drawing",
        "name": "a",
        "points": [{"at": "1970-01-01T00:00:00Z", "size": 2}],
        "by_color": {"red": [{"at": to_iso(1.5), "size": 0}]},
        "color": "red",
        "shape": "round",
        "begun": "1970-01-01T00:01:00Z",
        "seen": "1970-01-01T00:01:01Z",
        "ended": "1970-01-01T00:01:02Z",
        "note": "n",
    }


def test_absent_fields_are_left_out_and_unknown_ones_are_null() -> None:
    found = to_json(Drawing(None))
    assert found["name"] is found["color"] is found["begun"] is None
    assert "note" not in found


def test_a_record_is_picked_from_another() -> None:
    assert pick(Drawing, Drawing("a", begun=1.0), name="b") == Drawing("b", begun=1.0)


def test_a_record_is_not_picked_with_a_field_that_it_does_not_have() -> None:
    with pytest.raises(TypeError, match="nmae"):
        pick(Drawing, Drawing("a"), nmae="b")

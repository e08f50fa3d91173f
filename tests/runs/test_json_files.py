"""Small JSON files that others write too."""

import json
from pathlib import Path

import pytest

from bmad_autopilot.core.errors import FileError
from bmad_autopilot.runs.json_files import list_of, number_of, read_object, text_of, write_object


def test_an_object_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for data in ({"größe": [1, None, "→"]}, {"half": "caf\udce9"}, {}):
        write_object(str(path), data)
        assert read_object(str(path)) == data
    assert read_object(str(tmp_path / "none")) is None


def test_what_is_wrong_is_said_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{\n "a": 1,\n "b" 2}')
    with pytest.raises(FileError) as error:
        read_object(str(path), hint="do this")
    assert f"{path}:3:6: is no JSON" in str(error.value)
    assert "do this" in str(error.value)


@pytest.mark.parametrize("data", [b"\xff\xfe{\0}\0", b'{"a": "\xff"}', b'{"a": "\0"}'])
def test_bytes_that_are_no_text(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(data)
    with pytest.raises(FileError):
        read_object(str(path))


def test_a_file_without_end(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    with path.open("wb") as file:
        file.truncate(10**10)
    with pytest.raises(FileError, match="too large"):
        read_object(str(path))


def test_a_link_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("{}")
    link = tmp_path / "link"
    link.symlink_to(other)
    with pytest.raises(FileError, match="is a link"):
        read_object(str(link))
    with pytest.raises(FileError, match="is a link"):
        write_object(str(link), {"a": 1})
    assert other.read_text() == "{}"


@pytest.mark.parametrize(
    ("value", "text"),
    [("x", "x"), (None, ""), (3, "3"), (True, "True"), ([1, "é"], json.dumps([1, "é"], ensure_ascii=False))],
)
def test_a_text_in_place_of_anything(value: object, text: str) -> None:
    assert text_of(value) == text


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
    assert number_of(value) == number


def test_a_list_in_place_of_anything() -> None:
    assert (list_of(None), list_of(""), list_of("x"), list_of([1]), list_of({})) == ([], [], ["x"], [1], [{}])

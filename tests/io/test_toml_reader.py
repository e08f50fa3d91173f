"""Any file is read or refused with its line; a key is found by its line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import FileError, Location
from bmad_autopilot.io.files import TextFile
from bmad_autopilot.io.toml_reader import find_line, load_toml


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    place: Location | None = Location("read")
    try:
        assert isinstance(load_toml(TextFile("f.toml", raw)), dict)
    except FileError as error:
        place = error.location
    assert place is not None


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [('a = "x"\nb = \n', 2, 5), ("[a]\nx = 1\nx = 2\n", 3, None), ("a = [\n", 2, None), ("\n\n]", 3, 1)],
)
def test_broken_toml_names_line_and_column(text: str, line: int, column: int | None) -> None:
    with pytest.raises(FileError, match="not valid TOML") as caught:
        load_toml(TextFile("f.toml", text.encode()))
    assert caught.value.location is not None
    assert caught.value.location.line == line
    assert column is None or caught.value.location.column == column


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(FileError, match="nested too deeply"):
        load_toml(TextFile("f.toml", b"a = " + b"[" * 100_000))


@pytest.mark.parametrize(
    ("table", "key", "line"),
    [
        ("", "top", 1),
        ("roles", "dev", 3),
        ("roles.dev", "model", 4),
        ("commands", "test", 7),
        ("commands", "build", 8),
        ("other", "x", 10),
        ("other", "missing", 9),
        ("nowhere", "x", None),
    ],
)
def test_a_key_is_found_by_its_line(table: str, key: str, line: int | None) -> None:
    text = 'top = 1\n\n[roles.dev]\nmodel = "m"\n\n[ commands ]\ntest = [\n"build" = "y"\n[other]\nx.y = 1\n'
    assert find_line(text, table, key) == line

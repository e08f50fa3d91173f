"""The line scanner gives what tomllib gives, or gives up."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import FileError, Location
from bmad_autopilot.io.files import TextFile
from bmad_autopilot.io.toml_reader import find_line, load_toml, scan_toml

PIECES = [
    *("[a]", "[a.b]", "[ a ]", "[[a]]", '["a"]', "[]", "[.a]", "[a.]", "[é]", "[a] # c", "[a", "a]", "[a]]"),
    *("k = 1", "k=true", "k = 01", "k = -1", "k = 1_0", "k = 1.5", "k = ١", "k = 2026-01-01", "k =", "= 1", "k"),
    *('k = "v"', 'k = "v" # c', 'k = "#"', 'k = ""', 'k = """', "k = 'v'", 'k = "a"b"', r'k = "\n"', 'k = "v'),
    *(
        'k = ["a", "b"]',
        'k = ["a" "b"]',
        'k = ["a",]',
        "k = []",
        'k = ["a", 1]',
        "k = [,]",
        'k = ["a"',
        "k = [[]]",
    ),
    *(
        'a.b = "v"',
        'b = "w"',
        'a = "v"',
        "é = 1",
        "k-1_x = 2",
        '"q" = 1',
        "# comment",
        "#\x01",
        "",
        " \t",
        "k = 0",
    ),
    *("x = 999999999999999999999", 'm = {a = "b"}', "k = True", "k = 00", "k = +1", "\x0b", "k = 1 \r", "\ufeff"),
]


def outcome(text: str) -> object:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return "refused"


@given(
    st.lists(st.sampled_from(PIECES) | st.text(max_size=12), max_size=8),
    st.sampled_from(["\n", "\r\n", "\n  ", "\n\t", "\r"]),
)
def test_the_scanner_never_disagrees_with_tomllib(lines: list[str], end: str) -> None:
    text = end.join(lines)
    data = scan_toml(text)
    if data is not None:
        assert data == outcome(text)


@pytest.mark.parametrize("first", PIECES)
def test_the_scanner_agrees_on_every_pair_of_lines(first: str) -> None:
    for second in PIECES:
        data = scan_toml(f"{first}\n{second}\n")
        assert data is None or data == outcome(f"{first}\n{second}\n"), second


def test_what_the_installer_writes_needs_no_parser() -> None:
    text = '# note\n\n[core]\nproject_name = "x"\n\n[modules.bmm]\nfolder = "{project-root}/a"\non = true\n'
    assert scan_toml(text) == {
        "core": {"project_name": "x"},
        "modules": {"bmm": {"folder": "{project-root}/a", "on": True}},
    }


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

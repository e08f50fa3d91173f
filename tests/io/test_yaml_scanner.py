"""The line scanner says exactly what the YAML parser says, or nothing."""

import os
import random
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bmad_autopilot.core.errors import FileError
from bmad_autopilot.io import yaml_reader
from bmad_autopilot.io.files import TextFile
from bmad_autopilot.io.yaml_scanner import FlatYaml, line_comment, scan_yaml, value_span
from tests.support.random_boards import make_board

Cell = tuple[str | None, str | None, int, int, int]


def _scanned(text: str, flat: FlatYaml) -> tuple[list[Cell], dict[str, list[Cell]]]:
    def cells(lines: list[tuple[str, str | None, int]]) -> list[Cell]:
        return [(key, value, line, *value_span(text, line)) for key, value, line in lines]

    top = cells([line for line in flat.top if line[0] not in flat.nested])
    return top, {key: cells(lines) for key, lines in flat.nested.items()}


def _parsed(node: yaml_reader.Node | None) -> tuple[list[Cell], dict[str, list[Cell]]]:
    assert isinstance(node, yaml_reader.MappingNode)

    def cells(items: list[tuple[yaml_reader.ScalarNode, yaml_reader.Node]]) -> list[Cell]:
        return [
            (key.value, value.value, value.line, value.start, value.end)
            for key, value in items
            if isinstance(value, yaml_reader.ScalarNode)
        ]

    nested = {
        key.value or "": cells(value.items)
        for key, value in node.items
        if isinstance(value, yaml_reader.MappingNode)
    }
    return cells(node.items), nested


def assert_same(raw: bytes) -> bool:
    """Whether the scanner took it; if so, it must agree with the parser to the character."""
    text = TextFile("board.yaml", raw)
    flat = scan_yaml(text.text)
    if flat is None or not flat.top:
        return False
    assert _scanned(text.text, flat) == _parsed(yaml_reader.parse_yaml(text))
    return True


def test_every_file_of_the_corpus_reads_the_same(corpus: Path) -> None:
    taken = [path.name for path in sorted(corpus.rglob("*.yaml")) if assert_same(path.read_bytes())]
    assert len(taken) > 50


# Where each mutant is judged by all tests, a few hundred boards must do.
BOARDS = 300 if os.environ.get("MUTANT_UNDER_TEST") else 3_000


@pytest.mark.parametrize("count", [BOARDS, pytest.param(10_000, marks=pytest.mark.soak)])
def test_thousands_of_generated_boards_read_the_same(count: int) -> None:
    taken = 0
    for seed in range(count):
        rng = random.Random(seed)
        made = make_board(rng, odd=rng.choice([0.0, 0.02, 0.3]))
        taken += assert_same(made.raw)
    assert taken > count * 0.4


_marks = [
    "{",
    "}",
    ",",
    "&a",
    "*a",
    "!t",
    "|",
    ">",
    "%",
    "@",
    "`",
    "?",
    "---",
    "...",
    "é",
    "\u00a0",
    "\u2028",
    "\x85",
]
_blanks = [": ", ":", " ", "  ", "\n", "\n", "\r\n", "\t", "#", " # x", '"', "'", "-", "- ", "[", "]", "\ufeff"]
_words = ["key", "a-b", "null", "~", "done", "2026-01-01T10:00:00Z", "/p/q", ".x", "a#b", "a:b"]
_lines = ["1-2-x: done\n", "  1-1-y: review\n", "development_status:\n"]
_pieces = st.sampled_from([*_marks, *_blanks, *_words, *_lines])


@given(st.lists(_pieces, max_size=14).map("".join))
@example("a: b  ")
@example("a: b #\n")
@example("a: b: c\n")
@example("k:\n  a: 1\n  b:\n")
@example("k:\n  a: 1\n b: 2\n")
@example("a: x\n  b: y\n")
@example("a: 'it''s'\n")
@example("a:\n  b\n")
@example("a: -\n")
@example("a: -b\n")
@example('d:\n  a:\nd: ""\n')
@example("d: x\nd:\n  a: y\n")
@example("null: x\n")
@example("k:\n  Null: x\n")
@example("Null:\n  a: x\nnull:\n  b: y\n")
def test_on_any_text_it_agrees_or_gives_up(text: str) -> None:
    try:
        raw = text.encode()
        assert_same(raw)
    except FileError:
        pytest.fail(f"taken by the scanner, refused by the parser: {text!r}")


@pytest.mark.soak
@given(st.lists(_pieces, max_size=20).map("".join))
@settings(max_examples=50_000)
def test_on_many_texts_it_agrees_or_gives_up(text: str) -> None:
    test_on_any_text_it_agrees_or_gives_up.hypothesis.inner_test(text)  # type: ignore[attr-defined]


@given(st.text(alphabet="ab:#'\"\n -|>{}[]&*!%@`~é\t\r,.?0", max_size=40))
def test_on_any_letters_it_agrees_or_gives_up(text: str) -> None:
    test_on_any_text_it_agrees_or_gives_up.hypothesis.inner_test(text)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("line", "comment"),
    [
        ("  1-1-a: done  # merged", "merged"),
        ("  1-1-a: done # a # b", "a # b"),
        ("  1-1-a: 'it # is'  # so", "so"),
        ('  1-1-a: "x # y"', None),
        ("  1-1-a: a#b", None),
        ("  1-1-a: it's  # why", "why"),
        ("  1-1-a: done  #", None),
        ("", None),
    ],
)
def test_the_comment_of_a_line(line: str, comment: str | None) -> None:
    assert line_comment(line) == comment


FLAT = """\
# a comment
project: Sample
quoted: "a: b"
single: 'it'
nothing:
empty: ""
null_word: NULL

development_status:
  epic-1: in-progress
  # another
  1-1-a: "done"  # merged
  1-2-b: null
"""


def test_a_regular_board_is_scanned():
    flat = scan_yaml(FLAT)
    assert flat is not None
    assert flat.top == [
        ("project", "Sample", 2),
        ("quoted", "a: b", 3),
        ("single", "it", 4),
        ("nothing", None, 5),
        ("empty", "", 6),
        ("null_word", None, 7),
        ("development_status", None, 9),
    ]
    assert flat.nested == {
        "development_status": [("epic-1", "in-progress", 10), ("1-1-a", "done", 12), ("1-2-b", None, 13)]
    }


def test_a_value_is_cut_only_where_it_is_quoted():
    flat = scan_yaml("a: Xyz\n")
    assert flat is not None
    assert flat.top == [("a", "Xyz", 1)]


def test_other_letters_are_scanned_too():
    flat = scan_yaml("项目: 示例\nblock:\n  é: ü\n")
    assert flat is not None
    assert flat.top == [("项目", "示例", 1), ("block", None, 2)]
    assert flat.nested == {"block": [("é", "ü", 3)]}


@pytest.mark.parametrize(
    "text",
    [
        *("a: b\n   c: d\n", "a:\n  b: c\n d: e\n", "a:\n  b: c\n    d: e\n", " a: b\n", "- a\n", "a: [b]\n"),
        *(
            "a:\tb\n",
            "a: b\x07\n",
            "é: b\x07\n",
            "null: a\n",
            "Null: a\n",
            "NULL: a\n",
            "a: {b: c}\n",
            "a: |\n  b\n",
        ),
        *("a:\n  b: c\na:\n  d: e\n", "a:\n  b: c\na: x\n", "a: b\na:\n  c: d\n"),
    ],
)
def test_whatever_is_unusual_is_left_to_the_parser(text):
    assert scan_yaml(text) is None


def test_the_last_of_two_plain_values_is_not_lost():
    flat = scan_yaml("a: b\na: c\n")
    assert flat is not None
    assert flat.top == [("a", "b", 1), ("a", "c", 2)]


@pytest.mark.parametrize(
    ("line", "comment"),
    [("a: b\t# c", "c"), ('"a # b": c # d', "d"), ("a: Xb # c", "c"), ("# c", None), ("a: b #c\r", "c")],
)
def test_a_comment_is_found_behind_the_value(line, comment):
    assert line_comment(line) == comment

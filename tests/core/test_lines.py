"""The line scanner says exactly what the YAML parser says, or nothing."""

import os
import random
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bmad_autopilot import yamls
from bmad_autopilot.core.errors import FileError
from bmad_autopilot.core.lines import Flat, comment_of, scan, value_span
from bmad_autopilot.files import Text
from tests.boards import make_board

Cell = tuple[str | None, str | None, int, int, int]


def _scanned(text: str, flat: Flat) -> tuple[list[Cell], dict[str, list[Cell]]]:
    def cells(lines: list[tuple[str, str | None, int]]) -> list[Cell]:
        return [(key, value, line, *value_span(text, line)) for key, value, line in lines]

    top = cells([line for line in flat.top if line[0] not in flat.nested])
    return top, {key: cells(lines) for key, lines in flat.nested.items()}


def _parsed(node: yamls.Node | None) -> tuple[list[Cell], dict[str, list[Cell]]]:
    assert isinstance(node, yamls.Mapping)

    def cells(items: list[tuple[yamls.Scalar, yamls.Node]]) -> list[Cell]:
        return [
            (key.value, value.value, value.line, value.start, value.end)
            for key, value in items
            if isinstance(value, yamls.Scalar)
        ]

    nested = {key.value or "": cells(value.items) for key, value in node.items if isinstance(value, yamls.Mapping)}
    return cells(node.items), nested


def assert_same(raw: bytes) -> bool:
    """Whether the scanner took it; if so, it must agree with the parser to the character."""
    text = Text("board.yaml", raw)
    flat = scan(text.text)
    if flat is None or not flat.top:
        return False
    assert _scanned(text.text, flat) == _parsed(yamls.parse(text))
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
    assert comment_of(line) == comment

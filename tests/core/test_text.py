"""Untrusted text is shown bounded, on one line, and without characters that steer a terminal or hide."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.text import clip, one_line, printable, visible, without_controls, without_escapes

_CONTROLS = "\x00\x07\x1b\x7f\x9b\u200e\u202e\u2028\u2066\ufeff\ud800"


@given(st.text(st.characters(), max_size=300), st.integers(1, 60))
def test_one_line_is_printable_and_bounded(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert line.isprintable()
    assert "  " not in line
    assert line == line.strip()


def test_one_line_drops_colours_and_joins_lines() -> None:
    assert one_line("\x1b[31mred\x1b[0m\r\n  and\tblue\x00!") == "red and blue !"
    assert one_line("\x1b]0;title\x07shown") == "shown"


def test_one_line_fills_its_limit_although_colours_are_removed() -> None:
    assert one_line("\x1b[1m" * 5 + "0123456789 more", 10) == "012345678…"


@given(st.text(max_size=30), st.integers(1, 40))
def test_clip_marks_a_cut(text: str, limit: int) -> None:
    short = clip(text, limit)
    assert len(short) <= limit
    assert short == text if len(text) <= limit else short.endswith("…")


@pytest.mark.parametrize("char", _CONTROLS)
def test_controls_are_replaced_for_a_terminal_and_removed_from_lines(char: str) -> None:
    assert printable(f"a{char}b") == "a�b"
    assert without_controls(f"a{char}b") == "ab"
    assert without_controls(f"a{char}b", " ") == "a b"


def test_lines_and_joiners_stay() -> None:
    family = "👩\u200d👧"
    assert without_controls(f"one\r\ntwo\rthree\tfour {family}") == f"one\ntwo\nthree\tfour {family}"


@given(st.text(st.characters(), max_size=300))
def test_visible_is_idempotent_and_hides_nothing(text: str) -> None:
    seen = visible(text)
    assert visible(seen) == seen
    assert all(char in "\n\t" or (char.isprintable() or char.isspace() or ord(char) > 0x7F) for char in seen)
    assert not any(char in seen for char in _CONTROLS)


def test_visible_drops_what_only_a_model_would_read() -> None:
    assert visible("a\u200bb\U000e0041c\u2028d\x1b[2mx") == "abc\ndx"


def test_visible_marks_a_lone_surrogate() -> None:
    assert visible("a\ud800b") == "a\ufffdb"


def test_escapes_of_both_widths_are_removed() -> None:
    assert without_escapes("\x9b31mred\x1b[0m") == "red"

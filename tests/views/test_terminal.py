"""Width, and lines that fit into it."""

import fcntl
import os
import pty
import struct
import termios

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.views.terminal import Terminal, display_width, wrap

TEXT = st.text(st.sampled_from("abc  漢字é\u0301-→"), max_size=120)


@given(TEXT, st.integers(10, 100), st.integers(0, 6))
def test_wrapped_lines_fit_and_nothing_is_lost(text: str, width: int, indent: int) -> None:
    lines = wrap(text, width, " " * indent)
    assert all(display_width(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_a_word_longer_than_a_line_is_broken_not_cut() -> None:
    assert wrap("x" * 25, 10, "  ") == ["x" * 10, "  " + "x" * 8, "  " + "x" * 7]


def test_what_a_line_begins_with_stays() -> None:
    assert wrap("  1  redis or postgres", 12, "    ") == ["  1  redis", "    or", "    postgres"]


def test_a_window_that_is_resized(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    master, slave = pty.openpty()
    try:
        with os.fdopen(slave, "w") as window:
            monkeypatch.setattr("sys.stdout", window)
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 80, 0, 0))
            out = Terminal()
            assert out.width == 80
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 40, 0, 0))
            out.remeasure()
            assert out.width == 40
            monkeypatch.undo()
    finally:
        os.close(master)

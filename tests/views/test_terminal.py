"""Width, and lines that fit into it."""

import fcntl
import os
import pty
import struct
import termios

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.views.terminal import LiveArea, Terminal, display_width, wrap
from tests.support.terminal_screen import Screen

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


# The lines that live: always the last ones, never torn, never too often, and nothing left behind.


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Window:
    """A live view on a screen whose width can change."""

    def __init__(self, monkeypatch_width: int = 80) -> None:
        self.screen = Screen(monkeypatch_width)
        self.clock = Clock()
        self.writes: list[str] = []
        self.out = Terminal("never", monkeypatch_width)
        self.out.is_terminal = True
        self.out.remeasure = lambda: None  # type: ignore[method-assign]
        self.live = LiveArea(self.out, self.write, self.clock)

    def write(self, text: str) -> None:
        self.writes.append(text)
        self.screen.write(text)


def test_the_log_scrolls_above_the_last_lines() -> None:
    window = Window()
    window.live.print_above(["one"], ["now: a", "  reading"])
    window.live.print_above(["two"], ["now: b"])
    assert window.screen.text == "one\ntwo\nnow: b"
    window.live.print_above(["three"], ["now: c", "  writing"])
    window.live.clear()
    assert window.screen.text == "one\ntwo\nthree\n"


def test_each_frame_is_one_write() -> None:
    window = Window()
    window.live.print_above(["one", "two"], ["a", "b"])
    window.live.print_above(["three"], ["a"])
    assert len(window.writes) == 2


def test_four_times_a_second_at_most() -> None:
    window = Window()
    for tick in range(1000):
        window.clock.now = tick / 100
        window.live.show([f"tick {tick}"])
    assert len(window.writes) == 40


def test_a_line_of_the_log_never_waits() -> None:
    window = Window()
    window.live.print_above(["one"], ["a"])
    window.live.print_above(["two"], ["a"])
    assert window.screen.text == "one\ntwo\na"


def test_what_a_terminal_writes_for_ctrl_c_takes_no_row() -> None:
    window = Window(40)
    window.live.print_above(["one"], ["a" * 100, "b" * 100])
    window.screen.write("^C^C")
    window.live.print_above(["two"], ["a"])
    assert window.screen.text == "one\ntwo\na"


def test_a_window_made_narrower() -> None:
    """A terminal breaks what stands there into more rows; they are all taken back."""
    window = Window(80)
    window.live.print_above(["one"], ["a" * 60, "b" * 60])
    narrow = Screen(40)
    narrow.write("one\n" + "a" * 60 + "\n" + "b" * 60)
    window.screen = narrow
    window.out.width = 40
    window.live.print_above(["two"], ["c"])
    assert narrow.text == "one\ntwo\nc"


LINES = st.lists(st.text(st.sampled_from("ab 漢é…"), max_size=90), max_size=3)


@given(st.lists(st.tuples(LINES, LINES), max_size=8), st.integers(20, 100))
def test_whatever_is_drawn_the_log_stays_whole(frames: list[tuple[list[str], list[str]]], width: int) -> None:
    window = Window(width)
    log: list[str] = []
    for lines, last in frames:
        whole = [line[: width // 2] for line in lines]
        log += whole
        window.live.print_above(whole, last)
    window.live.clear()
    assert window.screen.text == "\n".join(line.rstrip() for line in [*log, ""])

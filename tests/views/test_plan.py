"""Who works when, as bars of characters."""

import pytest

from bmad_autopilot.views.plan import Bar, chart, duration
from bmad_autopilot.views.terminal import Terminal


def drawn(*bars: Bar, length: float = 10.0, width: int = 20, unicode: bool = False) -> list[str]:
    out = Terminal("never", width)
    out.unicode = unicode
    return chart(bars, length, ("now", "10 s"), out)


def test_full_where_it_works_and_thin_where_it_waits_for_an_agent() -> None:
    lines = drawn(Bar("one", ((0.0, 5.0),)), Bar("two", ((0.0, 2.0), (8.0, 10.0))), width=17)
    assert lines == ["       now   10 s", "  one  #####", "  two  ##------##"]


def test_whoever_works_is_seen_however_short() -> None:
    lines = drawn(Bar("a", ((0.0, 0.001),)), Bar("b", ((9.999, 10.0),)), Bar("c", ()), unicode=True)
    assert [line.count("█") for line in lines[1:]] == [1, 1, 0]
    assert len(lines[2]) == 20


def test_one_that_follows_another_begins_where_that_ends() -> None:
    _, first, second = drawn(Bar("a", ((0.0, 3.3),)), Bar("b", ((3.3, 10.0),)), width=40)
    assert second.index("#") == len(first)


def test_labels_and_widths_have_bounds() -> None:
    lines = drawn(Bar("x" * 100, ((0.0, 10.0),)), width=5)
    assert len(lines[1]) == 30
    assert max(map(len, drawn(Bar("a", ((0.0, 10.0),)), width=500))) == 120


def test_no_bars_and_no_time() -> None:
    assert len(drawn()) == 1
    assert drawn(Bar("a", ((0.0, 0.0),)), length=0.0)[1] == "  a"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (59, "59 s"),
        (90, "2 min"),
        (3600, "1 h"),
        (3600 * 3 + 600, "3 h 10 min"),
        (3600 * 9 + 3599, "10 h"),
        (3600 * 14.2, "14 h"),
        (86400 * 6, "6 days"),
    ],
)
def test_a_duration_is_told_as_exactly_as_a_forecast_can_be(seconds: float, words: str) -> None:
    assert duration(seconds) == words

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.runs.times import iso, seconds_of


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
    assert iso(at) == text


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
    assert seconds_of(text) == at


@given(st.floats(0, 250_000_000_000))
def test_a_moment_comes_back_to_the_millisecond(at: float) -> None:
    assert abs(seconds_of(iso(at)) - at) <= 0.001


@given(st.text())
def test_any_text_is_a_moment_or_none(text: str) -> None:
    assert seconds_of(text) >= 0

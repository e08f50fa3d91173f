"""What counts as an empty slot."""

import pytest

from benchmarks.parallel import Called, idle


def test_a_slot_is_empty_from_the_end_of_a_call_to_the_next_start() -> None:
    calls = [Called(0.0, 10.0, 0.0), Called(10.25, 20.0, 3.0)]
    assert idle(calls, 1) == pytest.approx([250.0])


def test_nobody_is_to_blame_before_the_next_call_is_wanted() -> None:
    calls = [Called(0.0, 10.0, 0.0), Called(15.5, 20.0, 15.0)]
    assert idle(calls, 1) == pytest.approx([500.0])


def test_who_starts_has_the_slot_that_was_free_first() -> None:
    calls = [Called(0.0, 10.0, 0.0), Called(0.0, 11.0, 0.0), Called(11.5, 20.0, 0.0), Called(11.75, 21.0, 0.0)]
    assert idle(calls, 2) == pytest.approx([1500.0, 750.0])

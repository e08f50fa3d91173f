"""What counts as an empty slot."""

import pytest

from benchmarks.parallel import CallTimes, idle_times


def test_a_slot_is_empty_from_the_end_of_a_call_to_the_next_start() -> None:
    calls = [CallTimes(0.0, 10.0, 0.0), CallTimes(10.25, 20.0, 3.0)]
    assert idle_times(calls, 1) == pytest.approx([250.0])


def test_nobody_is_to_blame_before_the_next_call_is_wanted() -> None:
    calls = [CallTimes(0.0, 10.0, 0.0), CallTimes(15.5, 20.0, 15.0)]
    assert idle_times(calls, 1) == pytest.approx([500.0])


def test_who_starts_has_the_slot_that_was_free_first() -> None:
    calls = [
        CallTimes(0.0, 10.0, 0.0),
        CallTimes(0.0, 11.0, 0.0),
        CallTimes(11.5, 20.0, 0.0),
        CallTimes(11.75, 21.0, 0.0),
    ]
    assert idle_times(calls, 2) == pytest.approx([1500.0, 750.0])

"""A pause grows by its factor up to its cap, whatever count a file holds."""

from bmad_autopilot.core.backoff import backoff


def test_a_pause_doubles_up_to_its_cap() -> None:
    assert [backoff(10.0, failures, most=50.0) for failures in (0, 1, 2, 3, 4, 10**9)] == [10, 10, 20, 40, 50, 50]


def test_another_factor() -> None:
    assert [backoff(2.0, failures, most=100.0, factor=3.0) for failures in (1, 2, 3)] == [2, 6, 18]


def test_no_pause_at_all() -> None:
    assert backoff(0.0, 5, most=0.0, factor=1.0) == 0.0

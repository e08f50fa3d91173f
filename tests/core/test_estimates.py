"""What a call will take and cost."""

import pytest

from bmad_autopilot.core.estimates import (
    DEFAULT_DOLLARS_PER_MINUTE,
    DEFAULT_MINUTES,
    DEFAULT_OTHER_MINUTES,
    MAX_ROUNDS,
    PastCall,
    Range,
    default_estimates,
    estimate_calls,
    sum_ranges,
)


def call(step: str, seconds: float, dollars: float | None = None, story: str = "1-1") -> PastCall:
    return PastCall("run", story, step, seconds, dollars)


def test_without_earlier_calls_all_is_guessed() -> None:
    found = estimate_calls([])
    assert (found, found.calls) == (default_estimates(), 0)
    assert found.seconds_of("dev").middle > found.seconds_of("create-story").middle > 0
    assert found.dollars_of("never-heard-of") is not None


def test_a_step_is_as_it_was_from_one_fifth_to_the_other() -> None:
    found = estimate_calls(
        [call("dev", float(seconds), 0.1 * seconds, f"1-{seconds}") for seconds in range(1, 12)]
    )
    assert found.seconds_of("dev") == (3.0, 6.0, 9.0)
    assert found.dollars_of("dev") == pytest.approx((0.3, 0.6, 0.9))
    assert (found.rounds, found.calls) == (1.0, 11)


def test_few_calls_say_little_about_how_much_they_differ() -> None:
    assert estimate_calls([call("dev", 10.0)]).seconds_of("dev") == (5.0, 10.0, 20.0)


def test_a_step_never_called_is_taken_for_any_other() -> None:
    found = estimate_calls([call("dev", 10.0), call("code-review", 20.0)])
    assert found.seconds_of("validate").middle == 15.0


def test_rounds_of_earlier_stories_are_expected_again() -> None:
    twice = [call("dev", 10.0), call("code-review", 4.0), call("dev", 10.0), call("code-review", 4.0)]
    assert estimate_calls(twice).seconds_of("dev").middle == 20.0
    assert estimate_calls([call("dev", 10.0)] * 50).rounds == MAX_ROUNDS


def test_without_a_price_there_is_none() -> None:
    found = estimate_calls([call("dev", 10.0)])
    assert found.dollars_of("dev") is None
    assert estimate_calls([call("dev", 10.0, 2.0), call("code-review", 5.0)]).dollars_of("code-review") is not None


def test_ranges_add_up() -> None:
    assert sum_ranges([Range(1, 2, 3), Range(1, 1, 1)]) == (2, 3, 4)
    assert sum_ranges([]) == (0, 0, 0)


def test_a_range_is_measured_from_the_fifth_call_on() -> None:
    def of(count: int) -> Range:
        calls = [call("dev", float(10 * number), None, f"1-{number}") for number in range(1, count + 1)]
        return estimate_calls(calls).seconds_of("dev")

    assert of(4) == (12.5, 25.0, 50.0)
    assert of(5) == pytest.approx((18.0, 30.0, 42.0))


def test_guesses_follow_from_minutes_and_their_price() -> None:
    found = default_estimates()
    assert {step: middle for step, (_, middle, _) in found.seconds.items()} == {
        step: 60 * minutes for step, minutes in DEFAULT_MINUTES.items()
    }
    assert found.seconds_of("never-heard-of").middle == pytest.approx(60 * DEFAULT_OTHER_MINUTES * found.rounds)
    price = found.dollars_of("never-heard-of")
    assert price is not None
    assert price.middle == pytest.approx(DEFAULT_OTHER_MINUTES * DEFAULT_DOLLARS_PER_MINUTE * found.rounds)

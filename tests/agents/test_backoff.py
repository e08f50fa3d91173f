"""Backoff: every cause has its patience, and an end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.agents.backoff import PATIENCE, pause
from bmad_autopilot.agents.outcomes import REACTIONS, Outcome, Reaction


def test_exactly_what_is_tried_again_has_patience() -> None:
    again = (Reaction.BACK_OFF, Reaction.TRY_AGAIN)
    assert PATIENCE.keys() == {outcome for outcome, reaction in REACTIONS.items() if reaction in again}


def test_what_the_agent_did_is_tried_once_more_and_at_once() -> None:
    causes = (Outcome.CRASHED, Outcome.STALLED, Outcome.MAX_TURNS)
    assert {(PATIENCE[cause].tries, pause(cause, 1, 1.0)) for cause in causes} == {(1, 0.0)}


@pytest.mark.parametrize("cause", [Outcome.OVERLOADED, Outcome.NETWORK])
def test_what_passes_by_itself_is_given_hours_in_growing_pauses(cause: Outcome) -> None:
    waits = [pause(cause, failures, 1.0) for failures in range(1, PATIENCE[cause].tries + 1)]
    assert waits == sorted(waits)
    assert waits[1] == 2 * waits[0]
    assert waits[-1] == 1800
    assert sum(waits) > 2 * 3600


@given(st.sampled_from(list(PATIENCE)), st.integers(1, 40), st.floats(0, 1))
def test_never_longer_than_its_longest(cause: Outcome, failures: int, random: float) -> None:
    assert 0 <= pause(cause, failures, random) <= PATIENCE[cause].longest

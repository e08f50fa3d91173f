"""What a refusal's status asks of us."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.agents.outcomes import Outcome
from bmad_autopilot.agents.refusals import by_status


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (401, Outcome.AUTH),
        (403, Outcome.AUTH),
        (402, Outcome.BILLING),
        (404, Outcome.MISCONFIGURED),
        (413, Outcome.PROMPT_TOO_LONG),
        (429, Outcome.LIMIT),
        (500, Outcome.OVERLOADED),
        (529, Outcome.OVERLOADED),
        (400, Outcome.CRASHED),
        (200, Outcome.CRASHED),
        ("429", Outcome.CRASHED),
        (None, Outcome.CRASHED),
    ],
)
def test_by_status(status: object, outcome: Outcome) -> None:
    assert by_status(status) is outcome


@given(st.none() | st.booleans() | st.integers() | st.floats() | st.text())
def test_no_status_is_too_strange(status: object) -> None:
    assert isinstance(by_status(status), Outcome)

"""Why a build says that it is blocked, in the words of the agent state file."""

import pytest

from bmad_autopilot.core.block_reasons import BlockReason, build_reason


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("intent unclear", BlockReason.CRITICAL_DECISION),
        ("Ambiguous scope", BlockReason.CRITICAL_DECISION),
        ("merge conflict", BlockReason.CRITICAL_DECISION),
        ("no continuity", BlockReason.CRITICAL_DECISION),
        ("unrecognized input", BlockReason.CRITICAL_DECISION),
        ("subagent cannot be started", BlockReason.NO_RESOURCE),
        ("a file is missing", BlockReason.NO_RESOURCE),
        ("the spec disappeared", BlockReason.NO_RESOURCE),
        ("work tree dirty", BlockReason.NO_RESOURCE),
        ("tests still fail", BlockReason.HUMAN_REVIEW_REQUIRED),
        ("", BlockReason.HUMAN_REVIEW_REQUIRED),
    ],
)
def test_a_builds_condition_in_our_words(condition, reason):
    assert build_reason(condition) is reason

"""Why an agent stops and asks: the five words of `{story_key}.agent-state.json`."""

from enum import StrEnum


class BlockReason(StrEnum):
    NO_RESOURCE = "no_resource"  # a file, a setting, a service or an access is not there
    MANUAL_TEST_REQUIRED = "manual_test_required"
    HUMAN_REVIEW_REQUIRED = "human_review_required"  # it was tried, and somebody must look at it
    CRITICAL_DECISION = "critical_decision"  # two readings, and what was agreed on chooses neither
    SUBAGENT_FAILED = "subagent_failed"  # ours to write, after an attempt that failed twice

"""Why an agent stops and asks: the five words of `{story_key}.agent-state.json`."""

from enum import StrEnum


class BlockReason(StrEnum):
    NO_RESOURCE = "no_resource"  # a file, a setting, a service or an access is not there
    MANUAL_TEST_REQUIRED = "manual_test_required"
    HUMAN_REVIEW_REQUIRED = "human_review_required"  # it was tried, and somebody must look at it
    CRITICAL_DECISION = "critical_decision"  # two readings, and what was agreed on chooses neither
    SUBAGENT_FAILED = "subagent_failed"  # ours to write, after an attempt that failed twice


# What BMAD's build-auto gives as its blocking condition, by the words that tell them apart.
_BUILD = (
    (BlockReason.CRITICAL_DECISION, ("intent", "ambigu", "conflict", "continuity", "story id", "unrecognized")),
    (
        BlockReason.NO_RESOURCE,
        ("subagent", "not writable", "missing", "disappeared", "no stories", "no epic", "dirty"),
    ),
)


def build_reason(condition: str) -> BlockReason:
    """What is left is work that was tried and did not hold: a person looks at it."""
    words = condition.casefold()
    found = (reason for reason, marks in _BUILD if any(mark in words for mark in marks))
    return next(found, BlockReason.HUMAN_REVIEW_REQUIRED)

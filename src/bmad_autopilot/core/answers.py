"""What an answer of a person means for the run, independent of the words of its question."""

from enum import StrEnum


class AnswerMeaning(StrEnum):
    UNKNOWN = ""  # of a newer version

    # for a story or a step
    AGAIN = "again"
    EXTEND = "extend"  # again, with as much time once more
    SKIP = "skip"
    HAND_OVER = "hand-over"  # the person continues the work
    DROP = "drop"  # leave the step as it is
    OTHERWISE = "otherwise"  # take the call's other possible finding
    MORE_ROUNDS = "more-rounds"
    MORE_FIXES = "more-fixes"
    RECHECK = "recheck"  # run the project's checks again

    # for the run
    CONTINUE = "go-on"
    OBSERVE = "look"  # only observe again
    ABORT = "abort"
    MORE_BUDGET = "more"
    NEW_SETTINGS = "new-settings"
    OLD_SETTINGS = "old-settings"
    CLOSE_EPIC = "close"
    LEAVE_EPIC = "leave"

    # for a flow
    REPEAT_STEP = "once-more"
    PASS_OVER = "pass-over"  # noqa: S105 (not a password)
    END_SESSION = "session-over"

    # for a delivery
    ACCEPT_MERGE = "merged-fine"
    REOPEN = "reopen"
    RETARGET = "retarget"
    TAKE_OVER = "take-over"  # build on commits of others
    MORE_BASES = "more-bases"
    MORE_PULL_ROUNDS = "more-pull-rounds"
    INSIST = "insist"
    CLOSE_THREAD = "close-thread"
    LEAVE_THREAD = "leave-thread"
    WAIT_MORE = "wait-more"
    WITHOUT_CHECKS = "without-checks"
    WITHOUT_REVIEW = "without-review"
    TRY_MERGE = "try-merge"


_BY_VALUE = {meaning.value: meaning for meaning in AnswerMeaning}


def read_meaning(value: object) -> AnswerMeaning:
    """The meaning as the journal records it."""
    return _BY_VALUE.get(str(value), AnswerMeaning.UNKNOWN)

"""Texts, options and recommendations of the questions a lane asks, and the meaning of each answer."""

from collections.abc import Mapping
from typing import NamedTuple

from ..core.answers import AnswerMeaning
from ..core.stop_causes import ABORT, EXTEND, FIX, RETRY, SKIP, BlockReason, Cause


class QuestionText(NamedTuple):
    """One question: its text, the meaning of each option for journal_fold.py, the recommended option and why."""

    text: str
    options: Mapping[str, AnswerMeaning]
    recommended: str
    because: str
    cause: Cause
    reason: BlockReason = BlockReason.HUMAN_REVIEW_REQUIRED


_STANDARD_OPTIONS = {
    RETRY: AnswerMeaning.AGAIN,
    EXTEND: AnswerMeaning.EXTEND,
    SKIP: AnswerMeaning.SKIP,
    FIX: AnswerMeaning.HAND_OVER,
    ABORT: AnswerMeaning.ABORT,
}
_CONTINUE_OPTIONS = {"continue": AnswerMeaning.CONTINUE, FIX: AnswerMeaning.HAND_OVER, ABORT: AnswerMeaning.ABORT}

QUESTION_TEXTS: Mapping[str, QuestionText] = {
    "blocked": QuestionText(
        "{step} of {story} reports that it is blocked. Retry once the cause is fixed?",
        _STANDARD_OPTIONS,
        RETRY,
        "fix what it names first; its work is kept",
        Cause.BLOCKED,
        BlockReason.NO_RESOURCE,
    ),
    "failed": QuestionText(
        "{step} of {story} failed twice. Retry?",
        _STANDARD_OPTIONS,
        RETRY,
        "its work is kept, and the next call gets the error",
        Cause.FAILED,
        BlockReason.SUBAGENT_FAILED,
    ),
    "hopeless": QuestionText(
        "{step} of {story} cannot continue by itself. Retry once the cause is fixed?",
        _STANDARD_OPTIONS,
        RETRY,
        "its work is kept; fix what stopped it first",
        Cause.UNRECOVERABLE,
        BlockReason.NO_RESOURCE,
    ),
    "checks": QuestionText(
        "The project's checks still fail on {story} after all attempts to fix them. What next?",
        {**_STANDARD_OPTIONS, RETRY: AnswerMeaning.MORE_FIXES},
        FIX,
        "the agents used all their attempts; the logs show what fails",
        Cause.CHECKS,
    ),
    "environment": QuestionText(
        "The project's checks cannot run on this machine for {story}. Rerun them once that is fixed?",
        {**_STANDARD_OPTIONS, RETRY: AnswerMeaning.RECHECK},
        RETRY,
        "no code change would help; install or configure what is missing first",
        Cause.ENVIRONMENT,
        BlockReason.NO_RESOURCE,
    ),
    "rounds": QuestionText(
        "The review of {story} still requests changes after {rounds} rounds. What next?",
        {"more": AnswerMeaning.MORE_ROUNDS, "approve": AnswerMeaning.OTHERWISE, **_STANDARD_OPTIONS},
        "more",
        "the requested changes are listed above",
        Cause.ROUNDS,
    ),
    "rows": QuestionText(
        "While {step} of {story} ran, other entries of the board changed. Did you change them?",
        {"mine": AnswerMeaning.OTHERWISE, "undo": AnswerMeaning.OTHERWISE},
        "undo",
        "no step of this run needs to change them",
        Cause.ROWS,
        BlockReason.CRITICAL_DECISION,
    ),
    "row": QuestionText(
        "The board says that {story} is done, but no step of this run completed it, and no commit of yours "
        "contains its work. Is that your edit, or should it be undone?",
        {"mine": AnswerMeaning.OBSERVE, "undo": AnswerMeaning.OBSERVE},
        "undo",
        "an agent, or a test it wrote, may have set it; if undone, work on the story continues",
        Cause.ROWS,
        BlockReason.CRITICAL_DECISION,
    ),
    "ground": QuestionText(
        "The checkout is not ready to work in. Check again?",
        {RETRY: AnswerMeaning.OBSERVE, ABORT: AnswerMeaning.ABORT},
        RETRY,
        "it is checked again; nothing is changed until it is ready",
        Cause.UNSAFE_WORKTREE,
    ),
    "budget": QuestionText(
        "This run has reached its limit. Allow the same amount again?",
        {"more": AnswerMeaning.MORE_BUDGET, "stop": AnswerMeaning.ABORT},
        "stop",
        "the limit was set for this case",
        Cause.BUDGET,
    ),
    "left-out": QuestionText(
        "Every story of {epic} is done, except those left out. Close the epic without them?",
        {"close": AnswerMeaning.CLOSE_EPIC, "leave": AnswerMeaning.LEAVE_EPIC},
        "leave",
        "they can still be picked up later",
        Cause.EXCLUDED,
        BlockReason.CRITICAL_DECISION,
    ),
    "retrospective": QuestionText(
        "The retrospective of {epic} did not succeed. Retry?",
        {RETRY: AnswerMeaning.AGAIN, "leave": AnswerMeaning.DROP},
        "leave",
        "the epic is complete without it",
        Cause.RETROSPECTIVE,
        BlockReason.SUBAGENT_FAILED,
    ),
    "stuck": QuestionText(
        "No rule matches the state of {story}. Check again?",
        {RETRY: AnswerMeaning.OBSERVE, ABORT: AnswerMeaning.ABORT},
        RETRY,
        "change its status with `bmad board set` first",
        Cause.STUCK,
    ),
    "restless": QuestionText(
        "Files change while the project's checks run on {story}, so their result cannot be trusted. Rerun them "
        "once that is fixed?",
        {**_STANDARD_OPTIONS, RETRY: AnswerMeaning.RECHECK},
        RETRY,
        "add files that a program rewrites by itself to .gitignore",
        Cause.UNSTABLE,
        BlockReason.NO_RESOURCE,
    ),
    "human-checkpoint": QuestionText(
        "{step} of {story} is next. Continue?",
        _CONTINUE_OPTIONS,
        "continue",
        "nothing went wrong; the settings ask for confirmation here",
        Cause.HUMAN_CHECKPOINT,
    ),
    "settings": QuestionText(
        "The settings changed since this run started. Use the new ones?",
        {"new": AnswerMeaning.NEW_SETTINGS, "old": AnswerMeaning.OLD_SETTINGS, ABORT: AnswerMeaning.ABORT},
        "new",
        "they are the project's current settings",
        Cause.SETTINGS,
        BlockReason.CRITICAL_DECISION,
    ),
}

# Texts and recommendations for specific causes, in place of the general ones.
TEXT_BY_CAUSE = {
    Cause.TIMEOUT: "{step} of {story} was stopped at its time limit. Allow the same time again?",
    Cause.LIMIT: "{step} of {story} stopped at the account's usage limit. Retry?",
    Cause.FALSE_CLAIM: "{step} of {story} reported success twice, but required work is missing. Retry?",
    Cause.CONFLICT: "A merge stopped on a conflict. Continue once it is resolved?",
    Cause.EPIC_COMPLETE: "Every story of {epic} is done. Close the epic?",
}
RECOMMENDED_BY_CAUSE = {
    Cause.TIMEOUT: (EXTEND, "it was still working"),
    Cause.LIMIT: (RETRY, "it can continue once the account is usable again"),
    Cause.FALSE_CLAIM: (FIX, "it was told what is missing and left it out again"),
    Cause.EPIC_COMPLETE: ("continue", "nothing went wrong; the settings ask for confirmation here"),
}
AFTER_STORY = "A story is done; {story} is next. Continue?"

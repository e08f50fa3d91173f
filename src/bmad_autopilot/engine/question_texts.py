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
        "{step} of {story} says that it is blocked. Once that is mended: try again?",
        _STANDARD_OPTIONS,
        RETRY,
        "what it names must be there first; its work is kept",
        Cause.BLOCKED,
        BlockReason.NO_RESOURCE,
    ),
    "failed": QuestionText(
        "{step} of {story} failed, and so did another try. Try again?",
        _STANDARD_OPTIONS,
        RETRY,
        "its work is kept, and the next call is told what went wrong",
        Cause.FAILED,
        BlockReason.SUBAGENT_FAILED,
    ),
    "hopeless": QuestionText(
        "{step} of {story} cannot go on by itself. Once that is mended: try again?",
        _STANDARD_OPTIONS,
        RETRY,
        "its work is kept; what stopped it must be mended first",
        Cause.UNRECOVERABLE,
        BlockReason.NO_RESOURCE,
    ),
    "checks": QuestionText(
        "The project's checks still fail on {story} after every mend. What now?",
        {**_STANDARD_OPTIONS, RETRY: AnswerMeaning.MORE_FIXES},
        FIX,
        "agents have had their tries; the logs say what fails",
        Cause.CHECKS,
    ),
    "environment": QuestionText(
        "The project's checks cannot run here on {story}. Once that is mended: run them again?",
        {**_STANDARD_OPTIONS, RETRY: AnswerMeaning.RECHECK},
        RETRY,
        "no change to the code would help; what is missing must be there first",
        Cause.ENVIRONMENT,
        BlockReason.NO_RESOURCE,
    ),
    "rounds": QuestionText(
        "The review of {story} asks for changes again, after {rounds} rounds. What now?",
        {"more": AnswerMeaning.MORE_ROUNDS, "approve": AnswerMeaning.OTHERWISE, **_STANDARD_OPTIONS},
        "more",
        "what it asks for stands above",
        Cause.ROUNDS,
    ),
    "rows": QuestionText(
        "While {step} of {story} ran, other rows of the board moved. Did you do that?",
        {"mine": AnswerMeaning.OTHERWISE, "undo": AnswerMeaning.OTHERWISE},
        "undo",
        "no step of this run has to set them",
        Cause.ROWS,
        BlockReason.CRITICAL_DECISION,
    ),
    "row": QuestionText(
        "The board says that {story} is done, but no step of this run has finished it, and no commit of yours "
        "holds its work. Is that your edit, or should it be undone?",
        {"mine": AnswerMeaning.OBSERVE, "undo": AnswerMeaning.OBSERVE},
        "undo",
        "an agent, or a test that it wrote, may have set it; undone, the story is worked on as before",
        Cause.ROWS,
        BlockReason.CRITICAL_DECISION,
    ),
    "ground": QuestionText(
        "This is no place to work in just now. Go on?",
        {RETRY: AnswerMeaning.OBSERVE, ABORT: AnswerMeaning.ABORT},
        RETRY,
        "it is looked at again; nothing is changed before it is in order",
        Cause.UNSAFE_WORKTREE,
    ),
    "budget": QuestionText(
        "The cap of this run is reached. Allow as much again?",
        {"more": AnswerMeaning.MORE_BUDGET, "stop": AnswerMeaning.ABORT},
        "stop",
        "the cap was set for this",
        Cause.BUDGET,
    ),
    "left-out": QuestionText(
        "Every story of {epic} is done but those left out. Close the epic without them?",
        {"close": AnswerMeaning.CLOSE_EPIC, "leave": AnswerMeaning.LEAVE_EPIC},
        "leave",
        "they can still be taken up again",
        Cause.EXCLUDED,
        BlockReason.CRITICAL_DECISION,
    ),
    "retrospective": QuestionText(
        "The retrospective of {epic} was not held. Try again?",
        {RETRY: AnswerMeaning.AGAIN, "leave": AnswerMeaning.DROP},
        "leave",
        "the epic is done without it",
        Cause.RETROSPECTIVE,
        BlockReason.SUBAGENT_FAILED,
    ),
    "stuck": QuestionText(
        "{story} is in a state that nothing is known to do about. Look again?",
        {RETRY: AnswerMeaning.OBSERVE, ABORT: AnswerMeaning.ABORT},
        RETRY,
        "once its row says something else",
        Cause.STUCK,
    ),
    "restless": QuestionText(
        "Files change by themselves while the project's checks run on {story}, so that no result holds. Once that "
        "is mended: run them again?",
        {**_STANDARD_OPTIONS, RETRY: AnswerMeaning.RECHECK},
        RETRY,
        "what a program writes by itself belongs into .gitignore",
        Cause.UNSTABLE,
        BlockReason.NO_RESOURCE,
    ),
    "human-checkpoint": QuestionText(
        "{step} of {story} comes next. Go on?",
        _CONTINUE_OPTIONS,
        "continue",
        "nothing has gone wrong; you wanted to be asked here",
        Cause.HUMAN_CHECKPOINT,
    ),
    "settings": QuestionText(
        "The settings have changed since this run began. Go by the new ones?",
        {"new": AnswerMeaning.NEW_SETTINGS, "old": AnswerMeaning.OLD_SETTINGS, ABORT: AnswerMeaning.ABORT},
        "new",
        "they are what the project goes by now",
        Cause.SETTINGS,
        BlockReason.CRITICAL_DECISION,
    ),
}

# Texts and recommendations for specific causes, in place of the general ones.
TEXT_BY_CAUSE = {
    Cause.TIMEOUT: "{step} of {story} was ended at its time limit. Give it as much time again?",
    Cause.LIMIT: "The account's limit keeps {step} of {story} from going on. Try again?",
    Cause.FALSE_CLAIM: "{step} of {story} claims to be done without what it owes, twice. Try again?",
    Cause.CONFLICT: "A merge has stopped on a conflict. Once it is resolved: go on?",
    Cause.EPIC_COMPLETE: "Every story of {epic} is done. Close the epic?",
}
RECOMMENDED_BY_CAUSE = {
    Cause.TIMEOUT: (EXTEND, "it was still at work"),
    Cause.LIMIT: (RETRY, "once the account can be used again"),
    Cause.FALSE_CLAIM: (FIX, "it was told what is missing, and left it out again"),
    Cause.EPIC_COMPLETE: ("continue", "nothing has gone wrong; you wanted to be asked here"),
}
AFTER_STORY = "A story is done, and {story} comes next. Go on?"

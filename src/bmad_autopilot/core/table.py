"""The transition table: what to do, given how things stand. The first row that fits counts.

All of the loop's policy is here. The diagram in docs/loop.md, the check that every wait ends, and many of the
tests are made from these rows."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from .facts import Board, Call, Commit, Epic, Gate, Question, Rest, Row, Step, Target


class Action(StrEnum):
    LEAVE = "leave"  # stop looking after it; agents go on
    FINISH = "finish"
    FAIL = "fail"
    WAIT_FOR_ANSWER = "wait-for-answer"
    WAIT_FOR_AGENT = "wait-for-agent"
    WAIT_FOR_LIMIT = "wait-for-limit"
    WAIT_FOR_PAUSE = "wait-for-pause"
    ASK = "ask"
    ANSWER = "answer"  # as the settings say
    TAKE_ANSWER = "take-answer"
    RESTORE_BOARD = "restore-board"
    TAKE_IN = "take-in"  # what a call came to
    BEGIN = "begin"  # a story: its baseline is recorded
    LET_GO = "let-go"  # of a story that is no longer on the board
    NOTE_EDIT = "note-edit"
    SET_ROW = "set-row"
    LIFT_EPIC = "lift-epic"
    CLOSE_EPIC = "close-epic"
    CHECK = "check"  # run the project's checks
    CALL = "call"
    FIX = "fix"  # call for a mend of what the checks found
    RETROSPECT = "retrospect"
    ACCEPT = "accept"  # the step is done
    NEW_ROUND = "new-round"
    COMMIT = "commit"


class Wake(StrEnum):
    """What ends a wait early."""

    CHILD = "the agent's end"
    FILE = "a changed file"
    TIMER = "its time"
    HUMAN = "an answer"


class Wait(NamedTuple):
    bound: str  # what ends it at the latest
    wakes: tuple[Wake, ...]


Values = tuple[object, ...]


class Rule(NamedTuple):
    name: str
    when: Mapping[str, Values]  # fact → the values that fit; what is not named does not matter
    action: Action
    question: str = ""  # of ASK: which; engine/asking.py has the words
    wait: Wait | None = None


def _when(**facts: object) -> Mapping[str, Values]:
    return {name: value if isinstance(value, tuple) else (value,) for name, value in facts.items()}


_AGENT = Wait("the call's time limit, which its supervisor keeps", (Wake.CHILD, Wake.FILE, Wake.TIMER, Wake.HUMAN))
_ANSWER = Wait("where nobody is there the run ends with exit code 3", (Wake.HUMAN, Wake.FILE))
_LIMIT = Wait("the time at which the limit resets, on disk", (Wake.TIMER, Wake.HUMAN))
_PAUSE = Wait("the pause's end, on disk; the tries of a cause are counted", (Wake.TIMER, Wake.HUMAN))

NOT_TAKEN = (
    Call.ASKED,
    Call.HOPELESS,
    Call.FAILED,
    Call.LACKING,
    Call.REFUSED,
)  # nothing to believe the agent for

_CHECKED = (Step.REVIEW, Step.THROUGH)  # what comes now is only for code that passes

TABLE: tuple[Rule, ...] = (
    # Whatever else: leave when told to, and decide nothing on a board that cannot be read.
    Rule("told-to-leave", _when(stop=True), Action.LEAVE),
    Rule("agent-at-work", _when(call=Call.RUNNING), Action.WAIT_FOR_AGENT, wait=_AGENT),
    Rule("board-spoilt", _when(board=Board.SPOILT), Action.RESTORE_BOARD),
    Rule("board-unreadable", _when(board=Board.UNREADABLE), Action.FAIL),
    # A question holds the lane until it is answered.
    Rule("answer-there", _when(question=Question.ANSWERED), Action.TAKE_ANSWER),
    Rule("answered-in-advance", _when(question=Question.OPEN, advance=True), Action.ANSWER),
    Rule("paused-while-asking", _when(question=Question.OPEN, pause=True), Action.LEAVE),
    Rule("answer-missing", _when(question=Question.OPEN), Action.WAIT_FOR_ANSWER, wait=_ANSWER),
    # What an agent left is taken in before anything else is looked at.
    Rule("call-over", _when(call=Call.ENDED), Action.TAKE_IN),
    Rule("settings-changed", _when(settings=False), Action.ASK, "settings"),
    # No story left.
    Rule(
        "one-step-done",
        _when(one_step=True, commit=Commit.NONE, row=(Row.RIGHT, Row.EDITED, Row.GONE)),
        Action.FINISH,
    ),
    Rule("paused-before-retrospective", _when(target=Target.OVER, retrospective=True, pause=True), Action.LEAVE),
    Rule(
        "retrospective-limit",
        _when(target=Target.OVER, retrospective=True, rest=Rest.LIMIT),
        Action.WAIT_FOR_LIMIT,
        wait=_LIMIT,
    ),
    Rule(
        "retrospective-pause",
        _when(target=Target.OVER, retrospective=True, rest=Rest.PAUSE),
        Action.WAIT_FOR_PAUSE,
        wait=_PAUSE,
    ),
    Rule(
        "retrospective-due",
        _when(target=Target.OVER, retrospective=True, budget=True, ground=True),
        Action.RETROSPECT,
    ),
    Rule(
        "stories-left-out", _when(target=Target.LEFT_OUT, epic=(Epic.UNDER_WAY, Epic.OPEN)), Action.ASK, "left-out"
    ),
    Rule("epic-elsewhere", _when(target=Target.OVER, epic=Epic.OPEN, ground=False), Action.ASK, "ground"),
    Rule(
        "epic-commit-elsewhere", _when(target=Target.OVER, commit=Commit.DUE, ground=False), Action.ASK, "ground"
    ),
    Rule(
        "epic-complete",
        _when(target=Target.OVER, epic=Epic.OPEN, checkpoint=True),
        Action.ASK,
        "human-checkpoint",
    ),
    Rule("epic-over", _when(target=Target.OVER, epic=Epic.OPEN), Action.CLOSE_EPIC),
    Rule("epic-to-commit", _when(target=Target.OVER, commit=Commit.DUE), Action.COMMIT),
    Rule(
        "retrospective-asked",
        _when(target=Target.OVER, call=Call.ASKED, attended=True),
        Action.ASK,
        "agent",
    ),
    Rule(
        "retrospective-not-held",
        _when(target=Target.OVER, call=NOT_TAKEN, attended=True),
        Action.ASK,
        "retrospective",
    ),
    Rule("all-over", _when(target=(Target.OVER, Target.LEFT_OUT)), Action.FINISH),
    # The story's row: a person's word stands.
    Rule("story-gone", _when(row=Row.GONE), Action.LET_GO),
    Rule("row-edited", _when(row=Row.EDITED), Action.NOTE_EDIT),
    Rule("ground-unsafe", _when(ground=False), Action.ASK, "ground"),
    Rule("paused-between-stories", _when(begun=False, pause=True), Action.LEAVE),
    Rule("between-stories", _when(begun=False, checkpoint=True), Action.ASK, "human-checkpoint"),
    Rule("asked-before", _when(begun=False, left=True), Action.ASK, "left-behind"),
    Rule("new-story", _when(begun=False), Action.BEGIN),
    # A call that was taken in.
    Rule("claim-undone", _when(call=NOT_TAKEN, row=Row.DUE), Action.SET_ROW),
    Rule("asked", _when(call=Call.ASKED), Action.ASK, "agent"),
    Rule("hopeless", _when(call=Call.HOPELESS), Action.ASK, "hopeless"),
    Rule(
        "failed-for-good", _when(call=(Call.FAILED, Call.LACKING, Call.REFUSED), tries=False), Action.ASK, "failed"
    ),
    Rule("good-unchecked", _when(call=Call.GOOD, gate=Gate.DUE), Action.CHECK),
    Rule("good-but-broken", _when(call=Call.GOOD, gate=Gate.CODE, rounds=True), Action.NEW_ROUND),
    Rule("good-but-broken-again", _when(call=Call.GOOD, gate=(Gate.CODE, Gate.SAME)), Action.ASK, "checks"),
    Rule("good-but-not-here", _when(call=Call.GOOD, gate=Gate.ENVIRONMENT), Action.ASK, "environment"),
    Rule("good-row", _when(call=Call.GOOD, row=Row.DUE), Action.SET_ROW),
    Rule("good", _when(call=Call.GOOD), Action.ACCEPT),
    Rule("changes-row", _when(call=Call.CHANGES, row=Row.DUE), Action.SET_ROW),
    Rule("changes-without-end", _when(call=Call.CHANGES, rounds=False), Action.ASK, "rounds"),
    Rule("changes-commit", _when(call=Call.CHANGES, commit=Commit.DUE), Action.COMMIT),
    Rule("changes", _when(call=Call.CHANGES), Action.NEW_ROUND),
    # The story has been through all steps.
    Rule("finished-row", _when(step=Step.NONE, row=Row.DUE), Action.SET_ROW),
    Rule("finished", _when(step=Step.NONE, commit=Commit.DUE), Action.COMMIT),
    # Before a call.
    Rule("paused", _when(pause=True), Action.LEAVE),
    Rule("before-dev", _when(step=Step.WORK, checkpoint=True), Action.ASK, "human-checkpoint"),
    Rule("limit", _when(rest=Rest.LIMIT), Action.WAIT_FOR_LIMIT, wait=_LIMIT),
    Rule("pause", _when(rest=Rest.PAUSE), Action.WAIT_FOR_PAUSE, wait=_PAUSE),
    Rule("budget-spent", _when(budget=False), Action.ASK, "budget"),
    Rule("epic-begins", _when(epic=Epic.BACKLOG, step=(Step.WORK, Step.REVIEW)), Action.LIFT_EPIC),
    Rule("unchecked", _when(step=_CHECKED, gate=Gate.DUE), Action.CHECK),
    Rule("broken", _when(step=_CHECKED, gate=Gate.CODE, fixes=True), Action.FIX),
    Rule("broken-for-good", _when(step=_CHECKED, gate=(Gate.CODE, Gate.SAME)), Action.ASK, "checks"),
    Rule("not-here", _when(step=_CHECKED, gate=Gate.ENVIRONMENT), Action.ASK, "environment"),
    Rule("through", _when(step=Step.THROUGH), Action.ACCEPT),
    Rule("row-first", _when(step=(Step.WORK, Step.REVIEW), row=Row.DUE), Action.SET_ROW),
    Rule("tidy-first", _when(step=(Step.WORK, Step.REVIEW), tidy=False), Action.COMMIT),
    Rule("call", _when(step=(Step.WORK, Step.REVIEW)), Action.CALL),
    # Nothing of all this: a hole in the table, which a person sees, and no exception.
    Rule("stuck", {}, Action.ASK, "stuck"),
)

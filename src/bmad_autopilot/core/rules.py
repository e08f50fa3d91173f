"""What a row of the transition table is made of: its conditions, one action, what it asks or waits for."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class Action(StrEnum):
    LEAVE = "leave"  # stop looking after it; agents go on
    FINISH = "finish"
    FAIL = "fail"
    WAIT_FOR_ANSWER = "wait-for-answer"
    WAIT_FOR_AGENT = "wait-for-agent"
    WAIT_FOR_LIMIT = "wait-for-limit"
    WAIT_FOR_PAUSE = "wait-for-pause"
    WAIT_FOR_SLOT = "wait-for-slot"
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
    KEEP_STATE = "keep-state"  # a flow's state file is brought up to date
    IMPLEMENT = "implement"  # the tasks of a flow, on the board made from them
    DELIVER = "deliver"  # the stories are over: the branch goes to the forge
    WAIT_FOR_FORGE = "wait-for-forge"
    WAIT_FOR_PULL = "wait-for-pull"
    STAND = "stand"  # the work tree on our branch
    PUSH = "push"
    OPEN_PULL = "open-pull"
    LABEL = "label"
    RETARGET = "retarget"
    REQUEST_REVIEW = "request-review"
    REPLY = "reply"
    RESOLVE = "resolve"
    OPEN_ROUND = "open-round"  # of mending what reviewers and checks found
    RERUN = "rerun"
    NOTE_GREEN = "note-green"  # since when all checks that are there have passed
    START_ROBOT = "start-robot"  # the workflow that approves what is ready
    TAKE_BASE = "take-base"
    MERGE = "merge"
    PROVE = "prove"
    REOPEN = "reopen"
    TAKE_FOREIGN = "take-foreign"  # what somebody else has pushed to our branch
    CLEAR_BRANCH = "clear-branch"


class Phase(StrEnum):
    """Where an epic stands on its way, as the bash autopilot's state file has it."""

    CHECK_PENDING_PR = "CHECK_PENDING_PR"
    FIND_EPIC = "FIND_EPIC"
    CREATE_BRANCH = "CREATE_BRANCH"
    DEVELOP_STORIES = "DEVELOP_STORIES"
    CODE_REVIEW = "CODE_REVIEW"
    CREATE_PR = "CREATE_PR"
    WAIT_COPILOT = "WAIT_COPILOT"
    FIX_ISSUES = "FIX_ISSUES"
    MERGE_PR = "MERGE_PR"
    BLOCKED = "BLOCKED"
    DONE = "DONE"


class Wake(StrEnum):
    """What ends a wait early."""

    CHILD = "the agent's end"
    FILE = "a changed file"
    TIMER = "its time"
    HUMAN = "an answer"
    FORGE = "a look at the forge"
    SLOT = "another lane's agent ends"


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
    phase: Phase | None = None  # of the bash autopilot's, where the row belongs to one


def when(**facts: object) -> Mapping[str, Values]:
    return {name: value if isinstance(value, tuple) else (value,) for name, value in facts.items()}

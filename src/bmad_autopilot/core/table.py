"""The transition table: what to do, given how things stand. The first row that fits counts.

All of the loop's policy is here, and in to_merged.py and through_flow.py, whose rows are part of it. The diagram
in docs/loop.md, the check that every wait ends, and many of the tests are made from these rows."""

from .facts import Board, Call, Commit, Delivery, Epic, Gate, Question, Rest, Row, Step, Target
from .rules import Action, Phase, Rule, Wait, Wake, when
from .through_flow import THROUGH_FLOW
from .to_merged import TO_MERGED

_AGENT = Wait("the call's time limit, which its supervisor keeps", (Wake.CHILD, Wake.FILE, Wake.TIMER, Wake.HUMAN))
_ANSWER = Wait("where nobody is there the run ends with exit code 3", (Wake.HUMAN, Wake.FILE))
_LIMIT = Wait("the time at which the limit resets, on disk", (Wake.TIMER, Wake.HUMAN))
_SLOT = Wait(
    "the time limits of the agents at work, which their supervisors keep", (Wake.SLOT, Wake.TIMER, Wake.HUMAN)
)
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
    Rule("told-to-leave", when(stop=True), Action.LEAVE),
    Rule("state-behind", when(kept=False), Action.KEEP_STATE),
    Rule("agent-at-work", when(call=Call.RUNNING), Action.WAIT_FOR_AGENT, wait=_AGENT),
    Rule("board-spoilt", when(board=Board.SPOILT), Action.RESTORE_BOARD),
    Rule("board-unreadable", when(board=Board.UNREADABLE), Action.FAIL),
    # A question holds the lane until it is answered.
    Rule("answer-there", when(question=Question.ANSWERED), Action.TAKE_ANSWER),
    Rule("answered-in-advance", when(question=Question.OPEN, advance=True), Action.ANSWER),
    Rule("paused-while-asking", when(question=Question.OPEN, pause=True), Action.LEAVE),
    Rule("answer-missing", when(question=Question.OPEN), Action.WAIT_FOR_ANSWER, wait=_ANSWER),
    # What an agent left is taken in before anything else is looked at.
    Rule("call-over", when(call=Call.ENDED), Action.TAKE_IN),
    Rule("settings-changed", when(settings=False), Action.ASK, "settings"),
    *TO_MERGED,
    *THROUGH_FLOW,
    # No story left.
    Rule(
        "one-step-done",
        when(one_step=True, commit=Commit.NONE, row=(Row.RIGHT, Row.EDITED, Row.GONE)),
        Action.FINISH,
    ),
    Rule("paused-before-retrospective", when(target=Target.OVER, retrospective=True, pause=True), Action.LEAVE),
    Rule(
        "retrospective-limit",
        when(target=Target.OVER, retrospective=True, rest=Rest.LIMIT),
        Action.WAIT_FOR_LIMIT,
        wait=_LIMIT,
    ),
    Rule(
        "retrospective-pause",
        when(target=Target.OVER, retrospective=True, rest=Rest.PAUSE),
        Action.WAIT_FOR_PAUSE,
        wait=_PAUSE,
    ),
    Rule(
        "retrospective-slot",
        when(target=Target.OVER, retrospective=True, budget=True, ground=True, slot=False),
        Action.WAIT_FOR_SLOT,
        wait=_SLOT,
    ),
    Rule(
        "retrospective-due",
        when(target=Target.OVER, retrospective=True, budget=True, ground=True),
        Action.RETROSPECT,
    ),
    Rule(
        "stories-left-out", when(target=Target.LEFT_OUT, epic=(Epic.UNDER_WAY, Epic.OPEN)), Action.ASK, "left-out"
    ),
    Rule("epic-elsewhere", when(target=Target.OVER, epic=Epic.OPEN, ground=False), Action.ASK, "ground"),
    Rule("epic-commit-elsewhere", when(target=Target.OVER, commit=Commit.DUE, ground=False), Action.ASK, "ground"),
    Rule(
        "epic-complete",
        when(target=Target.OVER, epic=Epic.OPEN, checkpoint=True),
        Action.ASK,
        "human-checkpoint",
    ),
    Rule("epic-over", when(target=Target.OVER, epic=Epic.OPEN), Action.CLOSE_EPIC),
    Rule("epic-to-commit", when(target=Target.OVER, commit=Commit.DUE), Action.COMMIT),
    Rule(
        "retrospective-asked",
        when(target=Target.OVER, call=Call.ASKED, attended=True),
        Action.ASK,
        "agent",
    ),
    Rule(
        "retrospective-not-held",
        when(target=Target.OVER, call=NOT_TAKEN, attended=True),
        Action.ASK,
        "retrospective",
    ),
    Rule("deliver", when(target=Target.OVER, delivery=Delivery.DUE), Action.DELIVER, phase=Phase.CREATE_PR),
    Rule("all-over", when(target=(Target.OVER, Target.LEFT_OUT)), Action.FINISH),
    # The story's row: a person's word stands.
    Rule("story-gone", when(row=Row.GONE), Action.LET_GO),
    Rule("row-unproved", when(row=Row.UNPROVED), Action.ASK, "row"),
    Rule("row-edited", when(row=Row.EDITED), Action.NOTE_EDIT),
    Rule("ground-unsafe", when(ground=False), Action.ASK, "ground"),
    Rule("paused-between-stories", when(begun=False, pause=True), Action.LEAVE),
    Rule("between-stories", when(begun=False, checkpoint=True), Action.ASK, "human-checkpoint"),
    Rule("asked-before", when(begun=False, left=True), Action.ASK, "left-behind"),
    Rule("new-story", when(begun=False), Action.BEGIN),
    # A call that was taken in.
    Rule("claim-undone", when(call=NOT_TAKEN, row=Row.DUE), Action.SET_ROW),
    Rule("asked", when(call=Call.ASKED), Action.ASK, "agent"),
    Rule("hopeless", when(call=Call.HOPELESS), Action.ASK, "hopeless"),
    Rule(
        "failed-for-good", when(call=(Call.FAILED, Call.LACKING, Call.REFUSED), tries=False), Action.ASK, "failed"
    ),
    Rule("good-unchecked", when(call=Call.GOOD, gate=Gate.DUE), Action.CHECK),
    Rule("good-but-broken", when(call=Call.GOOD, gate=Gate.CODE, rounds=True), Action.NEW_ROUND),
    Rule("good-but-broken-again", when(call=Call.GOOD, gate=(Gate.CODE, Gate.SAME)), Action.ASK, "checks"),
    Rule("good-but-not-here", when(call=Call.GOOD, gate=Gate.ENVIRONMENT), Action.ASK, "environment"),
    Rule("good-but-restless", when(call=Call.GOOD, gate=Gate.RESTLESS), Action.ASK, "restless"),
    Rule("good-row", when(call=Call.GOOD, row=Row.DUE), Action.SET_ROW),
    Rule("good", when(call=Call.GOOD), Action.ACCEPT),
    Rule("changes-row", when(call=Call.CHANGES, row=Row.DUE), Action.SET_ROW),
    Rule("changes-without-end", when(call=Call.CHANGES, rounds=False), Action.ASK, "rounds"),
    Rule("changes-commit", when(call=Call.CHANGES, commit=Commit.DUE), Action.COMMIT),
    Rule("changes", when(call=Call.CHANGES), Action.NEW_ROUND),
    # The story has been through all steps.
    Rule("finished-row", when(step=Step.NONE, row=Row.DUE), Action.SET_ROW),
    Rule("finished", when(step=Step.NONE, commit=Commit.DUE), Action.COMMIT),
    # Before a call.
    Rule("paused", when(pause=True), Action.LEAVE),
    Rule("before-dev", when(step=Step.WORK, checkpoint=True), Action.ASK, "human-checkpoint"),
    Rule("limit", when(rest=Rest.LIMIT), Action.WAIT_FOR_LIMIT, wait=_LIMIT),
    Rule("pause", when(rest=Rest.PAUSE), Action.WAIT_FOR_PAUSE, wait=_PAUSE),
    Rule("budget-spent", when(budget=False), Action.ASK, "budget"),
    Rule("epic-begins", when(epic=Epic.BACKLOG, step=(Step.WORK, Step.REVIEW)), Action.LIFT_EPIC),
    Rule("unchecked", when(step=_CHECKED, gate=Gate.DUE), Action.CHECK),
    Rule(
        "broken-slot",
        when(step=_CHECKED, gate=Gate.CODE, fixes=True, slot=False),
        Action.WAIT_FOR_SLOT,
        wait=_SLOT,
    ),
    Rule("broken", when(step=_CHECKED, gate=Gate.CODE, fixes=True), Action.FIX),
    Rule("broken-for-good", when(step=_CHECKED, gate=(Gate.CODE, Gate.SAME)), Action.ASK, "checks"),
    Rule("not-here", when(step=_CHECKED, gate=Gate.ENVIRONMENT), Action.ASK, "environment"),
    Rule("restless", when(step=_CHECKED, gate=Gate.RESTLESS), Action.ASK, "restless"),
    Rule("through", when(step=Step.THROUGH), Action.ACCEPT),
    Rule("row-first", when(step=(Step.WORK, Step.REVIEW), row=Row.DUE), Action.SET_ROW),
    Rule("tidy-first", when(step=(Step.WORK, Step.REVIEW), tidy=False), Action.COMMIT),
    Rule("slot", when(step=(Step.WORK, Step.REVIEW), slot=False), Action.WAIT_FOR_SLOT, wait=_SLOT),
    Rule("call", when(step=(Step.WORK, Step.REVIEW)), Action.CALL),
    # Nothing of all this: a hole in the table, which a person sees, and no exception.
    Rule("stuck", {}, Action.ASK, "stuck"),
)

"""The rows of the table that are about flows: where people decide, what is committed, and when tasks are due."""

from .facts import Call, Commit, Decision, Step
from .rules import Action, Rule, when

# What a step has left is kept before anybody is asked about what follows.
THROUGH_FLOW: tuple[Rule, ...] = (
    Rule("flow-commit", when(commit=Commit.STEP), Action.COMMIT),
    Rule("flow-failed", when(decision=Decision.FAILED), Action.ASK, "flow-failed"),
    Rule("flow-boundary", when(decision=Decision.BOUNDARY), Action.ASK, "boundary"),
    Rule("flow-gate", when(decision=Decision.GATE, call=(Call.NONE, Call.GOOD)), Action.ASK, "gate"),
    Rule("flow-optional", when(decision=Decision.OPTIONAL), Action.ASK, "optional"),
    Rule("flow-tasks-paused", when(step=Step.TASKS, pause=True), Action.LEAVE),
    Rule("flow-tasks", when(step=Step.TASKS), Action.IMPLEMENT),
)

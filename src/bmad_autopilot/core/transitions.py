"""The transition table: the rule, and so the action, for each combination of facts. The first matching rule wins.

The whole policy of the loop is here. The diagram in docs/loop.md, the check that every wait is bounded, and many
tests are generated from these rules."""

from collections.abc import Mapping
from enum import Enum, StrEnum, auto
from typing import NamedTuple

from .facts import (
    BackoffFact,
    BaseFact,
    BoardFact,
    BranchFact,
    CallFact,
    CiFact,
    CommitFact,
    DecisionFact,
    DeliveryFact,
    EpicFact,
    ForgeFact,
    GateFact,
    MergeFact,
    ProofFact,
    PullFact,
    QuestionFact,
    RequestedReviewFact,
    RowFact,
    StepFact,
    TargetFact,
    ThreadsFact,
)


class RuleAction(StrEnum):
    DETACH = "leave"  # stop supervising the run; running agents continue
    FINISH = "finish"
    FAIL = "fail"
    WAIT_FOR_ANSWER = "wait-for-answer"
    WAIT_FOR_AGENT = "wait-for-agent"
    WAIT_FOR_LIMIT = "wait-for-limit"
    WAIT_FOR_PAUSE = "wait-for-pause"
    WAIT_FOR_SLOT = "wait-for-slot"
    ASK = "ask"
    ANSWER = "answer"  # use the standing answer of the settings
    APPLY_ANSWER = "take-answer"
    RESTORE_BOARD = "restore-board"
    COLLECT_CALL = "take-in"  # collect the result of an ended call
    START_STORY = "begin"  # start a story: record its baseline
    DROP_STORY = "let-go"  # drop a story that is no longer on the board
    RECORD_EDIT = "note-edit"
    SET_ROW = "set-row"
    START_EPIC = "lift-epic"
    CLOSE_EPIC = "close-epic"
    CHECK = "check"  # run the project's checks
    CALL_AGENT = "call"
    FIX = "fix"  # call an agent to fix what the checks found
    RUN_RETROSPECTIVE = "retrospect"
    ACCEPT = "accept"  # mark the step as done
    NEW_ROUND = "new-round"
    COMMIT = "commit"
    WRITE_STATE = "keep-state"  # bring the flow's state file up to date
    IMPLEMENT = "implement"  # run the tasks of a flow, on the board made from them
    DELIVER = "deliver"  # the stories are done: start delivering the branch
    WAIT_FOR_FORGE = "wait-for-forge"
    WAIT_FOR_PULL = "wait-for-pull"
    CHECK_OUT = "stand"  # check out our branch in the work tree
    PUSH = "push"
    OPEN_PULL = "open-pull"
    LABEL = "label"
    RETARGET = "retarget"
    REQUEST_REVIEW = "request-review"
    REPLY = "reply"
    RESOLVE = "resolve"
    START_FIX_ROUND = "open-round"  # start a fix round for review threads and failed checks
    RERUN = "rerun"
    RECORD_GREEN = "note-green"  # record since when all reported checks have passed
    START_AUTO_APPROVE = "start-robot"  # start the auto-approve workflow
    MERGE_BASE = "take-base"
    MERGE = "merge"
    VERIFY_MERGE = "prove"
    REOPEN = "reopen"
    MERGE_FOREIGN = "take-foreign"  # merge commits someone else pushed to our branch
    DELETE_BRANCH = "clear-branch"


class EpicPhase(StrEnum):
    """The phase of an epic, as named in the bash autopilot's state file."""

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


class RoundCause(Enum):
    """Of NEW_ROUND: what sent the story back."""

    REVIEW = auto()
    CHECKS = auto()


class CommitKind(Enum):
    """Of COMMIT: what is committed."""

    STORY = auto()  # a finished or skipped story
    REVIEW_ROUND = auto()  # the work that a review sent back
    CLEAN_TREE = auto()  # open changes before a step whose skill requires a clean tree
    EPIC = auto()  # the closed epic's row, or its retrospective
    FLOW_STEP = auto()  # the output of a completed flow step


class FixInput(Enum):
    """Of START_FIX_ROUND: what the agent gets to fix."""

    FEEDBACK = auto()  # review threads, and logs of failed checks on the forge
    CHECKS = auto()  # output of the project's own checks
    CONFLICT = auto()  # files in conflict with the base


class PullWait(Enum):
    """Of WAIT_FOR_PULL: what the pull request waits for."""

    NOTHING = auto()
    QUEUE = auto()
    CHECKS = auto()
    REVIEW = auto()
    THREADS = auto()  # threads that a person must resolve
    PERSON = auto()  # a person must merge it or mark it as ready
    APPROVAL = auto()
    TURN = auto()  # another lane merges
    BRANCH_RULES = auto()


class WakeSource(StrEnum):
    """An event that can end a wait early."""

    CHILD = "the agent's end"
    FILE = "a changed file"
    TIMER = "its time"
    HUMAN = "an answer"
    FORGE = "a look at the forge"
    SLOT = "another lane's agent ends"


class WaitSpec(NamedTuple):
    bound: str  # what ends the wait at the latest
    wakes: tuple[WakeSource, ...]


FactValues = tuple[object, ...]


class Rule(NamedTuple):
    name: str
    when: Mapping[str, FactValues]  # fact → the values that match; other facts do not matter
    action: RuleAction
    # Of ASK: which question. Texts: engine/question_texts.py; delivery/questions.py and flows/questions.py there.
    question: str = ""
    wait: WaitSpec | None = None
    phase: EpicPhase | None = None  # phase of the bash autopilot, if the rule belongs to one
    round_cause: RoundCause = RoundCause.REVIEW
    commit_kind: CommitKind = CommitKind.STORY
    fix_input: FixInput = FixInput.FEEDBACK
    pull_wait: PullWait = PullWait.NOTHING
    needs_turn: bool = False  # of MERGE_BASE: only while this lane has the merge turn


def when(**facts: object) -> Mapping[str, FactValues]:
    return {name: value if isinstance(value, tuple) else (value,) for name, value in facts.items()}


# Delivery: from a finished epic to a merged pull request.
#
# Failures come first, then our own actions, then waits for others, and finally the merge. Local delivery uses the
# same rules without a pull request.

_FORGE = WaitSpec("the time at which it is tried again, on disk", (WakeSource.TIMER, WakeSource.HUMAN))
_TREE = WaitSpec("the patience for the work tree; then a person is asked", (WakeSource.TIMER, WakeSource.HUMAN))
_PULL = WaitSpec(
    "the patience for checks, reviews and approval", (WakeSource.FORGE, WakeSource.TIMER, WakeSource.HUMAN)
)


def _delivery_rule(
    name: str,
    action: RuleAction,
    phase: EpicPhase,
    question: str = "",
    wait: WaitSpec | None = None,
    /,
    *,
    fix_input: FixInput = FixInput.FEEDBACK,
    pull_wait: PullWait = PullWait.NOTHING,
    needs_turn: bool = False,
    **facts: object,
) -> Rule:
    return Rule(
        name,
        when(delivery=DeliveryFact.ON, **facts),
        action,
        question,
        wait,
        phase,
        fix_input=fix_input,
        pull_wait=pull_wait,
        needs_turn=needs_turn,
    )


DELIVERY_RULES: tuple[Rule, ...] = (
    _delivery_rule("delivery-paused", RuleAction.DETACH, EpicPhase.WAIT_COPILOT, pause=True),
    _delivery_rule("forge-refused", RuleAction.ASK, EpicPhase.BLOCKED, "forge", forge=ForgeFact.REFUSED),
    _delivery_rule(
        "forge-away", RuleAction.WAIT_FOR_FORGE, EpicPhase.WAIT_COPILOT, "", _FORGE, forge=ForgeFact.UNAVAILABLE
    ),
    _delivery_rule(
        "merged-unproven", RuleAction.VERIFY_MERGE, EpicPhase.MERGE_PR, pull=PullFact.MERGED, proof=ProofFact.NONE
    ),
    _delivery_rule(
        "merged-otherwise",
        RuleAction.ASK,
        EpicPhase.BLOCKED,
        "otherwise",
        pull=PullFact.MERGED,
        proof=ProofFact.DIFFERS,
    ),
    _delivery_rule(
        "merged-branch", RuleAction.DELETE_BRANCH, EpicPhase.MERGE_PR, pull=PullFact.MERGED, cleared=False
    ),
    _delivery_rule("delivered", RuleAction.FINISH, EpicPhase.DONE, pull=PullFact.MERGED),
    _delivery_rule("pull-closed", RuleAction.ASK, EpicPhase.BLOCKED, "closed", pull=PullFact.CLOSED),
    _delivery_rule("pull-retargeted", RuleAction.ASK, EpicPhase.BLOCKED, "retargeted", pull=PullFact.RETARGETED),
    _delivery_rule("work-tree-blocked", RuleAction.ASK, EpicPhase.BLOCKED, "work-tree", usable=False),
    _delivery_rule(
        "foreign-allowed", RuleAction.MERGE_FOREIGN, EpicPhase.CREATE_PR, "", _TREE, line=BranchFact.ALLOWED
    ),
    _delivery_rule("foreign-commits", RuleAction.ASK, EpicPhase.BLOCKED, "foreign", line=BranchFact.FOREIGN),
    # The commit must pass the gates here before it is pushed.
    _delivery_rule(
        "unproven-elsewhere", RuleAction.CHECK_OUT, EpicPhase.CODE_REVIEW, "", _TREE, gate=GateFact.DUE, here=False
    ),
    _delivery_rule("unproven", RuleAction.CHECK, EpicPhase.CODE_REVIEW, gate=GateFact.DUE),
    _delivery_rule(
        "unfit-elsewhere", RuleAction.CHECK_OUT, EpicPhase.FIX_ISSUES, "", _TREE, gate=GateFact.CODE, here=False
    ),
    _delivery_rule(
        "unfit",
        RuleAction.START_FIX_ROUND,
        EpicPhase.FIX_ISSUES,
        gate=GateFact.CODE,
        rounds=True,
        fix_input=FixInput.CHECKS,
    ),
    _delivery_rule(
        "unfit-for-good", RuleAction.ASK, EpicPhase.BLOCKED, "unfit", gate=(GateFact.CODE, GateFact.SAME)
    ),
    _delivery_rule("unfit-here", RuleAction.ASK, EpicPhase.BLOCKED, "unfit-here", gate=GateFact.ENVIRONMENT),
    _delivery_rule("unpushed", RuleAction.PUSH, EpicPhase.CREATE_PR, "", _TREE, line=BranchFact.AHEAD),
    _delivery_rule("pull-wanted", RuleAction.REOPEN, EpicPhase.CREATE_PR, pull=PullFact.REOPEN_REQUESTED),
    _delivery_rule("no-pull", RuleAction.OPEN_PULL, EpicPhase.CREATE_PR, pull=PullFact.NONE),
    _delivery_rule("unlabelled", RuleAction.LABEL, EpicPhase.CREATE_PR, labelled=False),
    _delivery_rule("stacked", RuleAction.RETARGET, EpicPhase.CREATE_PR, aim=False),
    _delivery_rule(
        "in-the-queue",
        RuleAction.WAIT_FOR_PULL,
        EpicPhase.MERGE_PR,
        "",
        _PULL,
        merge=MergeFact.QUEUED,
        pull_wait=PullWait.QUEUE,
    ),
    _delivery_rule(
        "conflict-elsewhere",
        RuleAction.CHECK_OUT,
        EpicPhase.FIX_ISSUES,
        "",
        _TREE,
        base=BaseFact.RESOLVABLE,
        here=False,
    ),
    _delivery_rule(
        "conflict-mendable",
        RuleAction.START_FIX_ROUND,
        EpicPhase.FIX_ISSUES,
        base=BaseFact.RESOLVABLE,
        rounds=True,
        fix_input=FixInput.CONFLICT,
    ),
    _delivery_rule(
        "conflict",
        RuleAction.ASK,
        EpicPhase.BLOCKED,
        "base-conflict",
        base=(BaseFact.CONFLICT, BaseFact.RESOLVABLE),
    ),
    # Review threads and failed checks.
    _delivery_rule("reply-due", RuleAction.REPLY, EpicPhase.FIX_ISSUES, threads=ThreadsFact.REPLY),
    _delivery_rule("resolve-due", RuleAction.RESOLVE, EpicPhase.FIX_ISSUES, threads=ThreadsFact.RESOLVE),
    _delivery_rule("check-flaky", RuleAction.RERUN, EpicPhase.WAIT_COPILOT, ci=CiFact.FLAKY),
    _delivery_rule(
        "points-elsewhere",
        RuleAction.CHECK_OUT,
        EpicPhase.FIX_ISSUES,
        "",
        _TREE,
        threads=ThreadsFact.OPEN,
        here=False,
    ),
    _delivery_rule(
        "points", RuleAction.START_FIX_ROUND, EpicPhase.FIX_ISSUES, threads=ThreadsFact.OPEN, rounds=True
    ),
    _delivery_rule(
        "points-without-end", RuleAction.ASK, EpicPhase.BLOCKED, "pull-rounds", threads=ThreadsFact.OPEN
    ),
    # A red check may already be fixed on the base, or in the epic this one is stacked on.
    _delivery_rule(
        "red-behind", RuleAction.MERGE_BASE, EpicPhase.FIX_ISSUES, "", _TREE, ci=CiFact.RED, base=BaseFact.MOVED
    ),
    _delivery_rule(
        "red-elsewhere", RuleAction.CHECK_OUT, EpicPhase.FIX_ISSUES, "", _TREE, ci=CiFact.RED, here=False
    ),
    _delivery_rule("red", RuleAction.START_FIX_ROUND, EpicPhase.FIX_ISSUES, ci=CiFact.RED, rounds=True),
    _delivery_rule("red-without-end", RuleAction.ASK, EpicPhase.BLOCKED, "pull-rounds", ci=CiFact.RED),
    _delivery_rule("disputed", RuleAction.ASK, EpicPhase.FIX_ISSUES, "disputed", threads=ThreadsFact.DISPUTED),
    # Waits for others: reviews, checks, approval.
    _delivery_rule(
        "review-due", RuleAction.REQUEST_REVIEW, EpicPhase.WAIT_COPILOT, review=RequestedReviewFact.DUE
    ),
    _delivery_rule("checks-fresh", RuleAction.RECORD_GREEN, EpicPhase.WAIT_COPILOT, ci=CiFact.SETTLING),
    _delivery_rule("checks-stopped", RuleAction.ASK, EpicPhase.BLOCKED, "ci", ci=CiFact.STOPPED),
    _delivery_rule("checks-late", RuleAction.ASK, EpicPhase.BLOCKED, "ci-late", ci=CiFact.OVERDUE),
    _delivery_rule("checks-missing", RuleAction.ASK, EpicPhase.BLOCKED, "no-checks", ci=CiFact.NONE),
    _delivery_rule(
        "checks-run",
        RuleAction.WAIT_FOR_PULL,
        EpicPhase.WAIT_COPILOT,
        "",
        _PULL,
        ci=CiFact.PENDING,
        pull_wait=PullWait.CHECKS,
    ),
    _delivery_rule(
        "review-silent", RuleAction.ASK, EpicPhase.WAIT_COPILOT, "silence", review=RequestedReviewFact.OVERDUE
    ),
    _delivery_rule(
        "review-waited",
        RuleAction.WAIT_FOR_PULL,
        EpicPhase.WAIT_COPILOT,
        "",
        _PULL,
        review=RequestedReviewFact.PENDING,
        pull_wait=PullWait.REVIEW,
    ),
    _delivery_rule("approval-late", RuleAction.ASK, EpicPhase.BLOCKED, "approval-late", merge=MergeFact.OVERDUE),
    _delivery_rule(
        "threads-strange",
        RuleAction.WAIT_FOR_PULL,
        EpicPhase.WAIT_COPILOT,
        "",
        _PULL,
        threads=ThreadsFact.UNTRUSTED,
        pull_wait=PullWait.THREADS,
    ),
    _delivery_rule(
        "by-hand",
        RuleAction.WAIT_FOR_PULL,
        EpicPhase.WAIT_COPILOT,
        "",
        _PULL,
        merge=MergeFact.MANUAL,
        pull_wait=PullWait.PERSON,
    ),
    _delivery_rule(
        "robot-due", RuleAction.START_AUTO_APPROVE, EpicPhase.WAIT_COPILOT, merge=MergeFact.UNAPPROVED, robot=False
    ),
    _delivery_rule(
        "unapproved",
        RuleAction.WAIT_FOR_PULL,
        EpicPhase.WAIT_COPILOT,
        "",
        _PULL,
        merge=MergeFact.UNAPPROVED,
        pull_wait=PullWait.APPROVAL,
    ),
    # Green, answered, approved. One merge at a time: each moves the base of all other lanes.
    _delivery_rule(
        "not-its-turn",
        RuleAction.WAIT_FOR_PULL,
        EpicPhase.MERGE_PR,
        "",
        _PULL,
        turn=False,
        pull_wait=PullWait.TURN,
    ),
    _delivery_rule("base-restless", RuleAction.ASK, EpicPhase.BLOCKED, "base-restless", base=BaseFact.UNSTABLE),
    _delivery_rule(
        "base-moved", RuleAction.MERGE_BASE, EpicPhase.MERGE_PR, "", _TREE, base=BaseFact.MOVED, needs_turn=True
    ),
    # Never bypass a branch rule, even if our login could.
    _delivery_rule(
        "blocked",
        RuleAction.WAIT_FOR_PULL,
        EpicPhase.MERGE_PR,
        "",
        _PULL,
        merge=MergeFact.BLOCKED,
        pull_wait=PullWait.BRANCH_RULES,
    ),
    _delivery_rule("merge-refused", RuleAction.ASK, EpicPhase.BLOCKED, "merge-refused", merge=MergeFact.REFUSED),
    _delivery_rule("merge", RuleAction.MERGE, EpicPhase.MERGE_PR),
)


# Flows: decisions of people, commits, and tasks.

# Commit the output of a step before asking about the next one.
FLOW_RULES: tuple[Rule, ...] = (
    Rule("flow-commit", when(commit=CommitFact.STEP), RuleAction.COMMIT, commit_kind=CommitKind.FLOW_STEP),
    Rule("flow-failed", when(decision=DecisionFact.FAILED), RuleAction.ASK, "flow-failed"),
    Rule("flow-boundary", when(decision=DecisionFact.BOUNDARY), RuleAction.ASK, "boundary"),
    Rule(
        "flow-gate",
        when(decision=DecisionFact.GATE, call=(CallFact.NONE, CallFact.SUCCEEDED)),
        RuleAction.ASK,
        "gate",
    ),
    Rule("flow-optional", when(decision=DecisionFact.OPTIONAL), RuleAction.ASK, "optional"),
    Rule("flow-tasks-paused", when(step=StepFact.TASKS, pause=True), RuleAction.DETACH),
    Rule("flow-tasks", when(step=StepFact.TASKS), RuleAction.IMPLEMENT),
)


# Stories and epics, and the whole table.

_AGENT = WaitSpec(
    "the call's time limit, which its supervisor keeps",
    (WakeSource.CHILD, WakeSource.FILE, WakeSource.TIMER, WakeSource.HUMAN),
)
_ANSWER = WaitSpec("where nobody is there the run ends with exit code 3", (WakeSource.HUMAN, WakeSource.FILE))
_LIMIT = WaitSpec("the time at which the limit resets, on disk", (WakeSource.TIMER, WakeSource.HUMAN))
_SLOT = WaitSpec(
    "the time limits of the agents at work, which their supervisors keep",
    (WakeSource.SLOT, WakeSource.TIMER, WakeSource.HUMAN),
)
_PAUSE = WaitSpec(
    "the pause's end, on disk; the tries of a cause are counted", (WakeSource.TIMER, WakeSource.HUMAN)
)

UNACCEPTED_CALLS = (
    CallFact.ASKED,
    CallFact.UNRECOVERABLE,
    CallFact.FAILED,
    CallFact.INCOMPLETE,
    CallFact.REFUSED,
)  # calls whose result is not accepted

_GATED_STEPS = (StepFact.REVIEW, StepFact.ALL_DONE)  # steps that require passing checks

TABLE: tuple[Rule, ...] = (
    # Always: stop when requested, and decide nothing while the board is unreadable.
    Rule("told-to-leave", when(stop=True), RuleAction.DETACH),
    Rule("state-behind", when(kept=False), RuleAction.WRITE_STATE),
    Rule("agent-at-work", when(call=CallFact.RUNNING), RuleAction.WAIT_FOR_AGENT, wait=_AGENT),
    Rule("board-spoilt", when(board=BoardFact.CORRUPTED), RuleAction.RESTORE_BOARD),
    Rule("board-unreadable", when(board=BoardFact.UNREADABLE), RuleAction.FAIL),
    # A question blocks the lane until it is answered.
    Rule("answer-there", when(question=QuestionFact.ANSWERED), RuleAction.APPLY_ANSWER),
    Rule("answered-in-advance", when(question=QuestionFact.OPEN, advance=True), RuleAction.ANSWER),
    Rule("paused-while-asking", when(question=QuestionFact.OPEN, pause=True), RuleAction.DETACH),
    Rule("answer-missing", when(question=QuestionFact.OPEN), RuleAction.WAIT_FOR_ANSWER, wait=_ANSWER),
    # Collect an ended call before deciding anything else.
    Rule("call-over", when(call=CallFact.ENDED), RuleAction.COLLECT_CALL),
    Rule("settings-changed", when(settings=False), RuleAction.ASK, "settings"),
    *DELIVERY_RULES,
    *FLOW_RULES,
    # No story left.
    Rule(
        "one-step-done",
        when(one_step=True, commit=CommitFact.NONE, row=(RowFact.CORRECT, RowFact.EDITED, RowFact.REMOVED)),
        RuleAction.FINISH,
    ),
    Rule(
        "paused-before-retrospective",
        when(target=TargetFact.FINISHED, retrospective=True, pause=True),
        RuleAction.DETACH,
    ),
    Rule(
        "retrospective-limit",
        when(target=TargetFact.FINISHED, retrospective=True, rest=BackoffFact.LIMIT),
        RuleAction.WAIT_FOR_LIMIT,
        wait=_LIMIT,
    ),
    Rule(
        "retrospective-pause",
        when(target=TargetFact.FINISHED, retrospective=True, rest=BackoffFact.PAUSE),
        RuleAction.WAIT_FOR_PAUSE,
        wait=_PAUSE,
    ),
    Rule(
        "retrospective-slot",
        when(target=TargetFact.FINISHED, retrospective=True, budget=True, ground=True, slot=False),
        RuleAction.WAIT_FOR_SLOT,
        wait=_SLOT,
    ),
    Rule(
        "retrospective-due",
        when(target=TargetFact.FINISHED, retrospective=True, budget=True, ground=True),
        RuleAction.RUN_RETROSPECTIVE,
    ),
    Rule(
        "stories-left-out",
        when(target=TargetFact.EXCLUDED, epic=(EpicFact.IN_PROGRESS, EpicFact.OPEN)),
        RuleAction.ASK,
        "left-out",
    ),
    Rule(
        "epic-elsewhere",
        when(target=TargetFact.FINISHED, epic=EpicFact.OPEN, ground=False),
        RuleAction.ASK,
        "ground",
    ),
    Rule(
        "epic-commit-elsewhere",
        when(target=TargetFact.FINISHED, commit=CommitFact.DUE, ground=False),
        RuleAction.ASK,
        "ground",
    ),
    Rule(
        "epic-complete",
        when(target=TargetFact.FINISHED, epic=EpicFact.OPEN, checkpoint=True),
        RuleAction.ASK,
        "human-checkpoint",
    ),
    Rule("epic-over", when(target=TargetFact.FINISHED, epic=EpicFact.OPEN), RuleAction.CLOSE_EPIC),
    Rule(
        "epic-to-commit",
        when(target=TargetFact.FINISHED, commit=CommitFact.DUE),
        RuleAction.COMMIT,
        commit_kind=CommitKind.EPIC,
    ),
    Rule(
        "retrospective-asked",
        when(target=TargetFact.FINISHED, call=CallFact.ASKED, attended=True),
        RuleAction.ASK,
        "agent",
    ),
    Rule(
        "retrospective-not-held",
        when(target=TargetFact.FINISHED, call=UNACCEPTED_CALLS, attended=True),
        RuleAction.ASK,
        "retrospective",
    ),
    Rule(
        "deliver",
        when(target=TargetFact.FINISHED, delivery=DeliveryFact.DUE),
        RuleAction.DELIVER,
        phase=EpicPhase.CREATE_PR,
    ),
    Rule("all-over", when(target=(TargetFact.FINISHED, TargetFact.EXCLUDED)), RuleAction.FINISH),
    # The story's row: a person's change wins.
    Rule("story-gone", when(row=RowFact.REMOVED), RuleAction.DROP_STORY),
    Rule("row-unproved", when(row=RowFact.UNVERIFIED), RuleAction.ASK, "row"),
    Rule("row-edited", when(row=RowFact.EDITED), RuleAction.RECORD_EDIT),
    Rule("ground-unsafe", when(ground=False), RuleAction.ASK, "ground"),
    Rule("paused-between-stories", when(begun=False, pause=True), RuleAction.DETACH),
    Rule("between-stories", when(begun=False, checkpoint=True), RuleAction.ASK, "human-checkpoint"),
    Rule("asked-before", when(begun=False, left=True), RuleAction.ASK, "left-behind"),
    Rule("new-story", when(begun=False), RuleAction.START_STORY),
    # A collected call.
    Rule("claim-undone", when(call=UNACCEPTED_CALLS, row=RowFact.DUE), RuleAction.SET_ROW),
    Rule("asked", when(call=CallFact.ASKED), RuleAction.ASK, "agent"),
    Rule("hopeless", when(call=CallFact.UNRECOVERABLE), RuleAction.ASK, "hopeless"),
    Rule(
        "failed-for-good",
        when(call=(CallFact.FAILED, CallFact.INCOMPLETE, CallFact.REFUSED), tries=False),
        RuleAction.ASK,
        "failed",
    ),
    Rule("good-unchecked", when(call=CallFact.SUCCEEDED, gate=GateFact.DUE), RuleAction.CHECK),
    Rule(
        "good-but-broken",
        when(call=CallFact.SUCCEEDED, gate=GateFact.CODE, rounds=True),
        RuleAction.NEW_ROUND,
        round_cause=RoundCause.CHECKS,
    ),
    Rule(
        "good-but-broken-again",
        when(call=CallFact.SUCCEEDED, gate=(GateFact.CODE, GateFact.SAME)),
        RuleAction.ASK,
        "checks",
    ),
    Rule(
        "good-but-not-here",
        when(call=CallFact.SUCCEEDED, gate=GateFact.ENVIRONMENT),
        RuleAction.ASK,
        "environment",
    ),
    Rule("good-but-restless", when(call=CallFact.SUCCEEDED, gate=GateFact.UNSTABLE), RuleAction.ASK, "restless"),
    Rule("good-row", when(call=CallFact.SUCCEEDED, row=RowFact.DUE), RuleAction.SET_ROW),
    Rule("good", when(call=CallFact.SUCCEEDED), RuleAction.ACCEPT),
    Rule("changes-row", when(call=CallFact.CHANGES, row=RowFact.DUE), RuleAction.SET_ROW),
    Rule("changes-without-end", when(call=CallFact.CHANGES, rounds=False), RuleAction.ASK, "rounds"),
    Rule(
        "changes-commit",
        when(call=CallFact.CHANGES, commit=CommitFact.DUE),
        RuleAction.COMMIT,
        commit_kind=CommitKind.REVIEW_ROUND,
    ),
    Rule("changes", when(call=CallFact.CHANGES), RuleAction.NEW_ROUND),
    # All steps of the story are done.
    Rule("finished-row", when(step=StepFact.NONE, row=RowFact.DUE), RuleAction.SET_ROW),
    Rule("finished", when(step=StepFact.NONE, commit=CommitFact.DUE), RuleAction.COMMIT),
    # Before a call.
    Rule("paused", when(pause=True), RuleAction.DETACH),
    Rule("before-dev", when(step=StepFact.WORK, checkpoint=True), RuleAction.ASK, "human-checkpoint"),
    Rule("limit", when(rest=BackoffFact.LIMIT), RuleAction.WAIT_FOR_LIMIT, wait=_LIMIT),
    Rule("pause", when(rest=BackoffFact.PAUSE), RuleAction.WAIT_FOR_PAUSE, wait=_PAUSE),
    Rule("budget-spent", when(budget=False), RuleAction.ASK, "budget"),
    Rule("epic-begins", when(epic=EpicFact.BACKLOG, step=(StepFact.WORK, StepFact.REVIEW)), RuleAction.START_EPIC),
    Rule("unchecked", when(step=_GATED_STEPS, gate=GateFact.DUE), RuleAction.CHECK),
    Rule(
        "broken-slot",
        when(step=_GATED_STEPS, gate=GateFact.CODE, fixes=True, slot=False),
        RuleAction.WAIT_FOR_SLOT,
        wait=_SLOT,
    ),
    Rule("broken", when(step=_GATED_STEPS, gate=GateFact.CODE, fixes=True), RuleAction.FIX),
    Rule(
        "broken-for-good", when(step=_GATED_STEPS, gate=(GateFact.CODE, GateFact.SAME)), RuleAction.ASK, "checks"
    ),
    Rule("not-here", when(step=_GATED_STEPS, gate=GateFact.ENVIRONMENT), RuleAction.ASK, "environment"),
    Rule("restless", when(step=_GATED_STEPS, gate=GateFact.UNSTABLE), RuleAction.ASK, "restless"),
    Rule("through", when(step=StepFact.ALL_DONE), RuleAction.ACCEPT),
    Rule("row-first", when(step=(StepFact.WORK, StepFact.REVIEW), row=RowFact.DUE), RuleAction.SET_ROW),
    Rule(
        "tidy-first",
        when(step=(StepFact.WORK, StepFact.REVIEW), tidy=False),
        RuleAction.COMMIT,
        commit_kind=CommitKind.CLEAN_TREE,
    ),
    Rule("slot", when(step=(StepFact.WORK, StepFact.REVIEW), slot=False), RuleAction.WAIT_FOR_SLOT, wait=_SLOT),
    Rule("call", when(step=(StepFact.WORK, StepFact.REVIEW)), RuleAction.CALL_AGENT),
    # No rule matched: a gap in the table becomes a question, not an exception.
    Rule("stuck", {}, RuleAction.ASK, "stuck"),
)

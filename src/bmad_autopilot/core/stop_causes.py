"""The causes for which a person is asked, and the choices each offers. Policies for unattended runs are keyed by
cause.

One table maps external conditions (an agent's state file, the orchestrator's triggers, the reasons of BMAD's
build) to a question or an intervention."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

# The five block reasons of `{story_key}.agent-state.json`.


class BlockReason(StrEnum):
    NO_RESOURCE = "no_resource"  # a file, setting, service or permission is missing
    MANUAL_TEST_REQUIRED = "manual_test_required"
    HUMAN_REVIEW_REQUIRED = "human_review_required"  # attempted; a person must review it
    CRITICAL_DECISION = "critical_decision"  # two interpretations, and the specification favours neither
    SUBAGENT_FAILED = "subagent_failed"  # written by us after an attempt failed twice


class Cause(StrEnum):
    BLOCKED = "blocked"
    FAILED = "failed"
    UNRECOVERABLE = "hopeless"
    CHECKS = "checks"
    ENVIRONMENT = "environment"
    ROUNDS = "rounds"
    TIMEOUT = "timeout"
    CONFLICT = "conflict"
    LIMIT = "limit"
    FALSE_CLAIM = "liar"
    QUESTION = "question"
    EPIC_COMPLETE = "epic-complete"
    HUMAN_CHECKPOINT = "human-checkpoint"
    SETTINGS = "settings"
    BUDGET = "budget"
    UNSAFE_WORKTREE = "ground"
    EXCLUDED = "left-out"
    RETROSPECTIVE = "retrospective"
    ROWS = "rows"
    STUCK = "stuck"
    UNSTABLE = "restless"
    FORGE = "forge"
    FOREIGN = "foreign"
    CLOSED = "closed"
    THREADS = "threads"
    PULL_ROUNDS = "pull-rounds"
    REMOTE_CHECKS = "remote-checks"
    NO_REVIEW = "silence"
    MERGE = "merge"
    OPTIONAL = "optional"
    GATE = "gate"
    BOUNDARY = "boundary"


class StopKind(StrEnum):
    QUESTION = "question"
    INTERVENTION = "intervention"  # a choice for a stopped step


ASK = "ask"
ALL = "all"  # in a policy: every cause that offers the option
RETRY, SKIP, FIX, EXTEND, ABORT = "retry", "skip", "fix", "extend", "abort"
WITHOUT = "without"  # skips a check: not allowed for all causes at once
_USUAL = (RETRY, SKIP, FIX, ABORT)


class CauseMenu(NamedTuple):
    head: str  # heading of the menu
    meaning: str
    options: tuple[str, ...] = _USUAL


CAUSE_MENUS: Mapping[Cause, CauseMenu] = {
    Cause.BLOCKED: CauseMenu("BLOCKED", "the story's row was set to blocked, or a build gave up on it"),
    Cause.FAILED: CauseMenu("FAILED", "a call failed, and so did another try"),
    Cause.UNRECOVERABLE: CauseMenu("STOPPED", "a call ended in a way that trying again alone does not mend"),
    Cause.CHECKS: CauseMenu("CHECKS FAIL", "the project's checks fail after every mend"),
    Cause.ENVIRONMENT: CauseMenu("CHECKS CANNOT RUN", "the project's checks cannot run here"),
    Cause.ROUNDS: CauseMenu(
        "CHANGES REQUESTED",
        "the review asks for changes after the last round",
        ("more", "approve", SKIP, FIX, ABORT),
    ),
    Cause.TIMEOUT: CauseMenu("TIMED OUT", "a call was ended at its time limit", (RETRY, SKIP, FIX, EXTEND, ABORT)),
    Cause.CONFLICT: CauseMenu("MERGE CONFLICT", "a merge has stopped on a conflict", (RETRY, ABORT)),
    Cause.LIMIT: CauseMenu("LIMIT", "the account's limit does not pass by waiting"),
    Cause.FALSE_CLAIM: CauseMenu("NOT DONE", "a call claimed work that is not there, twice"),
    Cause.QUESTION: CauseMenu("ASKS", "an agent asks something", ()),
    Cause.EPIC_COMPLETE: CauseMenu(
        "COMPLETE", "an epic is complete (`human_checkpoint`)", ("continue", FIX, ABORT)
    ),
    Cause.HUMAN_CHECKPOINT: CauseMenu(
        "CHECKPOINT", "a point you wanted to be asked at is reached", ("continue", FIX, ABORT)
    ),
    Cause.SETTINGS: CauseMenu(
        "SETTINGS CHANGED", "the settings have changed since the run began", ("new", "old", ABORT)
    ),
    Cause.BUDGET: CauseMenu("CAP REACHED", "the run's cap in money or hours is reached", ("more", "stop")),
    Cause.UNSAFE_WORKTREE: CauseMenu("NO PLACE TO WORK", "the work tree is no place to work in", (RETRY, ABORT)),
    Cause.EXCLUDED: CauseMenu(
        "NOT WHOLE", "all stories of an epic are done but those left out", ("close", "leave")
    ),
    Cause.RETROSPECTIVE: CauseMenu("NO RETROSPECTIVE", "an epic's retrospective was not held", (RETRY, "leave")),
    Cause.ROWS: CauseMenu(
        "BOARD MOVED", "rows of the board moved that no step of the run has moved", ("mine", "undo")
    ),
    Cause.STUCK: CauseMenu("STUCK", "nothing is known to do about a story", (RETRY, ABORT)),
    Cause.UNSTABLE: CauseMenu("NEVER THE SAME", "files change by themselves while the project's checks run"),
    Cause.FORGE: CauseMenu("NO WAY TO THE FORGE", "the forge does not let us do what is due", (RETRY, ABORT)),
    Cause.FOREIGN: CauseMenu(
        "NOT OUR COMMITS", "somebody else has put commits on a branch of ours", ("take", RETRY, ABORT)
    ),
    Cause.CLOSED: CauseMenu("CLOSED", "somebody has closed a pull request of ours", ("reopen", RETRY, ABORT)),
    Cause.THREADS: CauseMenu(
        "DISAGREEMENT", "the agent does not agree with a reviewer", ("insist", "resolve", "leave", ABORT)
    ),
    Cause.PULL_ROUNDS: CauseMenu(
        "NOT ENOUGH ROUNDS", "a pull request still wants changes after the last round", ("more", RETRY, ABORT)
    ),
    Cause.REMOTE_CHECKS: CauseMenu(
        "CHECKS ON THE FORGE", "the forge's checks are missing, late or stopped", (RETRY, WITHOUT, ABORT)
    ),
    Cause.NO_REVIEW: CauseMenu("NO REVIEW", "a review that was asked for does not come", ("wait", WITHOUT, ABORT)),
    Cause.MERGE: CauseMenu(
        "NOT MERGED",
        "a merge was refused, would go elsewhere, or is not what was tested",
        (RETRY, "accept", ABORT),
    ),
    Cause.OPTIONAL: CauseMenu("OPTIONAL", "a flow has come to a step that may be left out", ("run", SKIP)),
    Cause.GATE: CauseMenu("ENOUGH?", "a flow's step may be done once more before the next", ("again", "proceed")),
    Cause.BOUNDARY: CauseMenu(
        "SESSION OVER", "planning is complete, and what was planned comes next", ("new-session", "continue")
    ),
}


def allowed_choices(cause: str) -> tuple[str, ...]:
    """The options a policy may choose for a cause. Never `fix`, which needs a person. For `all`: options that
    several causes offer, and `extend`."""
    if cause == ALL:
        every = [option for offer in CAUSE_MENUS.values() for option in offer.options]
        several = (option for option in dict.fromkeys(every) if every.count(option) > 1 or option == EXTEND)
        offered = tuple(option for option in several if option != WITHOUT)
    else:
        offered = CAUSE_MENUS[Cause(cause)].options
    return (ASK, *(option for option in offered if option != FIX))


def choose_by_policy(policy: Mapping[str, str], cause: str) -> str:
    """The option a policy chooses for a cause; `ask` if it names none that the cause offers."""
    if cause not in CAUSE_MENUS:
        return ASK
    own = policy.get(cause) or policy.get(ALL)
    return own if own is not None and own in allowed_choices(cause) else ASK


class Trigger(NamedTuple):
    """An external condition and the question or intervention it leads to."""

    source: str
    condition: str
    kind: StopKind
    cause: Cause
    reason: BlockReason
    keywords: tuple[str, ...] = ()  # words that identify the reason of a build


AGENT, ORCHESTRATOR, BUILD = "agent state", "trigger", "build"

_Q, _I, _R = StopKind.QUESTION, StopKind.INTERVENTION, BlockReason

TRIGGERS: tuple[Trigger, ...] = (
    Trigger(AGENT, _R.NO_RESOURCE, _Q, Cause.QUESTION, _R.NO_RESOURCE),
    Trigger(AGENT, _R.MANUAL_TEST_REQUIRED, _Q, Cause.QUESTION, _R.MANUAL_TEST_REQUIRED),
    Trigger(AGENT, _R.HUMAN_REVIEW_REQUIRED, _Q, Cause.QUESTION, _R.HUMAN_REVIEW_REQUIRED),
    Trigger(AGENT, _R.CRITICAL_DECISION, _Q, Cause.QUESTION, _R.CRITICAL_DECISION),
    Trigger(AGENT, _R.SUBAGENT_FAILED, _I, Cause.FAILED, _R.SUBAGENT_FAILED),
    Trigger(ORCHESTRATOR, "story blocked", _I, Cause.BLOCKED, _R.NO_RESOURCE),
    Trigger(ORCHESTRATOR, "test failures", _I, Cause.CHECKS, _R.HUMAN_REVIEW_REQUIRED),
    Trigger(ORCHESTRATOR, "timeout exceeded", _I, Cause.TIMEOUT, _R.SUBAGENT_FAILED),
    Trigger(ORCHESTRATOR, "merge conflict", _I, Cause.CONFLICT, _R.HUMAN_REVIEW_REQUIRED),
    Trigger(ORCHESTRATOR, "the agent asks a question", _Q, Cause.QUESTION, _R.CRITICAL_DECISION),
    Trigger(ORCHESTRATOR, "epic complete", _I, Cause.EPIC_COMPLETE, _R.HUMAN_REVIEW_REQUIRED),
    # A build's reasons are prose: the first row with a matching keyword wins, so specific rows come first.
    Trigger(BUILD, "intent gap", _Q, Cause.QUESTION, _R.CRITICAL_DECISION, ("intent gap",)),
    Trigger(BUILD, "unclear intent", _Q, Cause.QUESTION, _R.CRITICAL_DECISION, ("intent",)),
    Trigger(BUILD, "matrix ambiguity", _Q, Cause.QUESTION, _R.CRITICAL_DECISION, ("ambiguity",)),
    Trigger(BUILD, "handoff conflicts with spec", _Q, Cause.QUESTION, _R.CRITICAL_DECISION, ("conflict",)),
    Trigger(
        BUILD,
        "missing previous-story continuity decision",
        _Q,
        Cause.QUESTION,
        _R.CRITICAL_DECISION,
        ("continuity",),
    ),
    Trigger(BUILD, "ambiguous story file match", _Q, Cause.QUESTION, _R.CRITICAL_DECISION, ("ambigu",)),
    Trigger(BUILD, "story id not found in stories.yaml", _Q, Cause.QUESTION, _R.CRITICAL_DECISION, ("story id",)),
    Trigger(
        BUILD,
        "unrecognized status in existing story file",
        _Q,
        Cause.QUESTION,
        _R.CRITICAL_DECISION,
        ("unrecognized",),
    ),
    Trigger(BUILD, "no subagents", _I, Cause.UNRECOVERABLE, _R.NO_RESOURCE, ("subagent",)),
    Trigger(
        BUILD, "version-control metadata not writable", _I, Cause.UNRECOVERABLE, _R.NO_RESOURCE, ("not writable",)
    ),
    Trigger(BUILD, "missing spec_file before implementation", _I, Cause.FAILED, _R.NO_RESOURCE, ("missing",)),
    Trigger(
        BUILD,
        "planned spec file disappeared before implementation",
        _I,
        Cause.FAILED,
        _R.NO_RESOURCE,
        ("disappeared",),
    ),
    Trigger(BUILD, "no stories.yaml found", _I, Cause.UNRECOVERABLE, _R.NO_RESOURCE, ("no stories",)),
    Trigger(BUILD, "no epic spec found", _I, Cause.UNRECOVERABLE, _R.NO_RESOURCE, ("no epic",)),
    Trigger(BUILD, "finalization left repository dirty", _I, Cause.UNRECOVERABLE, _R.NO_RESOURCE, ("dirty",)),
    Trigger(BUILD, "branch mismatch", _I, Cause.UNRECOVERABLE, _R.HUMAN_REVIEW_REQUIRED, ("branch mismatch",)),
    Trigger(
        BUILD,
        "review repair loop exceeded 5 iterations",
        _I,
        Cause.BLOCKED,
        _R.HUMAN_REVIEW_REQUIRED,
        ("repair loop", "converge"),
    ),
    Trigger(
        BUILD,
        "spec failed ready-for-development standard",
        _I,
        Cause.BLOCKED,
        _R.HUMAN_REVIEW_REQUIRED,
        ("ready-for-development",),
    ),
    Trigger(
        BUILD, "blocked spec supplied", _I, Cause.BLOCKED, _R.HUMAN_REVIEW_REQUIRED, ("blocked spec", "supplied")
    ),
    Trigger(BUILD, "story already blocked", _I, Cause.BLOCKED, _R.HUMAN_REVIEW_REQUIRED, ("already blocked",)),
    Trigger(
        BUILD,
        "implementation, patch or context compilation verification failed",
        _I,
        Cause.CHECKS,
        _R.HUMAN_REVIEW_REQUIRED,
        ("verification failed",),
    ),
    Trigger(BUILD, "matrix test audit failed", _I, Cause.CHECKS, _R.HUMAN_REVIEW_REQUIRED, ("audit failed",)),
    # Attempted work that did not succeed: a person reviews it.
    Trigger(BUILD, "anything else", _I, Cause.BLOCKED, _R.HUMAN_REVIEW_REQUIRED, ("",)),
)


def classify_build_block(condition: str) -> Trigger:
    """The trigger for a build's blocking condition."""
    words = condition.casefold()
    return next(one for one in TRIGGERS if any(mark in words for mark in one.keywords))

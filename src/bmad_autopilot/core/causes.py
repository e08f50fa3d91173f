"""Why a person is asked, in one word each: what a question says of itself, what a policy for unattended runs is
keyed by. And the one table that maps what others call it (an agent's state file, the orchestrator's triggers, the
reasons of BMAD's build) to a question or an intervention."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from .block_reasons import BlockReason


class Cause(StrEnum):
    BLOCKED = "blocked"
    FAILED = "failed"
    HOPELESS = "hopeless"
    CHECKS = "checks"
    ENVIRONMENT = "environment"
    ROUNDS = "rounds"
    TIMEOUT = "timeout"
    CONFLICT = "conflict"
    LIMIT = "limit"
    LIAR = "liar"
    QUESTION = "question"
    EPIC_COMPLETE = "epic-complete"
    HUMAN_CHECKPOINT = "human-checkpoint"
    SETTINGS = "settings"
    BUDGET = "budget"
    GROUND = "ground"
    LEFT_OUT = "left-out"
    RETROSPECTIVE = "retrospective"
    ROWS = "rows"
    STUCK = "stuck"
    RESTLESS = "restless"
    FORGE = "forge"
    FOREIGN = "foreign"
    CLOSED = "closed"
    THREADS = "threads"
    PULL_ROUNDS = "pull-rounds"
    REMOTE_CHECKS = "remote-checks"
    SILENCE = "silence"
    MERGE = "merge"
    OPTIONAL = "optional"
    GATE = "gate"
    BOUNDARY = "boundary"


class Kind(StrEnum):
    QUESTION = "question"
    INTERVENTION = "intervention"  # a choice on a step that has stopped


ASK = "ask"
ALL = "all"  # in a policy: every cause that offers the choice
RETRY, SKIP, FIX, EXTEND, ABORT = "retry", "skip", "fix", "extend", "abort"
WITHOUT = "without"  # a proof: nobody says that of all causes at once
_USUAL = (RETRY, SKIP, FIX, ABORT)


class Offer(NamedTuple):
    head: str  # the word a menu begins with
    means: str
    options: tuple[str, ...] = _USUAL


OFFERS: Mapping[Cause, Offer] = {
    Cause.BLOCKED: Offer("BLOCKED", "the story's row was set to blocked, or a build gave up on it"),
    Cause.FAILED: Offer("FAILED", "a call failed, and so did another try"),
    Cause.HOPELESS: Offer("STOPPED", "a call ended in a way that trying again alone does not mend"),
    Cause.CHECKS: Offer("CHECKS FAIL", "the project's checks fail after every mend"),
    Cause.ENVIRONMENT: Offer("CHECKS CANNOT RUN", "the project's checks cannot run here"),
    Cause.ROUNDS: Offer(
        "CHANGES REQUESTED",
        "the review asks for changes after the last round",
        ("more", "approve", SKIP, FIX, ABORT),
    ),
    Cause.TIMEOUT: Offer("TIMED OUT", "a call was ended at its time limit", (RETRY, SKIP, FIX, EXTEND, ABORT)),
    Cause.CONFLICT: Offer("MERGE CONFLICT", "a merge has stopped on a conflict", (RETRY, ABORT)),
    Cause.LIMIT: Offer("LIMIT", "the account's limit does not pass by waiting"),
    Cause.LIAR: Offer("NOT DONE", "a call claimed work that is not there, twice"),
    Cause.QUESTION: Offer("ASKS", "an agent asks something", ()),
    Cause.EPIC_COMPLETE: Offer("COMPLETE", "an epic is complete (`human_checkpoint`)", ("continue", FIX, ABORT)),
    Cause.HUMAN_CHECKPOINT: Offer(
        "CHECKPOINT", "a point you wanted to be asked at is reached", ("continue", FIX, ABORT)
    ),
    Cause.SETTINGS: Offer(
        "SETTINGS CHANGED", "the settings have changed since the run began", ("new", "old", ABORT)
    ),
    Cause.BUDGET: Offer("CAP REACHED", "the run's cap in money or hours is reached", ("more", "stop")),
    Cause.GROUND: Offer("NO PLACE TO WORK", "the work tree is no place to work in", (RETRY, ABORT)),
    Cause.LEFT_OUT: Offer("NOT WHOLE", "all stories of an epic are done but those left out", ("close", "leave")),
    Cause.RETROSPECTIVE: Offer("NO RETROSPECTIVE", "an epic's retrospective was not held", (RETRY, "leave")),
    Cause.ROWS: Offer(
        "BOARD MOVED", "rows of the board moved that no step of the run has moved", ("mine", "undo")
    ),
    Cause.STUCK: Offer("STUCK", "nothing is known to do about a story", (RETRY, ABORT)),
    Cause.RESTLESS: Offer("NEVER THE SAME", "files change by themselves while the project's checks run"),
    Cause.FORGE: Offer("NO WAY TO THE FORGE", "the forge does not let us do what is due", (RETRY, ABORT)),
    Cause.FOREIGN: Offer(
        "NOT OUR COMMITS", "somebody else has put commits on a branch of ours", ("take", RETRY, ABORT)
    ),
    Cause.CLOSED: Offer("CLOSED", "somebody has closed a pull request of ours", ("reopen", RETRY, ABORT)),
    Cause.THREADS: Offer(
        "DISAGREEMENT", "the agent does not agree with a reviewer", ("insist", "resolve", "leave", ABORT)
    ),
    Cause.PULL_ROUNDS: Offer(
        "NOT ENOUGH ROUNDS", "a pull request still wants changes after the last round", ("more", RETRY, ABORT)
    ),
    Cause.REMOTE_CHECKS: Offer(
        "CHECKS ON THE FORGE", "the forge's checks are missing, late or stopped", (RETRY, WITHOUT, ABORT)
    ),
    Cause.SILENCE: Offer("NO REVIEW", "a review that was asked for does not come", ("wait", WITHOUT, ABORT)),
    Cause.MERGE: Offer(
        "NOT MERGED",
        "a merge was refused, would go elsewhere, or is not what was tested",
        (RETRY, "accept", ABORT),
    ),
    Cause.OPTIONAL: Offer("OPTIONAL", "a flow has come to a step that may be left out", ("run", SKIP)),
    Cause.GATE: Offer("ENOUGH?", "a flow's step may be done once more before the next", ("again", "proceed")),
    Cause.BOUNDARY: Offer(
        "SESSION OVER", "planning is complete, and what was planned comes next", ("new-session", "continue")
    ),
}


def choices(cause: str) -> tuple[str, ...]:
    """What a policy may choose: nobody is there to fix anything by hand. Of all causes can be said what several
    offer, and that whatever runs out of time is given more."""
    if cause == ALL:
        every = [option for offer in OFFERS.values() for option in offer.options]
        several = (option for option in dict.fromkeys(every) if every.count(option) > 1 or option == EXTEND)
        offered = tuple(option for option in several if option != WITHOUT)
    else:
        offered = OFFERS[Cause(cause)].options
    return (ASK, *(option for option in offered if option != FIX))


def chosen(policy: Mapping[str, str], cause: str) -> str:
    """By a policy of choices per cause; `ask` where it says nothing that this cause offers."""
    if cause not in OFFERS:
        return ASK
    own = policy.get(cause) or policy.get(ALL)
    return own if own is not None and own in choices(cause) else ASK


class Trigger(NamedTuple):
    """What somebody else calls it, and what it is to us."""

    source: str
    says: str
    kind: Kind
    cause: Cause
    reason: BlockReason
    marks: tuple[str, ...] = ()  # the words a build's reason is known by


AGENT, ORCHESTRATOR, BUILD = "agent state", "trigger", "build"

_Q, _I, _R = Kind.QUESTION, Kind.INTERVENTION, BlockReason

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
    # A build's reasons are prose: the first row whose words it holds counts, so the particular ones stand first.
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
    Trigger(BUILD, "no subagents", _I, Cause.HOPELESS, _R.NO_RESOURCE, ("subagent",)),
    Trigger(BUILD, "version-control metadata not writable", _I, Cause.HOPELESS, _R.NO_RESOURCE, ("not writable",)),
    Trigger(BUILD, "missing spec_file before implementation", _I, Cause.FAILED, _R.NO_RESOURCE, ("missing",)),
    Trigger(
        BUILD,
        "planned spec file disappeared before implementation",
        _I,
        Cause.FAILED,
        _R.NO_RESOURCE,
        ("disappeared",),
    ),
    Trigger(BUILD, "no stories.yaml found", _I, Cause.HOPELESS, _R.NO_RESOURCE, ("no stories",)),
    Trigger(BUILD, "no epic spec found", _I, Cause.HOPELESS, _R.NO_RESOURCE, ("no epic",)),
    Trigger(BUILD, "finalization left repository dirty", _I, Cause.HOPELESS, _R.NO_RESOURCE, ("dirty",)),
    Trigger(BUILD, "branch mismatch", _I, Cause.HOPELESS, _R.HUMAN_REVIEW_REQUIRED, ("branch mismatch",)),
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
    # Work that was tried and did not hold: a person looks at it.
    Trigger(BUILD, "anything else", _I, Cause.BLOCKED, _R.HUMAN_REVIEW_REQUIRED, ("",)),
)


def blocked_build(condition: str) -> Trigger:
    """What a build's blocking condition is to us."""
    words = condition.casefold()
    return next(one for one in TRIGGERS if any(mark in words for mark in one.marks))

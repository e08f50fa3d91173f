"""Judges a finished call by fixed rules: its outcome, the evidence and its questions. Pure."""

from typing import Any

from ..agents.adapter import REACTIONS, Outcome, Reaction
from ..core.agent_questions import ends_with_question, parse_question
from ..core.facts import CallFact
from ..core.run_record import StepRecord
from ..core.statuses import PARKED
from ..core.step_output import StepOutput
from ..core.stop_causes import BlockReason, Cause
from ..gates.evidence import GateObjection, missing_output
from ..gates.scope import find_other_row_changes, moved_rows
from ..workflows.workflow import RETROSPECTIVE, Step
from .observation import backoff_until
from .ports import AgentResult

MAX_TEXT = 8000
MAX_CLOSING = 4000
MAX_PATHS = 50
OTHER_ROW = "other-row"
MISSING_OUTPUT = "not-left"  # a workflow file's step did not set a required variable
STOPPED = "stopped with the run"  # the reason given when a call is cancelled


def judge_call(step: Step, record: StepRecord, got: AgentResult, now: float, random: float) -> dict[str, Any]:
    """The journal entry for a finished call, without the call's id."""
    verdict = got.verdict
    entry: dict[str, Any] = {
        "outcome": str(verdict.outcome),
        "dollars": verdict.spend.dollars,
        "tokens": sum(vars(verdict.spend.tokens).values()),
        "seconds": round(got.seconds, 3),
        "exit": got.exit,
        "row": got.row if got.row != got.row_before else "",  # only a change during the call is its claim
        "tree": got.tree.tree,
        "code": got.tree.code,
        "head": got.tree.head,
        "branch": got.tree.branch,
        "closing": verdict.closing[-MAX_CLOSING:],
        "session": verdict.session,
        "message": verdict.message,
    }
    if got.output or got.variables:
        entry |= {"variables": dict(got.variables), "output": got.output}
    if got.replies:
        entry["said"] = dict(got.replies)
    if got.removed_paths:
        entry["taken_out"] = list(got.removed_paths[:MAX_PATHS])
    finding = _finding(step, record, got, now, random)
    moved = any(one.code == OTHER_ROW for one in find_other_row_changes(got.evidence))
    return entry | (_ask_about_rows(got, finding) if moved else finding)


def _finding(step: Step, record: StepRecord, got: AgentResult, now: float, random: float) -> dict[str, Any]:
    if got.questions:
        if got.questions[0].cause:
            return _blocked(got.questions[0].question, got.questions[0].cause, got.questions[0].reason)
        first, *more = (asked._asdict() for asked in got.questions)
        return {"finding": CallFact.ASKED, "asks": "agent", "question": first, "more": more}
    if got.row == PARKED and got.row_before != PARKED:
        return _blocked(got.row_reason or "it set the story's row to blocked and gave no reason", Cause.BLOCKED)
    reaction = REACTIONS[got.verdict.outcome]
    if reaction is Reaction.PROCEED or got.verdict.outcome is Outcome.PERMISSION_DENIED:
        missing = (missing_output(MISSING_OUTPUT, one) for one in got.missing)
        from ..gates.judge import judge_work  # compiles a hundred patterns: import only after the first call

        against = (*(one for one in judge_work(got.evidence) if one.code != OTHER_ROW), *missing)
        return judge_evidence(step, got, against)
    if got.verdict.outcome is Outcome.CANCELLED and got.verdict.message == STOPPED:
        return {"finding": CallFact.REFUSED}  # not a failure: the call is repeated
    if got.verdict.outcome is Outcome.BUDGET:
        return {"finding": CallFact.REFUSED}  # the run's cost cap: a person is asked before the next call
    if reaction in (Reaction.PARK, Reaction.BACK_OFF):
        until = backoff_until(record, got.verdict.outcome, now, random)
        return {"finding": CallFact.REFUSED, "until": until or None}
    if reaction is Reaction.RETRY:
        until = backoff_until(record, got.verdict.outcome, now, random)
        return {"finding": CallFact.FAILED, "until": until or None}
    return {"finding": CallFact.UNRECOVERABLE}


def _blocked(why: str, cause: str, reason: str = "") -> dict[str, Any]:
    """An intervention, not a question: a person chooses how to continue."""
    stopped = {"finding": CallFact.ASKED, "asks": "blocked", "cause": str(cause), "message": why[:MAX_TEXT]}
    return {**stopped, "question": {"question": why, "reason": reason or BlockReason.NO_RESOURCE}}


def _ask_about_rows(got: AgentResult, finding: dict[str, Any]) -> dict[str, Any]:
    """Other rows moved during the call: only the person knows whether they or the agent did it. Ask first."""
    others = [list(row) for row in moved_rows(got.evidence)]
    otherwise = {"asks": "", "otherwise": None, **finding, "finding": str(finding["finding"])}
    return {**finding, "finding": CallFact.ASKED, "asks": "rows", "rows": others, "otherwise": otherwise}


def judge_evidence(step: Step, got: AgentResult, objections: tuple[GateObjection, ...]) -> dict[str, Any]:
    if objections:
        return _lacking(got, objections)
    if step == RETROSPECTIVE and not got.evidence.changed_in_attempt:
        return {"finding": CallFact.INCOMPLETE, "message": "it ended well and left nothing"}
    if step.owes is not StepOutput.VERDICT:
        return {"finding": CallFact.SUCCEEDED, **({"summary": got.retrospective} if got.retrospective else {})}
    from ..gates.review_verdict import ReviewResult

    review = got.review
    if review is None or review.result is ReviewResult.NONE:
        return {"finding": CallFact.INCOMPLETE, "message": "it ended well and gave no verdict that can be read"}
    summary = review.summary[:MAX_TEXT]
    if review.result is ReviewResult.APPROVED:
        return {"finding": CallFact.SUCCEEDED, "summary": summary}
    return {"finding": CallFact.CHANGES, "summary": summary, "otherwise": {"finding": str(CallFact.SUCCEEDED)}}


def _lacking(got: AgentResult, objections: tuple[GateObjection, ...]) -> dict[str, Any]:
    if _closes_with_question(got) and {objection.code for objection in objections} <= _NOTHING_DONE:
        question, context, options = parse_question(got.verdict.closing)
        asked = {"question": question, "context": context, "options": list(options)}
        reason = {"reason": str(BlockReason.CRITICAL_DECISION)}
        return {"finding": CallFact.ASKED, "asks": "agent", "question": {**asked, **reason}}
    message = "\n".join(f"- {objection.message}" for objection in objections)[:MAX_TEXT]
    return {
        "finding": CallFact.INCOMPLETE,
        "message": message,
        "objections": [objection.code for objection in objections],
    }


_NOTHING_DONE = frozenset({"no-change", "no-story-file", "tasks-open", MISSING_OUTPUT})


def _closes_with_question(got: AgentResult) -> bool:
    """Whether to show the agent's closing message to a person as a question. It decides nothing else."""
    return not got.evidence.changed_in_attempt and ends_with_question(got.verdict.closing)

"""What a call came to: its own ending, the evidence, and what it asks, weighed by fixed rules. Pure."""

from typing import Any

from ..agents.outcomes import REACTIONS, Outcome, Reaction
from ..core.block_reasons import BlockReason
from ..core.causes import Cause
from ..core.facts import Call
from ..core.offered import asks, offered
from ..core.owes import Owes
from ..core.records import StepRecord
from ..core.statuses import PARKED
from ..gates.objections import Objection, owes
from ..gates.rows import moved_rows, other_rows
from ..workflows.pipelines import RETROSPECTIVE, Step
from .doors import Gathered
from .trying import pause_for

MAX_TEXT = 8000
MAX_SAID = 4000
MAX_PATHS = 50
OTHER_ROW = "other-row"
NOT_LEFT = "not-left"  # of a workflow file's step: a variable it should hand on
STOPPED = "stopped with the run"  # why a call was cancelled


def judge_call(step: Step, record: StepRecord, got: Gathered, now: float, random: float) -> dict[str, Any]:
    """The journal's entry for a call that has ended, without the call's own name."""
    verdict = got.verdict
    entry: dict[str, Any] = {
        "outcome": str(verdict.outcome),
        "dollars": verdict.spend.dollars,
        "tokens": sum(vars(verdict.spend.tokens).values()),
        "seconds": round(got.seconds, 3),
        "exit": got.exit,
        "row": got.row if got.row != got.row_before else "",  # only what moved during the call is its claim
        "tree": got.tree.tree,
        "code": got.tree.code,
        "head": got.tree.head,
        "branch": got.tree.branch,
        "closing": verdict.closing[-MAX_SAID:],
        "session": verdict.session,
        "message": verdict.message,
    }
    if got.output or got.variables:
        entry |= {"variables": dict(got.variables), "output": got.output}
    if got.said:
        entry["said"] = dict(got.said)
    if got.taken_out:
        entry["taken_out"] = list(got.taken_out[:MAX_PATHS])
    finding = _finding(step, record, got, now, random)
    moved = any(one.code == OTHER_ROW for one in other_rows(got.look))
    return entry | (_rows_first(got, finding) if moved else finding)


def _finding(step: Step, record: StepRecord, got: Gathered, now: float, random: float) -> dict[str, Any]:
    if got.asked:
        if got.asked[0].cause:
            return _blocked(got.asked[0].question, got.asked[0].cause, got.asked[0].reason)
        first, *more = (asked._asdict() for asked in got.asked)
        return {"finding": Call.ASKED, "asks": "agent", "question": first, "more": more}
    if got.row == PARKED and got.row_before != PARKED:
        return _blocked(got.row_reason or "it set the story's row to blocked and gave no reason", Cause.BLOCKED)
    reaction = REACTIONS[got.verdict.outcome]
    if reaction is Reaction.GO_ON or got.verdict.outcome is Outcome.PERMISSION_DENIED:
        missing = (owes(NOT_LEFT, one) for one in got.missing)
        from ..gates.work import judge_work  # a hundred patterns, which no run needs before its first call

        against = (*(one for one in judge_work(got.look) if one.code != OTHER_ROW), *missing)
        return by_evidence(step, got, against)
    if got.verdict.outcome is Outcome.CANCELLED and got.verdict.message == STOPPED:
        return {"finding": Call.REFUSED}  # nobody's fault: it is simply called again
    if got.verdict.outcome is Outcome.BUDGET:
        return {"finding": Call.REFUSED}  # the run's own cap, which is asked about before the next call
    if reaction in (Reaction.PARK, Reaction.BACK_OFF):
        until = pause_for(record, got.verdict.outcome, now, random)
        return {"finding": Call.REFUSED, "until": until or None}
    if reaction is Reaction.TRY_AGAIN:
        until = pause_for(record, got.verdict.outcome, now, random)
        return {"finding": Call.FAILED, "until": until or None}
    return {"finding": Call.HOPELESS}


def _blocked(why: str, cause: str, reason: str = "") -> dict[str, Any]:
    """No question with an answer, but a stop: a person chooses how it goes on."""
    stopped = {"finding": Call.ASKED, "asks": "blocked", "cause": str(cause), "message": why[:MAX_TEXT]}
    return {**stopped, "question": {"question": why, "reason": reason or BlockReason.NO_RESOURCE}}


def _rows_first(got: Gathered, finding: dict[str, Any]) -> dict[str, Any]:
    """Other rows that moved meanwhile: by the agent, or by a person? Only they know."""
    others = [list(row) for row in moved_rows(got.look)]
    otherwise = {"asks": "", "otherwise": None, **finding, "finding": str(finding["finding"])}
    return {**finding, "finding": Call.ASKED, "asks": "rows", "rows": others, "otherwise": otherwise}


def by_evidence(step: Step, got: Gathered, objections: tuple[Objection, ...]) -> dict[str, Any]:
    if objections:
        return _lacking(got, objections)
    if step == RETROSPECTIVE and not got.look.code_moved:
        return {"finding": Call.LACKING, "message": "it ended well and left nothing"}
    if step.owes is not Owes.VERDICT:
        return {"finding": Call.GOOD, **({"summary": got.retrospective} if got.retrospective else {})}
    from ..gates.verdict import Result

    review = got.review
    if review is None or review.result is Result.NONE:
        return {"finding": Call.LACKING, "message": "it ended well and gave no verdict that can be read"}
    summary = review.summary[:MAX_TEXT]
    if review.result is Result.APPROVED:
        return {"finding": Call.GOOD, "summary": summary}
    return {"finding": Call.CHANGES, "summary": summary, "otherwise": {"finding": str(Call.GOOD)}}


def _lacking(got: Gathered, objections: tuple[Objection, ...]) -> dict[str, Any]:
    if _closes_with_question(got) and {objection.code for objection in objections} <= _NOTHING_DONE:
        question, context, options = offered(got.verdict.closing)
        asked = {"question": question, "context": context, "options": list(options)}
        reason = {"reason": str(BlockReason.CRITICAL_DECISION)}
        return {"finding": Call.ASKED, "asks": "agent", "question": {**asked, **reason}}
    told = "\n".join(f"- {objection.message}" for objection in objections)[:MAX_TEXT]
    return {"finding": Call.LACKING, "message": told, "objections": [objection.code for objection in objections]}


_NOTHING_DONE = frozenset({"no-change", "no-story-file", "tasks-open", NOT_LEFT})


def _closes_with_question(got: Gathered) -> bool:
    """Its last words are shown to a person, and decide nothing but that."""
    return not got.look.code_moved and asks(got.verdict.closing)

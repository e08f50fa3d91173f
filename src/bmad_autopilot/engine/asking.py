"""The questions a lane puts to a person: which one, about what, and what an answer to it means."""

from collections.abc import Mapping
from typing import Any

from ..agents.outcomes import Outcome
from ..core.block_reasons import BlockReason
from ..core.causes import OFFERS, Cause
from ..core.commands import command
from ..core.facts import Call
from ..core.records import Check
from .delivery.questions import FORMS as DELIVERY_FORMS
from .doors import Asked, Doors, Question
from .flows.questions import MEANS as FLOW_MEANS
from .forms import AFTER_STORY, FORMS, RECOMMENDED, TEXTS, Form
from .looking import Look

MAX_COMMANDS = 20

_UNMERGED = ("not merged", "a merge is under way")  # as github/ground.py says it

AGENT = "agent"
LEFT_BEHIND = "left-behind"


def question_for(code: str, look: Look, rounds: int) -> Question:
    ended = _ended(look)
    code = str(ended.get("asks") or code) if code == AGENT else code
    story = look.story.key if look.story else look.epic.key if look.epic else look.subject
    if code == AGENT:
        return _agents(story, look, ended)
    form = FORMS[code]
    cause = _cause(code, form, look, ended)
    step = look.at.step.name if look.at.step else ""
    names = {"story": story, "step": step, "rounds": rounds, "epic": look.epic.key if look.epic else "the epic"}
    recommended, because = RECOMMENDED.get(cause, (form.recommended, form.because))
    return Question(
        code,
        story,
        look.call,
        _text(form, cause, look).format(**names),
        _context(code, look, ended),
        OFFERS[cause].options,
        recommended,
        (ended.get("question") or {}).get("reason") or form.reason if code == "blocked" else form.reason,
        cause=cause,
        because=because,
    )


def left_behind(story: str, asked: Asked) -> Question:
    """What an agent asked before this run had to do with it."""
    return Question(
        LEFT_BEHIND,
        story,
        None,
        asked.question,
        asked.context,
        asked.options,
        reason=asked.reason or BlockReason.CRITICAL_DECISION,
        agents_own=asked.id,
        cause=Cause.QUESTION,
    )


def meaning(code: str, answer: str) -> str:
    if code == LEFT_BEHIND:
        return "go-on"
    if code in FLOW_MEANS:
        return FLOW_MEANS[code].get(answer, "go-on")
    form = FORMS.get(code) or DELIVERY_FORMS.get(code)
    return form.options.get(answer, "again") if form else "again"


def _agents(story: str, look: Look, ended: dict[str, Any]) -> Question:
    asked = ended.get("question") or {}
    return Question(
        AGENT,
        story,
        look.call,
        str(asked.get("question", "")),
        str(asked.get("context", "")),
        tuple(str(option) for option in asked.get("options", ())),
        reason=str(asked.get("reason") or BlockReason.CRITICAL_DECISION),
        agents_own=str(asked.get("id", "")),
        cause=Cause.QUESTION,
    )


def _cause(code: str, form: Form, look: Look, ended: dict[str, Any]) -> Cause:
    if code in ("failed", "hopeless"):
        return _by_outcome(ended, form.cause)
    if code == "blocked":
        return _known(ended.get("cause"), form.cause)
    if code == "ground" and any(mark in look.why for mark in _UNMERGED):
        return Cause.CONFLICT
    if code == "human-checkpoint" and look.story is None:
        return Cause.EPIC_COMPLETE
    return form.cause


def _by_outcome(ended: dict[str, Any], otherwise: Cause) -> Cause:
    if ended.get("finding") == Call.LACKING:
        return Cause.LIAR
    outcomes = {Outcome.TIMED_OUT: Cause.TIMEOUT, Outcome.LIMIT: Cause.LIMIT}
    return next((cause for outcome, cause in outcomes.items() if ended.get("outcome") == outcome), otherwise)


def _known(word: object, otherwise: Cause) -> Cause:
    return next((cause for cause in Cause if cause == word), otherwise)


def _text(form: Form, cause: Cause, look: Look) -> str:
    if cause is Cause.HUMAN_CHECKPOINT and look.at.step is None:
        return AFTER_STORY
    return TEXTS.get(cause, form.text)


# what it is about


def with_trace(question: Question, doors: Doors) -> Question:
    """With the last lines of the call it is about, and the files to look at."""
    if question.call is None or question.cause not in _OF_A_CALL:
        return question
    parts = [question.context] if question.context else []
    said = doors.tail(question.call)
    if said:
        parts.append("Its last lines:\n" + "\n".join(f"  {line}" for line in said.split("\n")))
    parts += [f"See: {path}" for path in doors.places(question.story, question.call)]
    return question._replace(context="\n".join(parts))


_OF_A_CALL = (
    *(Cause.BLOCKED, Cause.FAILED, Cause.HOPELESS, Cause.CHECKS),
    *(Cause.ROUNDS, Cause.TIMEOUT, Cause.LIMIT, Cause.LIAR),
)


def about_checks(check: Check, logs: str) -> str:
    """Which commands fail, and where what they printed is kept."""
    failed = [
        f"{command}: " + ("did not end" if exit is None else f"exit code {exit}")
        for command, exit, _ in check.ran
        if exit != 0
    ]
    return "\n".join((*failed[:MAX_COMMANDS], f"logs: {logs}"))


def _ended(look: Look) -> dict[str, Any]:
    last = look.at.record.last if look.at.record else None
    return dict(last.ended) if last and last.ended else {}


def _context(code: str, look: Look, ended: Mapping[str, Any]) -> str:
    if code == "rows":
        moved = ended.get("rows", ())
        return "\n".join(f"{key}: {before or 'not there'} → {after or 'gone'}" for key, before, after in moved)
    if code == "row" and look.row is not None:
        return f"{look.row.key}: {look.wanted or 'not done'} → {look.row.status.raw}"
    if code == "left-out":
        stories = sorted(look.rows.values(), key=lambda row: row.order)
        own = [row for row in stories if look.epic and row.epic == look.epic.number and row.key != look.epic.key]
        return "\n".join(f"{row.key}: {row.status.raw}" for row in own if row.meaning not in ("done", "optional"))
    if code == "ground":
        return look.why
    if code == "stuck" and look.row is not None:
        back = command("board", "set", look.row.key, "ready-for-dev")
        return f"its row says {look.row.status.raw}, and no step of the workflow begins there: {back}"
    if code in ("human-checkpoint", "settings", "budget"):
        return ""
    said = str(ended.get("summary") or ended.get("message") or "")
    return f"Reason: {said}" if said and code in ("blocked", "failed", "hopeless", "rounds") else said

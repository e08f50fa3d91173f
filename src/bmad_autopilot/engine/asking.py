"""The questions a lane puts to a person, and what each answer means for it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..agents.outcomes import Outcome
from ..core.block_reasons import BlockReason
from ..core.causes import ABORT, EXTEND, FIX, OFFERS, RETRY, SKIP, Cause
from ..core.commands import command
from ..core.facts import Call
from ..core.records import Check
from .delivery.questions import FORMS
from .doors import Asked, Doors, Question
from .looking import Look

MAX_COMMANDS = 20


class _Form(NamedTuple):
    """One question: its text, what each option means to folding.py, what we would choose and why."""

    text: str
    options: dict[str, str]
    recommended: str
    because: str
    cause: Cause
    reason: BlockReason = BlockReason.HUMAN_REVIEW_REQUIRED


_USUAL = {RETRY: "again", EXTEND: "extend", SKIP: "skip", FIX: "hand-over", ABORT: "abort"}
_GO_ON = {"continue": "go-on", FIX: "hand-over", ABORT: "abort"}

_FORMS = {
    "blocked": _Form(
        "{step} of {story} says that it is blocked. Once that is mended: try again?",
        _USUAL,
        RETRY,
        "what it names must be there first; its work is kept",
        Cause.BLOCKED,
        BlockReason.NO_RESOURCE,
    ),
    "failed": _Form(
        "{step} of {story} failed, and so did another try. Try again?",
        _USUAL,
        RETRY,
        "its work is kept, and the next call is told what went wrong",
        Cause.FAILED,
        BlockReason.SUBAGENT_FAILED,
    ),
    "hopeless": _Form(
        "{step} of {story} cannot go on by itself. Once that is mended: try again?",
        _USUAL,
        RETRY,
        "its work is kept; what stopped it must be mended first",
        Cause.HOPELESS,
        BlockReason.NO_RESOURCE,
    ),
    "checks": _Form(
        "The project's checks still fail on {story} after every mend. What now?",
        {**_USUAL, RETRY: "more-fixes"},
        FIX,
        "agents have had their tries; the logs say what fails",
        Cause.CHECKS,
    ),
    "environment": _Form(
        "The project's checks cannot run here on {story}. Once that is mended: run them again?",
        {**_USUAL, RETRY: "recheck"},
        RETRY,
        "no change to the code would help; what is missing must be there first",
        Cause.ENVIRONMENT,
        BlockReason.NO_RESOURCE,
    ),
    "rounds": _Form(
        "The review of {story} asks for changes again, after {rounds} rounds. What now?",
        {"more": "more-rounds", "approve": "otherwise", **_USUAL},
        "more",
        "what it asks for stands above",
        Cause.ROUNDS,
    ),
    "rows": _Form(
        "While {step} of {story} ran, other rows of the board moved. Did you do that?",
        {"mine": "otherwise", "undo": "otherwise"},
        "undo",
        "no step of this run has to set them",
        Cause.ROWS,
        BlockReason.CRITICAL_DECISION,
    ),
    "ground": _Form(
        "This is no place to work in just now. Go on?",
        {RETRY: "look", ABORT: "abort"},
        RETRY,
        "it is looked at again; nothing is changed before it is in order",
        Cause.GROUND,
    ),
    "budget": _Form(
        "The cap of this run is reached. Allow as much again?",
        {"more": "more", "stop": "abort"},
        "stop",
        "the cap was set for this",
        Cause.BUDGET,
    ),
    "left-out": _Form(
        "Every story of {epic} is done but those left out. Close the epic without them?",
        {"close": "close", "leave": "leave"},
        "leave",
        "they can still be taken up again",
        Cause.LEFT_OUT,
        BlockReason.CRITICAL_DECISION,
    ),
    "retrospective": _Form(
        "The retrospective of {epic} was not held. Try again?",
        {RETRY: "again", "leave": "drop"},
        "leave",
        "the epic is done without it",
        Cause.RETROSPECTIVE,
        BlockReason.SUBAGENT_FAILED,
    ),
    "stuck": _Form(
        "{story} is in a state that nothing is known to do about. Look again?",
        {RETRY: "look", ABORT: "abort"},
        RETRY,
        "once its row says something else",
        Cause.STUCK,
    ),
    "restless": _Form(
        "Files change by themselves while the project's checks run on {story}, so that no result holds. Once that "
        "is mended: run them again?",
        {**_USUAL, RETRY: "recheck"},
        RETRY,
        "what a program writes by itself belongs into .gitignore",
        Cause.RESTLESS,
        BlockReason.NO_RESOURCE,
    ),
    "human-checkpoint": _Form(
        "{step} of {story} comes next. Go on?",
        _GO_ON,
        "continue",
        "nothing has gone wrong; you wanted to be asked here",
        Cause.HUMAN_CHECKPOINT,
    ),
    "settings": _Form(
        "The settings have changed since this run began. Go by the new ones?",
        {"new": "new-settings", "old": "old-settings", ABORT: "abort"},
        "new",
        "they are what the project goes by now",
        Cause.SETTINGS,
        BlockReason.CRITICAL_DECISION,
    ),
}

# What differs from the form by what it is really about.
_TEXTS = {
    Cause.TIMEOUT: "{step} of {story} was ended at its time limit. Give it as much time again?",
    Cause.LIMIT: "The account's limit keeps {step} of {story} from going on. Try again?",
    Cause.LIAR: "{step} of {story} claims to be done without what it owes, twice. Try again?",
    Cause.CONFLICT: "A merge has stopped on a conflict. Once it is resolved: go on?",
    Cause.EPIC_COMPLETE: "Every story of {epic} is done. Close the epic?",
}
_RECOMMENDED = {
    Cause.TIMEOUT: (EXTEND, "it was still at work"),
    Cause.LIMIT: (RETRY, "once the account can be used again"),
    Cause.LIAR: (FIX, "it was told what is missing, and left it out again"),
    Cause.EPIC_COMPLETE: ("continue", "nothing has gone wrong; you wanted to be asked here"),
}
_AFTER_STORY = "A story is done, and {story} comes next. Go on?"

_UNMERGED = ("not merged", "a merge is under way")  # as github/ground.py says it

AGENT = "agent"
LEFT_BEHIND = "left-behind"


def question_for(code: str, look: Look, rounds: int) -> Question:
    ended = _ended(look)
    code = str(ended.get("asks") or code) if code == AGENT else code
    story = look.story.key if look.story else look.epic.key if look.epic else look.subject
    if code == AGENT:
        return _agents(story, look, ended)
    form = _FORMS[code]
    cause = _cause(code, form, look, ended)
    step = look.at.step.name if look.at.step else ""
    names = {"story": story, "step": step, "rounds": rounds, "epic": look.epic.key if look.epic else "the epic"}
    recommended, because = _RECOMMENDED.get(cause, (form.recommended, form.because))
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
    form = _FORMS.get(code) or FORMS.get(code)
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


def _cause(code: str, form: _Form, look: Look, ended: dict[str, Any]) -> Cause:
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


def _text(form: _Form, cause: Cause, look: Look) -> str:
    if cause is Cause.HUMAN_CHECKPOINT and look.at.step is None:
        return _AFTER_STORY
    return _TEXTS.get(cause, form.text)


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

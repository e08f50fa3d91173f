"""The questions a lane puts to a person, and what each answer means for it."""

from typing import Any, NamedTuple

from ..core.block_reasons import BlockReason
from ..core.commands import command
from ..core.records import Check
from .doors import Question
from .observing import Look

MAX_COMMANDS = 20
RETRY, SKIP, FIX, ABORT = "retry", "skip", "fix", "abort"


class _Form(NamedTuple):
    """One question: its text, and for each option the meaning that records.py gives it."""

    text: str
    options: dict[str, str]
    recommended: str
    reason: BlockReason = BlockReason.HUMAN_REVIEW_REQUIRED


_USUAL = {SKIP: "skip", FIX: "hand-over", ABORT: "abort"}

_FORMS = {
    "failed": _Form(
        "{step} of {story} failed, and so did another try. Try again?",
        {RETRY: "again", **_USUAL},
        RETRY,
        BlockReason.SUBAGENT_FAILED,
    ),
    "hopeless": _Form(
        "{step} of {story} cannot go on by itself. Once that is mended: try again?",
        {RETRY: "again", **_USUAL},
        RETRY,
        BlockReason.NO_RESOURCE,
    ),
    "checks": _Form(
        "The project's checks still fail on {story} after every mend. What now?",
        {RETRY: "more-fixes", **_USUAL},
        FIX,
    ),
    "environment": _Form(
        "The project's checks cannot run here on {story}. Once that is mended: run them again?",
        {RETRY: "recheck", **_USUAL},
        RETRY,
        BlockReason.NO_RESOURCE,
    ),
    "rounds": _Form(
        "The review of {story} asks for changes again, after {rounds} rounds. What now?",
        {"more": "more-rounds", "approve": "otherwise", **_USUAL},
        "more",
    ),
    "rows": _Form(
        "While {step} of {story} ran, other rows of the board moved. Did you do that?",
        {"mine": "otherwise", "undo": "otherwise"},
        "undo",
        BlockReason.CRITICAL_DECISION,
    ),
    "ground": _Form("This is no place to work in just now. Go on?", {RETRY: "look", ABORT: "abort"}, RETRY),
    "budget": _Form(
        "The cap of this run is reached. Allow as much again?", {"more": "more", "stop": "abort"}, "stop"
    ),
    "left-out": _Form(
        "Every story of {epic} is done but those left out. Close the epic without them?",
        {"close": "close", "leave": "leave"},
        "leave",
        BlockReason.CRITICAL_DECISION,
    ),
    "retrospective": _Form(
        "The retrospective of {epic} was not held. Try again?",
        {RETRY: "again", "leave": "drop"},
        "leave",
        BlockReason.SUBAGENT_FAILED,
    ),
    "stuck": _Form(
        "{story} is in a state that nothing is known to do about. Look again?",
        {RETRY: "look", ABORT: "abort"},
        RETRY,
    ),
}

AGENT = "agent"


def question_for(code: str, look: Look, rounds: int) -> Question:
    ended = _ended(look)
    code = str(ended.get("asks") or code) if code == AGENT else code
    story = look.story.key if look.story else look.epic.key if look.epic else ""
    if code == AGENT:
        return _agents(story, look, ended)
    form = _FORMS[code]
    step = look.at.step.name if look.at.step else ""
    names = {"story": story, "step": step, "rounds": rounds, "epic": look.epic.key if look.epic else "the epic"}
    return Question(
        code,
        story,
        look.call,
        form.text.format(**names),
        _context(code, look, ended),
        tuple(form.options),
        form.recommended,
        form.reason,
    )


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
    )


def about_checks(check: Check, logs: str) -> str:
    """Which commands fail, and where what they printed is kept."""
    failed = [
        f"{command}: " + ("did not end" if exit is None else f"exit code {exit}")
        for command, exit, _ in check.ran
        if exit != 0
    ]
    return "\n".join((*failed[:MAX_COMMANDS], f"logs: {logs}"))


def meaning(code: str, answer: str) -> str:
    return _FORMS[code].options.get(answer, "again") if code in _FORMS else "again"


def _ended(look: Look) -> dict[str, Any]:
    last = look.at.record.last if look.at.record else None
    return dict(last.ended) if last and last.ended else {}


def _context(code: str, look: Look, ended: dict[str, Any]) -> str:
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
    return str(ended.get("summary") or ended.get("message") or "")

"""The questions of a flow: what a step has left, whether an optional one is done, where a session ends."""

from collections.abc import Mapping
from typing import NamedTuple

from ...core.block_reasons import BlockReason
from ...core.causes import ABORT, FIX, OFFERS, RETRY, SKIP, Cause
from ...workflows.pipelines import Step
from ..doors import Question
from ..looking import Look
from .position import part_of, title_of
from .sight import Desk

GATE, BOUNDARY, OPTIONAL, FAILED = "gate", "boundary", "optional", "flow-failed"
ANOTHER = "another"

# What each answer means to folding.py.
MEANS: Mapping[str, Mapping[str, str]] = {
    GATE: {"again": "once-more", "proceed": "go-on"},
    BOUNDARY: {"new-session": "session-over", "continue": "go-on", ANOTHER: "once-more"},
    OPTIONAL: {"run": "go-on", SKIP: "pass-over"},
    FAILED: {RETRY: "go-on", SKIP: "skip", FIX: "hand-over", ABORT: "abort"},
}


class _Words(NamedTuple):
    text: str
    labels: tuple[str, ...]
    recommended: str
    because: str
    cause: Cause
    more: tuple[str, ...] = ()  # options beside those of the cause


def flow_question(code: str, look: Look, desk: Desk, steps: tuple[Step, ...]) -> Question:
    step, story = look.at.step, look.story
    assert step is not None
    assert story is not None
    about = steps[steps.index(step) - 1] if code == BOUNDARY else step
    words = _words(code, about, step)
    return Question(
        code,
        story.key,
        look.call if code == GATE else None,
        words.text,
        _context(code, look, desk, about),
        (*OFFERS[words.cause].options, *words.more),
        words.recommended,
        BlockReason.SUBAGENT_FAILED if code == FAILED else BlockReason.CRITICAL_DECISION,
        cause=words.cause,
        because=words.because,
        labels=words.labels,
        step=about.name,
    )


def _words(code: str, about: Step, following: Step) -> _Words:
    if code == GATE:
        return _gate(about)
    if code == BOUNDARY:
        return _boundary(about, following)
    if code == OPTIONAL:
        return _optional(about)
    text = f"Step {part_of(about).number}, {title_of(about)}, has failed {part_of(about).tries} times. Try again?"
    why = "what stands above must be mended first; it is not tried again by itself"
    return _Words(text, (), RETRY, why, Cause.FAILED)


def _gate(step: Step) -> _Words:
    gate = part_of(step).gate
    assert gate is not None
    return _Words(gate.ask, (gate.again, gate.go_on), gate.recommended, gate.because, Cause.GATE)


def _boundary(step: Step, following: Step) -> _Words:
    """As 004 words it; a step that loops can be done once more first."""
    part = part_of(step)
    labels = (
        f"Start a new conversation for {_verb(following)} (recommended for context freshness)",
        f"Continue {_verb(following)} in this conversation",
    )
    more = (ANOTHER,) if part.loops else ()
    text = f"{part.boundary} complete — start {_verb(following)}?"
    why = f"{_verb(following)} is the longest phase, fresh context helps"
    others = (f"{title_of(step)} once more, before that",) if more else ()
    return _Words(text, (*labels, *others), "new-session", why, Cause.BOUNDARY, more)


def _verb(step: Step) -> str:
    return "implementation" if part_of(step).tasks else title_of(step)


def _optional(step: Step) -> _Words:
    part = part_of(step)
    text = f"Step {part.number}, {title_of(step)}, is optional. Do it?"
    labels = (f"Do {title_of(step)} now", f"Go on without {title_of(step)}")
    return _Words(text, labels, "run", "what it finds is cheaper to act on now than later", Cause.OPTIONAL)


def _context(code: str, look: Look, desk: Desk, about: Step) -> str:
    assert look.flow is not None
    if code == FAILED:
        state = look.flow.sight.state
        return "\n".join(state.blockers) if state else ""
    return desk.about(about) if code in (GATE, BOUNDARY) else ""

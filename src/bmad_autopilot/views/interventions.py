"""The menu on a step that has stopped: what has happened, and what a person can choose, by a letter each."""

from collections.abc import Iterator

from ..core.causes import OFFERS, Cause
from ..runs.question import Question
from .choosing import choose_options

MARGIN = "    "

_WORDS = {
    "retry": "Retry story ({step} once more)",
    "skip": "Skip story (marked blocked, the epic goes on)",
    "fix": "Fix manually (you take over)",
    "extend": "Extend (as much time again)",
    "abort": "Abort (the run ends)",
    "more": "More (as much again)",
    "approve": "Approve (take it as it is)",
    "stop": "Stop (the run ends)",
    "mine": "Mine (leave the board as it is)",
    "undo": "Undo (set the board back)",
    "close": "Close the epic without them",
    "leave": "Leave it as it is",
    "continue": "Continue",
    "new": "New settings",
    "old": "Old settings (those the run began with)",
    "run": "Run it",
}
_RETRY = {
    Cause.CHECKS: "Retry story (more mends)",
    Cause.ENVIRONMENT: "Retry (run the checks again)",
    Cause.CONFLICT: "Retry (look again)",
    Cause.GROUND: "Retry (look again)",
    Cause.STUCK: "Retry (look again)",
    Cause.RETROSPECTIVE: "Retry (hold it)",
}
_OF_A_WORKFLOW = {"retry": "Retry ({step} once more)", "skip": "Skip {step} (the next step is begun)"}
WORKFLOW = "workflow"
_OF_THE_EPIC = (Cause.EPIC_COMPLETE, Cause.LEFT_OUT, Cause.RETROSPECTIVE)


def head(asked: Question) -> str:
    """`[!] Story 1-3-protected-routes BLOCKED`; of an older run without its cause only the story."""
    cause = next((cause for cause in Cause if cause == asked.cause), None)
    kind = "Workflow" if asked.about == WORKFLOW else "Story"
    what = asked.story if cause in _OF_THE_EPIC else f"{kind} {asked.story}"
    return f"[!] {what} {OFFERS[cause].head if cause else 'STOPPED'}"


def option_lines(asked: Question) -> Iterator[str]:
    if asked.labels:
        yield from choose_options(asked)
        return
    for option in asked.options:
        because = f": {asked.because}" if asked.because else ""
        recommended = f"  (recommended{because})" if option == asked.recommended else ""
        yield f"{_letter(asked.options, option)} {_said(asked, option)}{recommended}"


def _said(asked: Question, option: str) -> str:
    own = {str(cause): words for cause, words in _RETRY.items()} if option == "retry" else {}
    words = own.get(asked.cause) or _WORDS.get(option) or option
    words = _OF_A_WORKFLOW.get(option, words) if asked.about == WORKFLOW else words
    return words.format(step=asked.step or "the step")


def _letter(options: tuple[str, ...], option: str) -> str:
    """`[r]`, where that letter begins no other option."""
    same = sum(other[:1] == option[:1] for other in options)
    return f"[{option[:1]}]" if same == 1 else f"[{option}]"

"""What agents, reviews and checks have said, in a few words of one line."""

from collections.abc import Mapping
from typing import Any

Data = Mapping[str, Any]

MAX_WORDS = 600  # of somebody else's in one line

_TRACEBACK = "Traceback (most recent call last)"


def said_of(data: Data, finding: str) -> str:
    """Of a review the first line of its summary; of what did not go well its reason."""
    if finding in ("good", "changes"):
        return first_line(str(data.get("summary", "")))
    if finding == "asked":
        return ""
    outcome, message = str(data.get("outcome", "")), telling(str(data.get("message", "")))
    words = [_with_exit(outcome, data.get("exit"), message)] if outcome not in ("completed", message) else []
    return ": ".join(filter(None, (*words, message)))


def _with_exit(outcome: str, exit: object, message: str) -> str:
    says = f"exit code {exit}"
    return (
        f"{outcome} ({says})"
        if outcome == "crashed" and isinstance(exit, int) and says not in message
        else outcome
    )


def telling(text: str) -> str:
    """The line that says most: the first, without the mark of a list; of a traceback the last."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and lines[0].startswith(_TRACEBACK):
        lines = [lines[-1]] if len(lines) > 1 else []
    return clip(lines[0].removeprefix("- ")) if lines else ""


def failing(data: Data) -> str:
    """Of the project's checks those that fail: `npm test (exit code 1)`."""
    failed = [(str(command), exit) for command, exit, _ in data.get("ran") or () if exit != 0]
    words = [
        f"{command} (" + ("did not end" if exit is None else f"exit code {exit}") + ")" for command, exit in failed
    ]
    return clip(", ".join(words) + (" fails" if len(words) == 1 else " fail")) if words else ""


def first_line(text: str) -> str:
    lines = (line.strip() for line in text.splitlines())
    return clip(next((line for line in lines if line), ""))


def clip(text: str) -> str:
    return text if len(text) <= MAX_WORDS else text[: MAX_WORDS - 1] + "…"


def resuming(language: str, run: str = "", step: int = 0, total: int = 0) -> str:
    """That a run is gone on with, in French where people are spoken to in French."""
    french = language.strip().lower().startswith("fr")
    if not run:
        return "▶ Reprise du run" if french else "▶ Resuming the run"
    at = f"à l'étape {step}/{total}" if french else f"at step {step}/{total}"
    return f"▶ {'Reprise du' if french else 'Resuming'} run {run} {at}"


# What a call came to, and its colour.
FINDINGS = {
    "good": ("done", "green"),
    "changes": ("changes requested", "yellow"),
    "lacking": ("not accepted", "red"),
    "failed": ("failed", "red"),
    "refused": ("refused", "yellow"),
    "asked": ("stopped to ask", "yellow"),
    "hopeless": ("cannot go on", "red"),
    "": ("not taken in yet", "cyan"),
}

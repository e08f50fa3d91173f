"""What happened in a simulation, in words for a person."""

from collections.abc import Callable, Mapping
from typing import Any

from .log import Effect, clock

Data = Mapping[str, Any]


def tell(effect: Effect, *, verbose: bool = False) -> str | None:
    """One line; None: a detail that only a verbose log shows."""
    words = _WORDS.get(effect.kind)
    if words is not None:
        return f"{clock(effect.at)}  {words(effect.data)}"
    return effect.line() if verbose and effect.kind != "wait" else None


def _call(data: Data) -> str:
    return f"{data['call'].step} of {data['story']}"


def _start(data: Data) -> str:
    attempt = data["call"].attempt
    again = f", attempt {attempt}" if attempt > 1 else ""
    return f"{_call(data)} is called{again} ({data['habit']})"


def _end(data: Data) -> str:
    outcome = "" if data["outcome"] == "completed" else f": {data['outcome']}"
    return f"{_call(data)} ends{outcome}"


def _moved(data: Data) -> str:
    return f"{data['key']}: {data['before'] or 'nothing'} → {data['after'] or 'off the board'}"


_WORDS: dict[str, Callable[[Data], str]] = {
    "start": _start,
    "end": _end,
    "set-row": _moved,
    "restore-board": lambda data: "the board is put back as it was before the call",
    "check": lambda data: f"the project's checks {'pass' if data['passed'] else 'fail'}",
    "commit": lambda data: f"commit {data['key']}",
    "save": lambda data: f"work on {data['story']} is kept under {data['ref']}",
    "ask": lambda data: f"a question about {data['story'] or 'the run'}: {data['code']}",
    "answer": lambda data: f"somebody answers about {data['story'] or 'the run'}: {data['answer']}",
    "edit-row": lambda data: f"somebody moves {_moved(data)}",
    "remark": lambda data: "somebody writes a remark on the board",
    "write-file": lambda data: f"somebody writes {data['path']}",
    "spoil-board": lambda data: "somebody leaves the board unreadable",
    "mend-board": lambda data: "somebody mends the board",
    "crash": lambda data: f"✗ the supervisor dies ({data['at']})",
    "lost": lambda data: f"✗ the machine goes down, and {_call(data)} with it",
    "ended": lambda data: f"the run ends: {data['ending']}",
    "push": lambda data: f"{data['branch']} is pushed",
    "open-pull": lambda data: f"pull request #{data['answer']} is opened for {data['head']}",
    "edit-pull": lambda data: f"#{data['number']} goes to {data['base_ref']}",
    "reopen": lambda data: f"#{data['number']} is opened again",
    "request-review": lambda data: f"a review of #{data['number']} is asked for",
    "reply": lambda data: f"a reply to thread {data['thread']}",
    "resolve": lambda data: f"thread {data['thread']} is resolved",
    "rerun": lambda data: f"{data['name']} is run again",
    "enqueue": lambda data: f"#{data['number']} goes into the merge queue",
    "merge": lambda data: f"#{data['number']} is merged",
    "delete-branch": lambda data: f"{data['ref']} is deleted",
    "github": lambda data: f"{data['by'] or 'GitHub'}: {data['did']} {data['about']}",
}

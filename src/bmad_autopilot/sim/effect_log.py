"""The ordered log of effects in a simulated world, and their description for the terminal."""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

LAST_EFFECTS = 40  # effects printed for a seed that violates an invariant


# Journal fields printed in a log line, in this order.
_NOTE_FIELDS = "entry story key step number attempt finding before after status round means label cause".split()


class EffectActor(StrEnum):
    US = "us"
    AGENT = "agent"
    PERSON = "person"
    FATE = "fate"  # supervisor crashes and machine failures


class Effect(NamedTuple):
    at: float  # seconds since the start of the simulation
    actor: EffectActor
    kind: str
    run: str
    data: dict[str, Any]

    def line(self) -> str:
        shown = (
            [self.data[name] for name in _NOTE_FIELDS if name in self.data]
            if self.kind == "note"
            else self.data.values()
        )
        text = "  ".join(_format_value(value) for value in shown if value not in (None, "", (), []))
        return f"{format_clock(self.at)}  {self.actor:<6}  {self.kind:<13} {text}"[:200]


def _format_value(value: object) -> str:
    if isinstance(value, tuple):
        return "/".join(map(str, value))
    return f"{value:.0f}" if isinstance(value, float) else str(value)


def format_clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:3}:{whole // 60 % 60:02}:{whole % 60:02}"


class EffectLog:
    def __init__(self) -> None:
        self.effects: list[Effect] = []

    def add(self, at: float, actor: EffectActor, kind: str, run: str = "", /, **data: Any) -> None:
        self.effects.append(Effect(at, actor, kind, run, data))

    def select(self, *kinds: str, actor: EffectActor | None = None) -> Iterator[Effect]:
        return (
            effect for effect in self.effects if effect.kind in kinds and (actor is None or effect.actor is actor)
        )

    def last_lines(self, count: int = LAST_EFFECTS) -> list[str]:
        return [effect.line() for effect in self.effects[-count:]]


# Descriptions of effects for a person.

Data = Mapping[str, Any]


def describe_effect(effect: Effect, *, verbose: bool = False) -> str | None:
    """One line, or None for a detail that only a verbose log shows."""
    words = _DESCRIPTIONS.get(effect.kind)
    if words is not None:
        return f"{format_clock(effect.at)}  {words(effect.data)}"
    return effect.line() if verbose and effect.kind != "wait" else None


def _describe_call(data: Data) -> str:
    return f"{data['call'].step} of {data['story']}"


def _describe_start(data: Data) -> str:
    attempt = data["call"].attempt
    again = f", attempt {attempt}" if attempt > 1 else ""
    return f"{_describe_call(data)} is called{again} ({data['habit']})"


def _describe_end(data: Data) -> str:
    outcome = "" if data["outcome"] == "completed" else f": {data['outcome']}"
    return f"{_describe_call(data)} ends{outcome}"


def _describe_move(data: Data) -> str:
    return f"{data['key']}: {data['before'] or 'nothing'} → {data['after'] or 'off the board'}"


_DESCRIPTIONS: dict[str, Callable[[Data], str]] = {
    "start": _describe_start,
    "end": _describe_end,
    "set-row": _describe_move,
    "restore-board": lambda data: "the board is put back as it was before the call",
    "check": lambda data: f"the project's checks {'pass' if data['passed'] else 'fail'}",
    "commit": lambda data: f"commit {data['key']}",
    "save": lambda data: f"work on {data['story']} is kept under {data['ref']}",
    "ask": lambda data: f"a question about {data['story'] or 'the run'}: {data['code']}",
    "answer": lambda data: f"somebody answers about {data['story'] or 'the run'}: {data['answer']}",
    "edit-row": lambda data: f"somebody moves {_describe_move(data)}",
    "remark": lambda data: "somebody writes a remark on the board",
    "write-file": lambda data: f"somebody writes {data['path']}",
    "spoil-board": lambda data: "somebody leaves the board unreadable",
    "mend-board": lambda data: "somebody mends the board",
    "crash": lambda data: f"✗ the supervisor dies ({data['at']})",
    "lost": lambda data: f"✗ the machine goes down, and {_describe_call(data)} with it",
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

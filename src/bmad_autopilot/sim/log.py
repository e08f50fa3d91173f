"""The ordered log of what happened in a simulated world, and who did it."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

LAST = 40  # shown of a run that broke a promise


# Of an entry of the journal, what is worth a place in a line.
_OF_NOTES = "entry story key step number attempt finding before after status round means label cause".split()


class Actor(StrEnum):
    US = "us"
    AGENT = "agent"
    PERSON = "person"
    FATE = "fate"  # crashes, and machines that go down


class Effect(NamedTuple):
    at: float  # seconds since the world began
    actor: Actor
    kind: str
    run: str
    data: dict[str, Any]

    def line(self) -> str:
        shown = (
            [self.data[name] for name in _OF_NOTES if name in self.data]
            if self.kind == "note"
            else self.data.values()
        )
        told = "  ".join(_told(value) for value in shown if value not in (None, "", (), []))
        return f"{clock(self.at)}  {self.actor:<6}  {self.kind:<13} {told}"[:200]


def _told(value: object) -> str:
    if isinstance(value, tuple):
        return "/".join(map(str, value))
    return f"{value:.0f}" if isinstance(value, float) else str(value)


def clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:3}:{whole // 60 % 60:02}:{whole % 60:02}"


class Log:
    def __init__(self) -> None:
        self.effects: list[Effect] = []

    def add(self, at: float, actor: Actor, kind: str, run: str = "", /, **data: Any) -> None:
        self.effects.append(Effect(at, actor, kind, run, data))

    def of(self, *kinds: str, actor: Actor | None = None) -> Iterator[Effect]:
        return (
            effect for effect in self.effects if effect.kind in kinds and (actor is None or effect.actor is actor)
        )

    def last(self, count: int = LAST) -> list[str]:
        return [effect.line() for effect in self.effects[-count:]]

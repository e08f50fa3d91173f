"""What speaks against taking a step for done."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

SHOWN = 5


class Kind(StrEnum):
    OWES = "owes"  # the step did not leave what it owes
    FOUL = "foul"  # it did something it must not do


class Objection(NamedTuple):
    """Told to the next attempt and to a person, in one or two plain sentences."""

    code: str
    message: str
    kind: Kind


def owes(code: str, message: str) -> Objection:
    return Objection(code, message, Kind.OWES)


def foul(code: str, message: str) -> Objection:
    return Objection(code, message, Kind.FOUL)


def listed(names: Sequence[str]) -> str:
    """Names for a message: a few of them, each cut to a length that can be read."""
    shown = ", ".join(f"`{_plain(name)}`" for name in names[:SHOWN])
    return f"{shown} and {len(names) - SHOWN} more" if len(names) > SHOWN else shown


def _plain(name: str) -> str:
    """A path or a task's text comes from an agent: one line of it, no control characters."""
    text = " ".join("".join(c if c.isprintable() else " " for c in name).replace("`", "'").split())
    return text if len(text) <= 120 else f"{text[:117]}…"

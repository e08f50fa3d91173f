"""Keys and numbers. A story is matched by number and shown by key.

A *key* is what a file says (`1-2-account-management`, `epic-0-5`, `TD-15b-3-cleanup`); a *number* is what it
means (`1.2`, `0.5`, `15b.td.3`): lower case, dots, no leading zeros. Two files speak of the same story when
the numbers are equal, whatever the slugs say.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from .statuses import Kind

Order = tuple[int | str, ...]

LAST = 1 << 40  # sorts words after every number

_NUMBER = r"(0|[1-9]\d{0,8}+)"
_PARTS = re.compile(
    rf"^(?:{_NUMBER}-{_NUMBER}([a-z]?)-(?=\D).*|epic-{_NUMBER}(-retrospective)?+|.*)$", re.MULTILINE
)
SEPARATORS = re.compile(r"[-._·\s]+")
_TOKEN = re.compile(r"(\d*)(\D*)")


class Identity(NamedTuple):
    """What a key of the board names."""

    kind: Kind
    epic: str | None  # the epic's number, None for a row that belongs to none
    number: str  # the row's own number; for a row without one, the key itself
    order: tuple[Order, Order]  # natural order: 1-2 before 1-10, 1-4b after 1-4, epic 2.5 between 2 and 3


Identified = tuple[Kind, str | None, str, tuple[Order, Order]]  # an Identity's fields, for boards of thousands


def number_of(text: str) -> str:
    """The number a label stands for: `0-5` and `0.5` are `0.5`, `01` is `1`, `1A` is `1a`."""
    parts = [part for part in SEPARATORS.split(text.strip().lower()) if part]
    return ".".join(part.lstrip("0") or "0" if part[0] == "0" and part.isdigit() else part for part in parts)


def natural(number: str) -> Order:
    """A sort key under which numbers compare as numbers and letters as letters."""
    order: list[int | str] = []
    for part in number.split("."):
        for digits, letters in _TOKEN.findall(part):
            if digits or letters:
                order += (int(digits[:18]) if digits else LAST, letters)
    return tuple(order)


def identify(keys: Iterable[str]) -> dict[str, Identity]:
    """Say what each key of one board names. Which epics the board declares decides how a key is cut:
    `0-5-1-x` is story 1 of epic 0.5 where there is an `epic-0-5`, else story 5 of epic 0."""
    keys = list(keys)
    return {key: Identity(*found) for key, found in zip(keys, identify_all(keys), strict=True)}


def identify_all(keys: list[str]) -> list[Identified]:
    """The same for each key of a list, in its order. Nearly every board has whole epic numbers, one story to a
    number and no other keys; whatever else there is takes the careful way."""
    parts = _PARTS.findall("\n".join(keys))
    orders: dict[str, Order] = {}
    result: list[Identified] = []
    numbers = []
    for first, story, suffix, epic, retro in parts:
        own = first or epic
        if not own:
            break
        order = orders.get(own)
        if order is None:
            order = orders[own] = (int(own), "")
        if first:
            number = f"{first}.{story}{suffix}"
            numbers.append(number)
            result.append((Kind.STORY, first, number, (order, (int(story), suffix))))
        elif retro:
            result.append((Kind.RETROSPECTIVE, epic, epic, (order, (LAST + 1, ""))))
        else:
            result.append((Kind.EPIC, epic, epic, (order, ())))
    if len(result) == len(keys) and len(set(numbers)) == len(numbers):
        return result
    from .odd_keys import identify_carefully

    found = identify_carefully(keys)
    return [found[key] for key in keys]

"""Keys and numbers of board rows. A story is matched by number and displayed by key.

A *key* is the text in a file (`1-2-account-management`, `epic-0-5`, `TD-15b-3-cleanup`); a *number* is what it
means (`1.2`, `0.5`, `15b.td.3`): lower case, dots, no leading zeros. Two files refer to the same story when
the numbers are equal, even if the slugs differ.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from .statuses import RowKind

Order = tuple[int | str, ...]

LAST = 1 << 40  # sorts words after every number

_NUMBER = r"(0|[1-9]\d{0,8}+)"
_PARTS = re.compile(
    rf"^(?:{_NUMBER}-{_NUMBER}([a-z]?)-(?=\D).*|epic-{_NUMBER}(-retrospective)?+|.*)$", re.MULTILINE
)
SEPARATORS = re.compile(r"[-._·\s]+")
_TOKEN = re.compile(r"(\d*)(\D*)")


class RowIdentity(NamedTuple):
    """The row a board key stands for."""

    kind: RowKind
    epic: str | None  # the epic's number; None for a row outside any epic
    number: str  # the row's own number; for a row without one, the key itself
    order: tuple[Order, Order]  # natural order: 1-2 before 1-10, 1-4b after 1-4, epic 2.5 between 2 and 3


# The fields of a RowIdentity as a plain tuple: faster on boards with thousands of rows.
IdentityTuple = tuple[RowKind, str | None, str, tuple[Order, Order]]


def normalize_number(text: str) -> str:
    """The number a label stands for: `0-5` and `0.5` are `0.5`, `01` is `1`, `1A` is `1a`."""
    parts = [part for part in SEPARATORS.split(text.strip().lower()) if part]
    return ".".join(part.lstrip("0") or "0" if part[0] == "0" and part.isdigit() else part for part in parts)


def natural_order(number: str) -> Order:
    """A sort key under which numbers compare as numbers and letters as letters."""
    order: list[int | str] = []
    for part in number.split("."):
        for digits, letters in _TOKEN.findall(part):
            if digits or letters:
                order += (int(digits[:18]) if digits else LAST, letters)
    return tuple(order)


def identify(keys: Iterable[str]) -> dict[str, RowIdentity]:
    """Identify each key of one board. The epics the board declares decide how a key is split:
    `0-5-1-x` is story 1 of epic 0.5 if there is an `epic-0-5`, otherwise story 5 of epic 0."""
    keys = list(keys)
    return {key: RowIdentity(*found) for key, found in zip(keys, identify_all(keys), strict=True)}


def identify_all(keys: list[str]) -> list[IdentityTuple]:
    """Like `identify`, as a list in the order of the keys. Fast path for boards with whole epic numbers, one story
    per number and no other keys, which are nearly all; the rest goes to key_variants."""
    parts = _PARTS.findall("\n".join(keys))
    orders: dict[str, Order] = {}
    result: list[IdentityTuple] = []
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
            result.append((RowKind.STORY, first, number, (order, (int(story), suffix))))
        elif retro:
            result.append((RowKind.RETROSPECTIVE, epic, epic, (order, (LAST + 1, ""))))
        else:
            result.append((RowKind.EPIC, epic, epic, (order, ())))
    if len(result) == len(keys) and len(set(numbers)) == len(numbers):
        return result
    from .key_variants import identify_irregular

    found = identify_irregular(keys)
    return [found[key] for key in keys]

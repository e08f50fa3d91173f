"""Keys and numbers. A story is matched by number and shown by key.

A *key* is what a file says (`1-2-account-management`, `epic-0-5`, `TD-15b-3-cleanup`); a *number* is what it
means (`1.2`, `0.5`, `15b.td.3`): lower case, dots, no leading zeros. Two files speak of the same story when
the numbers are equal, whatever the slugs say.
"""

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from .statuses import Kind

Order = tuple[int | str, ...]

_LAST = 1 << 40  # sorts words after every number

_NUMBER = r"(0|[1-9]\d{0,8}+)"
_PARTS = re.compile(
    rf"^(?:{_NUMBER}-{_NUMBER}([a-z]?)-(?=\D).*|epic-{_NUMBER}(-retrospective)?+|.*)$", re.MULTILINE
)
# `epic-3`, `epic-1a-plus`, `orch-epic-1`; but `3-4-close-epic-2-bugs` is a story.
_EPIC = re.compile(r"epic-(.+)|([a-z][a-z_-]*)-epic-(\d+[a-z]?(?:[.-]\d+)?)", re.IGNORECASE)
_RETRO = re.compile(r"-(?:retrospective|retro)$", re.IGNORECASE)
_PART = re.compile(r"\d+[a-z]?|[a-z]\d+|\d+[a-z]+", re.IGNORECASE)
_SEPARATORS = re.compile(r"[-._·\s]+")
_TOKEN = re.compile(r"(\d*)(\D*)")


class Identity(NamedTuple):
    """What a key of the board names."""

    kind: Kind
    epic: str | None  # the epic's number, None for a row that belongs to none
    number: str  # the row's own number; for a row without one, the key itself
    order: tuple[Order, Order]  # natural order: 1-2 before 1-10, 1-4b after 1-4, epic 2.5 between 2 and 3


def number_of(text: str) -> str:
    """The number a label stands for: `0-5` and `0.5` are `0.5`, `01` is `1`, `1A` is `1a`."""
    parts = [part for part in _SEPARATORS.split(text.strip().lower()) if part]
    return ".".join(part.lstrip("0") or "0" if part[0] == "0" and part.isdigit() else part for part in parts)


def natural(number: str) -> Order:
    """A sort key under which numbers compare as numbers and letters as letters."""
    order: list[int | str] = []
    for part in number.split("."):
        for digits, letters in _TOKEN.findall(part):
            if digits or letters:
                order += (int(digits[:18]) if digits else _LAST, letters)
    return tuple(order)


def identify(keys: Iterable[str]) -> dict[str, Identity]:
    """Say what each key of one board names. Which epics the board declares decides how a key is cut:
    `0-5-1-x` is story 1 of epic 0.5 where there is an `epic-0-5`, else story 5 of epic 0."""
    keys = list(keys)
    parts = _PARTS.findall("\n".join(keys))
    odd = [key for key, part in zip(keys, parts, strict=False) if not any(part)]
    epics = {number for key in odd if (number := _epic_number(key)) and not _RETRO.search(key)}
    if epics or len(parts) != len(keys):
        epics.update(number for key in keys if (number := _epic_number(key)) and not _RETRO.search(key))
        return _split_shared({key: _identify_one(key, epics) for key in keys})
    return _split_shared(_identify_regular(keys, parts))


def _identify_regular(keys: list[str], parts: list[tuple[str, ...]]) -> dict[str, Identity]:
    """Boards whose epics have whole numbers: nearly all, and those with thousands of rows."""
    epics = {epic: (int(epic), "") for _, _, _, epic, retro in parts if epic and not retro}
    orders: dict[str, Order] = dict(epics)
    result: dict[str, Identity] = {}
    for key, (first, story, suffix, epic, retro) in zip(keys, parts, strict=True):
        number = first or epic
        if not number:
            result[key] = _identify_one(key, epics)
            continue
        order = orders.get(number)
        if order is None:
            order = orders[number] = (int(number), "")
        if first:
            own = (order, (int(story), suffix))
            result[key] = Identity(Kind.STORY, first, f"{first}.{story}{suffix}", own)
        elif retro:
            result[key] = Identity(Kind.RETROSPECTIVE, epic, epic, (order, (_LAST + 1, "")))
        else:
            result[key] = Identity(Kind.EPIC, epic, epic, (order, ()))
    return result


def _epic_number(key: str) -> str | None:
    match = _EPIC.fullmatch(_RETRO.sub("", key))
    if match is None:
        return None
    label, prefix, number = match.groups()
    return number_of(label or f"{prefix}-{number}")


def _identify_one(key: str, epics: Collection[str]) -> Identity:
    epic = _epic_number(key)
    if _RETRO.search(key):
        number = epic or number_of(_RETRO.sub("", key))
        return Identity(Kind.RETROSPECTIVE, epic, number, (natural(number), (_LAST + 1, "")))
    if epic is not None:
        return Identity(Kind.EPIC, epic, epic, (natural(epic), ()))
    cut = _cut(key, epics)
    if cut is None:
        return Identity(Kind.OTHER, None, key, ((_LAST + 2,), (key,)))
    epic, story = cut
    if epic is None:
        return Identity(Kind.STORY, None, story, ((_LAST + 1,), natural(story)))
    return Identity(Kind.STORY, epic, f"{epic}.{story}", (natural(epic), natural(story)))


def _cut(key: str, epics: Collection[str]) -> tuple[str | None, str] | None:
    """Cut a story key into its epic's number and its own. The longest declared epic that leaves a number wins."""
    tokens = key.split("-")
    for skipped in (0, 1, 2):
        if skipped and not all(token.isalpha() for token in tokens[:skipped]):
            break
        for length in range(min(4, len(tokens) - skipped), 0, -1):
            epic = number_of("-".join(tokens[skipped : skipped + length]))
            story = _story_label(tokens[skipped + length :]) if epic in epics else None
            if story is not None:
                prefix = tokens[:skipped]
                return epic, number_of("-".join([*prefix, story]))
    if len(tokens) > 1 and re.fullmatch(r"\d+[a-z]*", number_of(tokens[0])):
        story = _story_label(tokens[1:])
        if story is not None:
            return number_of(tokens[0]), story
    for index, token in enumerate(tokens[:4]):
        if _PART.fullmatch(token):
            return None, number_of("-".join(tokens[: index + 1]))
    return None


def _story_label(rest: list[str]) -> str | None:
    """The story's own number at the head of what is left: `3`, `4b`, `td.1`, `r1`; None where a slug begins."""
    if not rest:
        return None
    head = rest[0]
    if _PART.fullmatch(head) or re.fullmatch(r"\d+[.·]\d+[a-z]?", head):
        return number_of(head)
    if len(rest) > 1 and head.isalpha() and len(head) <= 3 and rest[1].isdigit():
        return number_of(f"{head}-{rest[1]}")
    return None


def _split_shared(rows: dict[str, Identity]) -> dict[str, Identity]:
    """`1-0-1-…` and `1-0-2-…` share the number 1.0: read one number further, if that tells all of them apart."""
    numbers = [row.number for row in rows.values() if row.kind is Kind.STORY]
    if len(set(numbers)) == len(numbers):
        return rows
    shared: dict[str, list[str]] = {}
    for key, row in rows.items():
        if row.kind is Kind.STORY:
            shared.setdefault(row.number, []).append(key)
    for number, keys in shared.items():
        if len(keys) < 2:
            continue
        longer = {key: _next_number(key, number) for key in keys}
        if None in longer.values() or len(set(longer.values())) < len(keys):
            continue
        for key, more in longer.items():
            row = rows[key]
            rows[key] = row._replace(
                number=f"{number}.{more}", order=(row.order[0], (*row.order[1], int(more or 0), ""))
            )
    return rows


def _next_number(key: str, number: str) -> str | None:
    tokens = _SEPARATORS.split(key)
    used = number.count(".") + 1
    if len(tokens) > used + 1 and tokens[used].isdigit():
        return tokens[used].lstrip("0") or "0"
    return None

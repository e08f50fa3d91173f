"""Identifies keys outside the official grammar: letters, dots, prefixes in numbers, shared or missing numbers."""

import re
from collections.abc import Collection, Iterable

from .keys import LAST, SEPARATORS, RowIdentity, natural_order, normalize_number
from .statuses import RowKind

# `epic-3`, `epic-1a-plus`, `orch-epic-1`; but `3-4-close-epic-2-bugs` is a story.
_EPIC = re.compile(r"epic-(.+)|([a-z][a-z_-]*)-epic-(\d+[a-z]?(?:[.-]\d+)?)", re.IGNORECASE)
_RETRO = re.compile(r"-(?:retrospective|retro)$", re.IGNORECASE)
_PART = re.compile(r"\d+[a-z]?|[a-z]\d+|\d+[a-z]+", re.IGNORECASE)
_DOTTED = re.compile(r"\d+[.·]\d+[a-z]?")


def identify_irregular(keys: Iterable[str]) -> dict[str, RowIdentity]:
    keys = list(dict.fromkeys(keys))
    epics = {number for key in keys if (number := _epic_number(key)) and not _RETRO.search(key)}
    return _split_shared({key: _identify_one(key, epics) for key in keys})


def _epic_number(key: str) -> str | None:
    match = _EPIC.fullmatch(_RETRO.sub("", key))
    if match is None:
        return None
    label, prefix, number = match.groups()
    return normalize_number(label or f"{prefix}-{number}")


def _identify_one(key: str, epics: Collection[str]) -> RowIdentity:
    epic = _epic_number(key)
    cut = _split_key(key, epics) if epic is None else None
    if _RETRO.search(key) and cut is None:
        number = epic or normalize_number(_RETRO.sub("", key))
        return RowIdentity(RowKind.RETROSPECTIVE, epic, number, (natural_order(number), (LAST + 1, "")))
    if epic is not None:
        return RowIdentity(RowKind.EPIC, epic, epic, (natural_order(epic), ()))
    if cut is None:
        return RowIdentity(RowKind.OTHER, None, key, ((LAST + 2,), (key,)))
    epic, story = cut
    if epic is None:
        return RowIdentity(RowKind.STORY, None, story, ((LAST + 1,), natural_order(story)))
    return RowIdentity(RowKind.STORY, epic, f"{epic}.{story}", (natural_order(epic), natural_order(story)))


def _split_key(key: str, epics: Collection[str]) -> tuple[str | None, str] | None:
    """Split a story key into epic and story number. The longest declared epic that leaves a number wins."""
    tokens = key.split("-")
    for skipped in (0, 1, 2):
        if skipped and not all(token.isalpha() for token in tokens[:skipped]):
            break
        for length in range(min(4, len(tokens) - skipped), 0, -1):
            epic = normalize_number("-".join(tokens[skipped : skipped + length]))
            story = _story_label(tokens[skipped + length :]) if epic in epics else None
            if story is not None:
                prefix = tokens[:skipped]
                return epic, normalize_number("-".join([*prefix, story]))
    if len(tokens) > 1 and re.fullmatch(r"\d+[a-z]*", normalize_number(tokens[0])):
        story = _story_label(tokens[1:])
        if story is not None:
            return normalize_number(tokens[0]), story
    for index, token in enumerate(tokens[:4]):
        if _PART.fullmatch(token):
            return None, normalize_number("-".join(tokens[: index + 1]))
    return None


def _story_label(rest: list[str]) -> str | None:
    """The story's own number at the start of the rest: `3`, `4b`, `td.1`, `r1`; None if a slug starts there."""
    if not rest:
        return None
    head = rest[0]
    if _PART.fullmatch(head) or _DOTTED.fullmatch(head):
        return normalize_number(head)
    if len(rest) > 1 and head.isalpha() and len(head) <= 3 and rest[1].isdecimal():
        return normalize_number(f"{head}-{rest[1]}")
    return None


def _split_shared(rows: dict[str, RowIdentity]) -> dict[str, RowIdentity]:
    """`1-0-1-…` and `1-0-2-…` share the number 1.0: add the next number, if that makes all of them unique."""
    shared: dict[str, list[str]] = {}
    for key, row in rows.items():
        if row.kind is RowKind.STORY:
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
    tokens = SEPARATORS.split(key)
    used = number.count(".") + 1
    if len(tokens) > used + 1 and tokens[used].isdecimal():
        return tokens[used].lstrip("0") or "0"
    return None

"""The settings for where a person would be asked: answers given in advance, and what is chosen when nobody is
there."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from ..core.causes import ALL, OFFERS, choices
from ..core.errors import FileError, Place
from ..files import Text
from .schema import KEYS, Key
from .settings_errors import refusal, shown, suggest

MAX_STANDING = 50
MAX_PATTERN = 500

CheckValue = Callable[[Text, str, Key, object], object]

# `(a+)+` takes longer than a night on a text that nearly fits.
_ENDLESS = re.compile(r"[+*}]\)[+*{]")


def check_array(text: Text, name: str, value: object, check_value: CheckValue) -> tuple[dict[str, object], ...]:
    """Each of the tables by the fields of its owner, or a FileError with the line of what is wrong."""
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise refusal(text, name, f"`{name}` must stand in double brackets", f"[[{name}]]", shown(value))
    if len(value) > MAX_STANDING:
        raise refusal(text, name, f"too many tables in `{name}`", f"at most {MAX_STANDING}", str(len(value)))
    return tuple(_row(text, name, number, row, check_value) for number, row in enumerate(value))


def _row(
    text: Text, name: str, number: int, row: Mapping[str, object], check_value: CheckValue
) -> dict[str, object]:
    known = {key.name: key for key in KEYS if key.table == name}
    found: dict[str, object] = {}
    for word, value in row.items():
        full = f"{name}.{word}"
        with _on_line(text, name, number, word):
            if word not in known:
                hint = suggest(word, {one: one for one in known}) or f"here stand: {', '.join(known)}"
                raise refusal(text, full, f"unknown key `{full}`", "", "", hint)
            found[known[word].field] = check_value(text, full, known[word], value)
            if word == "question":
                _check_pattern(text, full, str(value))
    for word in ("question", "answer"):
        with _on_line(text, name, number, ""):
            if word not in row:
                raise refusal(text, f"{name}.{word}", f"`{name}` has no `{word}`", f'{word} = "…"', "")
    return found


@contextmanager
def _on_line(text: Text, table: str, number: int, key: str) -> Iterator[None]:
    """Other tables of the name have the same keys: which of them is meant?"""
    try:
        yield
    except FileError as error:
        error.place = Place(text.path, _line(text.text, table, number, key))
        raise


def _check_pattern(text: Text, full: str, pattern: str) -> None:
    if len(pattern) > MAX_PATTERN:
        found = f"{len(pattern)} characters"
        raise refusal(text, full, f"`{full}` is a long pattern", f"at most {MAX_PATTERN} characters", found)
    if _ENDLESS.search(pattern):
        hint = "repeat what is inside the brackets, or the brackets"
        raise refusal(text, full, f"`{full}` repeats what repeats itself", "", shown(pattern), hint)
    try:
        fits_all = re.compile(pattern).fullmatch("") is not None
    except (re.error, RecursionError, OverflowError) as error:
        expected = "a regular expression"
        raise refusal(text, full, f"`{full}` cannot be read: {error}", expected, shown(pattern)) from None
    if fits_all:
        raise refusal(text, full, f"`{full}` fits any question", "words of the question", shown(pattern))


def check_unattended(text: Text, policy: Mapping[str, str]) -> None:
    known = {ALL: ALL, **{str(cause): str(cause) for cause in OFFERS}}
    for cause, choice in policy.items():
        full = f"unattended.{cause}"
        if cause not in known:
            hint = suggest(cause, known) or "docs/humans.md lists them"
            raise refusal(text, full, f"nobody is ever asked because of `{cause}`", ", ".join(known), "", hint)
        allowed = choices(cause)
        if choice not in allowed:
            alike = suggest(choice, {word: word for word in allowed})
            raise refusal(text, full, f"`{full}` has an unknown value", ", ".join(allowed), shown(choice), alike)


def _line(text: str, table: str, number: int, key: str) -> int | None:
    """The line of a key in the table of that number, else of the table's own head. For messages only."""
    count, head = -1, None
    for at, line in enumerate(text.splitlines(), 1):
        line = line.strip()[:500]
        if line.startswith("["):
            count += line.replace(" ", "").startswith(f"[[{table}]]")
            if count == number and head is None:
                head = at
            elif head is not None:
                return head
        elif head is not None and key and re.match(rf"""["']?{re.escape(key)}["']?\s*=""", line):
            return at
    return head

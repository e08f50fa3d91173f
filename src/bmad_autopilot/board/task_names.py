"""What a task is called: by its file's name, and by whoever needs it."""

import re
from collections.abc import Iterable, Iterator, Mapping

from ..core.keys import number_of

MAX_SLUG = 60
MAX_NEEDS = 200  # that one cell may name

_STEM = re.compile(
    r"(?P<id>(?:[A-Za-z][A-Za-z0-9]{0,15}[-_ ]|[A-Za-z]{1,4})?\d{1,9}[a-z]?)(?:[-_. ]+(?P<slug>\S.*))?"
)
_LEADING = re.compile(r"(?:[A-Za-z][A-Za-z0-9]{0,15}[-_ ]|[A-Za-z]{1,4})?\d{1,9}[a-z]?(?![A-Za-z0-9])")
_RANGE = re.compile(r"([A-Za-z]{0,16}[-_ ]?)(\d{1,9})\s*(?:-|–|—|\.\.+|to)\s*([A-Za-z]{0,16}[-_ ]?)(\d{1,9})")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()]*\)")
_BETWEEN = re.compile(r"[,;&+/]|<br\s*/?>|\band\b", re.IGNORECASE)
_ASIDE = re.compile(r"\([^()]*\)")
_NOTHING = frozenset(
    ("", "-", "–", "—", "none", "no", "nothing", "n/a", "na", "nil", "null", "tbd", "0 dependencies")
)


def split_stem(stem: str) -> tuple[str, str]:
    """`AZ-12_login form` → `AZ-12` and `login-form`; a name without a number is all of both."""
    found = _STEM.fullmatch(stem)
    return (found["id"], slug_of(found["slug"] or "")) if found else (stem, slug_of(stem))


def slug_of(text: str) -> str:
    """As part of a key of the board."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:MAX_SLUG].strip("-")


def says_none(cell: str) -> bool:
    """`—`, `none`, `None (first task)`: that it needs nothing is said."""
    return _bare(_ASIDE.sub("", cell)).lower() in _NOTHING


def named_in(cell: str) -> Iterator[str]:
    """What a cell or a line of dependencies names, one after another."""
    if says_none(cell):
        return
    plain = _LINK.sub(r"\1", cell)
    count = 0
    for part in _BETWEEN.split(_ASIDE.sub("", plain) if _bare(_ASIDE.sub("", plain)) else plain.strip("() ")):
        word = _bare(part)
        if word.lower() in _NOTHING:
            continue
        count += 1
        if count > MAX_NEEDS:
            return
        yield word


def resolve(word: str, known: Mapping[str, str]) -> list[str]:
    """The numbers that a word stands for; none: nobody is called so. `known`: what tasks are called → number."""
    for name in _names(word):
        if name in known:
            return [known[name]]
    span = _RANGE.fullmatch(word)
    if span is None or (span[3] and number_of(span[3]) != number_of(span[1])):
        return []
    first, last = int(span[2]), int(span[4])
    inside = {number for name, number in known.items() if _is_within(name, number_of(span[1]), first, last)}
    return sorted(inside) if first < last else []


def _names(word: str) -> Iterable[str]:
    """By the whole of it first: `01_login` before `01`; last without a word such as `Task`."""
    yield number_of(word)
    leading = _LEADING.match(word)
    if leading is not None and not _RANGE.fullmatch(word):
        yield number_of(leading[0])
    bare = re.sub(r"^(?:task|story|no|nr)?[-_. #]*(?=\d)", "", word, flags=re.IGNORECASE)
    if bare != word:
        yield number_of(bare)


def _is_within(name: str, prefix: str, first: int, last: int) -> bool:
    head, _, digits = name.rpartition(".")
    return head == prefix and digits.isdigit() and first <= int(digits[:18]) <= last


def _bare(text: str) -> str:
    return text.strip(" \t\r\n`*_[]\"'.#")

"""Matches a file name to a story: by the key in the name, else by its number."""

import re
from collections.abc import Iterable, Mapping

from ..core.keys import SEPARATORS, normalize_number

_REGULAR = re.compile(r"(\d{1,6})[-._](\d{1,6}[a-z]?)(?=[-._ ]|$)", re.IGNORECASE)
_PREFIX = re.compile(r"(?:story|us|user-story)[-_. ]+(?=\d)", re.IGNORECASE)
_NESTED = re.compile(
    r"(?:epic|e)[-_. ]?(\d+[a-z]?)[-_. ]+(?:story|s)[-_. ]?(\d+[a-z]?)(?=[-._ ]|$)", re.IGNORECASE
)
_DATED = re.compile(r"\d{4}-\d{2}-\d{2}")
# Never the story itself, whatever its slug: `1-2-login.context.md`, `1-2-login-validation-report.md`.
_COMPANION = re.compile(
    r"\.(?:context|validation|review|retro|notes|summary|qa|gate|plan|agent-state)$"
    r"|[-_.](?:validation-report|tech-spec|retro(?:spective)?|story-context|code-review|completion-report"
    r"|test-(?:report|summary|plan)|readiness-report)(?:[-_.]?\d{4}-?\d{2}-?\d{2})?$",
    re.IGNORECASE,
)
# Companions only if the story's own file exists too: a slug may end in `-validation`.
_POSSIBLE_COMPANION = re.compile(
    r"[-_.](?:validation|context|review|report|summary|checklist|notes|plan)$", re.IGNORECASE
)


# A further part of a number: `5-6-1-x` is not story 5.6, and `5-2-b-x` is not story 5.2. `404` starts a slug. So
# does a letter that is a word (`41-1-a-profile`), unless there is a sibling such as `41-1-b-…`.
_FURTHER = re.compile(r"\d{1,2}[a-z]?|[a-z]")
_WORDS = frozenset("aeiouy")
_LETTERED = re.compile(r"(.*?\d)[-._·\s]+[b-df-hj-np-tv-xz][-._·\s]", re.IGNORECASE)
MAX_PARTS = 8


class StoryFileMatcher:
    """Maps a file's stem to the key in it, or to its number and the rows that have it."""

    def __init__(self, numbers: Mapping[str, str], stems: Iterable[str] = ()) -> None:
        """`numbers`: the number of each story key. `stems`: of all files."""
        self._keys = numbers
        lettered = map(_LETTERED.match, (*numbers, *map(_without_prefix, stems)))
        self._lettered = {normalize_number(found[1]) for found in lettered if found}
        self._spelled: dict[str, str | None] | None = None
        self._written: dict[str, str] = {}
        self._rows: dict[str, list[str]] | None = None

    def key(self, stem: str) -> str | None:
        """The key in this name, whatever its case, separators and prefix: `Story 1.2 - Sign in`."""
        if stem in self._keys:
            return stem
        if self._spelled is None:
            self._spelled = {}
            for key in self._keys:
                plain = _normalize(key)
                self._spelled[plain] = None if plain in self._spelled else key  # two keys: neither
        return self._spelled.get(_normalize(stem)) or self._spelled.get(_normalize(_without_prefix(stem)))

    def number(self, stem: str) -> str | None:
        """The full number at the start of this name, split like the board's keys."""
        if _COMPANION.search(stem) or _DATED.match(stem) or self._is_companion(stem):
            return None
        stem = _without_prefix(stem)
        parts = _parts(stem)
        written = self._index()[1]
        for length in range(len(parts), 0, -1):
            found = written.get(normalize_number("-".join(parts[:length])))
            if found is not None:
                return self._full_number(found, parts, length)
        return self._full_number(normalize_number("-".join(parts[:2])), parts, 2) if _REGULAR.match(stem) else None

    def rows(self, number: str) -> list[str]:
        """The keys of the rows that have this number."""
        return self._index()[0].get(number, [])

    def _is_companion(self, stem: str) -> bool:
        """`1-2-login-review` is a companion if there is a row 1-2-login."""
        story = _POSSIBLE_COMPANION.sub("", stem)
        return story != stem and self.key(story) is not None

    def _index(self) -> tuple[dict[str, list[str]], dict[str, str]]:
        """Rows by number; each number also as written in its key: `td.15b.3` for `TD-15b-3-x`, story 15b.td.3.

        A single part that starts with a letter is a label, not a number: one `v2-…` is unrelated to another."""
        if self._rows is None:
            self._rows = {}
            for key, short in self._keys.items():
                parts = _parts(key)
                own = short.count(".") + 1
                number = self._full_number(short, parts, own)
                if "." in number or number[:1].isdigit():
                    self._rows.setdefault(number, []).append(key)
                    self._written[number] = number
                    self._written.setdefault(
                        self._full_number(normalize_number("-".join(parts[:own])), parts, own), number
                    )
        return self._rows, self._written

    def _full_number(self, number: str, parts: list[str], own: int) -> str:
        """`number`, made of the first `own` parts, plus its further parts. A letter at the end is a slug."""
        for at, part in enumerate(parts[own:], own):
            is_word = part in _WORDS and normalize_number("-".join(parts[:at])) not in self._lettered
            if not _FURTHER.fullmatch(part) or is_word or (part.isalpha() and at == len(parts) - 1):
                break
            number += f".{normalize_number(part)}"
        return number


def without_companions(paths: list[str]) -> list[str]:
    """The files that are no companions; all files if every one is."""
    return [path for path in paths if not _POSSIBLE_COMPANION.search(path[:-3])] or paths


def _without_prefix(stem: str) -> str:
    """`story-1.2-login` and `epic-1-story-2-login` without the words."""
    if (nested := _NESTED.match(stem)) is not None:
        return f"{nested[1]}-{nested[2]}{stem[nested.end() :]}"
    prefix = _PREFIX.match(stem)
    return stem[prefix.end() :] if prefix is not None else stem


def _parts(text: str) -> list[str]:
    return [part for part in SEPARATORS.split(text.lower(), maxsplit=MAX_PARTS) if part][:MAX_PARTS]


def _normalize(text: str) -> str:
    return "-".join(part for part in SEPARATORS.split(text.lower()) if part)

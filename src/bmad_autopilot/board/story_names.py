"""Which story a file is about, told by its name alone where the name is no key of the board."""

import re
from collections.abc import Mapping

from ..core.keys import SEPARATORS, number_of

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
# Companions only where the story's own file stands beside them: a slug may well end in `-validation`.
_PERHAPS = re.compile(r"[-_.](?:validation|context|review|report|summary|checklist|notes|plan)$", re.IGNORECASE)


class Matcher:
    """From a file's stem to the number of the story it is about."""

    def __init__(self, numbers: Mapping[str, str]) -> None:
        self._keys = numbers
        self._declared = set(numbers.values())
        self._written: dict[str, str] | None = None

    def number(self, stem: str) -> str | None:
        if _COMPANION.search(stem) or _DATED.match(stem):
            return None
        if (nested := _NESTED.match(stem)) is not None:
            stem = f"{nested[1]}-{nested[2]}"
        elif (prefix := _PREFIX.match(stem)) is not None:
            stem = stem[prefix.end() :]
        regular = _REGULAR.match(stem)
        number = number_of(f"{regular[1]}.{regular[2]}") if regular else None
        if regular is not None and number in self._declared and not stem[regular.end() + 1 :][:1].isdigit():
            return number
        return self._longest(stem) or number

    def _longest(self, stem: str) -> str | None:
        """The longest run of leading parts that is a number of the board: `0-5-1-x` is 0.5.1 where that is one."""
        written = self._written if self._written is not None else self._index()
        parts = [part for part in SEPARATORS.split(stem, maxsplit=6) if part][:6]
        for length in range(len(parts), 0, -1):
            number = written.get(number_of("-".join(parts[:length])))
            if number is not None:
                return number
        return None

    def _index(self) -> dict[str, str]:
        """Each number, also as its key writes it: `td.15b.3` for `TD-15b-3-cleanup`, whose number is 15b.td.3."""
        self._written = {number: number for number in self._declared}
        for key, number in self._keys.items():
            parts = SEPARATORS.split(key, maxsplit=8)[: number.count(".") + 1]
            self._written.setdefault(number_of("-".join(parts)), number)
        return self._written


def without_companions(paths: list[str], *, beside: bool = False) -> list[str]:
    """The story's own files. `beside`: one of them is known already."""
    own = [path for path in paths if not _PERHAPS.search(path[:-3])]
    return own if own or beside else paths

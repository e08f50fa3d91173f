"""Commands we tell people to type. What comes from a file is quoted: a key may hold more than letters."""

import re

_SAFE = re.compile(r"[\w.-]+", re.ASCII)


def command(*words: str) -> str:
    return " ".join(["bmad", *(word if _SAFE.fullmatch(word) else _quoted(word) for word in words)])


def _quoted(word: str) -> str:
    from shlex import quote

    return quote(word)

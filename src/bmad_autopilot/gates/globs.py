"""Paths by pattern: `*` stays in a folder, `**` does not, a folder stands for all below it."""

import re
from collections.abc import Iterable
from functools import lru_cache

MAX_GLOB = 500


@lru_cache(maxsize=512)
def _compiled(glob: str) -> re.Pattern[str]:
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", glob[:MAX_GLOB].removeprefix("./").removeprefix("/"))
    meaning = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(meaning.get(piece) or re.escape(piece) for piece in pieces).removesuffix("/")
    # Case apart: on a file system that does not tell them apart `.GitHub/` is `.github/`.
    return re.compile(rf"{body}(?:/.*)?", re.IGNORECASE | re.DOTALL)


def matches(path: str, globs: Iterable[str]) -> bool:
    return any(glob.strip() and _compiled(glob).fullmatch(path) is not None for glob in globs)

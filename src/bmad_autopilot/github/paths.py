"""Paths as git has them: bytes from the top of the work tree, in which anything but NUL may stand."""

import re
from collections.abc import Iterable, Sequence

MOST_SHOWN = 5

_DOT_GIT = re.compile(
    r"(?:\.git|git~1)[. ]*(?::.*)?\Z", re.IGNORECASE | re.DOTALL
)  # as other file systems read it
_SEPARATORS = re.compile(r"[/\\]")


def decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """Byte for byte as git gave it. Half a surrogate pair from JSON is no path: it becomes `?`."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def join(paths: Iterable[str]) -> bytes:
    """As git reads a list with -z."""
    return b"".join(encode(path) + b"\0" for path in paths)


def is_inside(path: str) -> bool:
    """Does it name something below the top, and nothing of git's own?"""
    return bool(path) and "\0" not in path and all(map(_is_name, path.split("/")))


def _is_name(part: str) -> bool:
    return part not in ("", ".", "..") and not any(_DOT_GIT.match(name) for name in _SEPARATORS.split(part))


def show(paths: Sequence[str]) -> str:
    """A few of them, for a person."""
    shown = ", ".join(encode(path).decode("utf-8", "replace") for path in paths[:MOST_SHOWN])
    return shown + (f" and {len(paths) - MOST_SHOWN} more" if len(paths) > MOST_SHOWN else "")

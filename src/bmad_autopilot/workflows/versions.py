"""BMAD's version numbers, as far as skills differ by them."""

import re

Version = tuple[int, ...]

NEWEST: Version = (1 << 30,)
_NUMBERS = re.compile(r"[^\d\n]{0,20}(\d{1,6}(?:\.\d{1,6}){0,3})")


def version_of(text: str) -> Version:
    """`6.0.0-alpha.12` → (6, 0, 0). What is no version counts as the newest."""
    match = _NUMBERS.match(text)
    return tuple(int(part) for part in match[1].split(".")) if match else NEWEST

"""A strict line scanner for the regular part of YAML: `key: value` lines, one level of nesting, comments.

It either gives exactly what a YAML parser gives, or gives up (None) on anything unusual. Most real boards and
configuration files take it; it needs neither PyYAML's import nor half of its time.
"""

import re
from typing import NamedTuple

Line = tuple[str, str | None, int]  # key, value, line number


class Flat(NamedTuple):
    top: list[Line]
    nested: dict[str, list[Line]]  # by the top-level key that opens the block


# Line breaks and characters on which YAML and a line reader could disagree, or which YAML forbids.
_UNUSUAL = re.compile("[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]|\r(?!\n)")

_PLAIN = r"[\w/.][^\s:#]*+(?:(?:[ ]++(?=[^#\s])|:(?=\S)|\#)[^\s:#]*+)*+"
_LINE = (
    r"^(?:([ ]*+)(\w[\w.·-]{0,900}+):(?:[ ]++([a-z][a-z-]*+(?=\n)|"
    + _PLAIN
    + r'|"[^"\\\n]*+"|'
    + r"'[^'\n]*+'))?+"
    r"(?:[ ]++(?:\#.*+)?)?+|[ ]*+(?:\#.*+)?)\r?$"
)
_ASCII_LINE = re.compile(_LINE, re.VERBOSE | re.MULTILINE | re.ASCII)


def _line_pattern(text: str) -> re.Pattern[str]:
    """For most boards the quicker one; the other is compiled when a board needs it."""
    return _ASCII_LINE if text.isascii() else re.compile(_LINE, re.VERBOSE | re.MULTILINE)


_NULLS = {"null": None, "Null": None, "NULL": None, "": None}


def scan(text: str) -> Flat | None:
    """Read flat YAML, or give up."""
    plain = text.isascii() and text.replace("\n", "").isprintable()
    if not plain and _UNUSUAL.search(text):
        return None
    lines: list[tuple[str, str, str]] = _line_pattern(text).findall(text)
    if len(lines) != text.count("\n") + 1:  # each line matches once or not at all
        return None
    top: list[Line] = []
    nested: dict[str, list[Line]] = {}
    values: dict[str, str | None] = dict(_NULLS)
    block: list[Line] | None = None
    seen: set[str] = set()
    depth = ""
    for number, (indent, key, token) in enumerate(lines, 1):
        if not key:
            continue
        if key in _NULLS:  # YAML reads no text here
            return None
        if token not in values:
            values[token] = token[1:-1] if token[0] in "\"'" else token
        if indent:
            if indent != depth:
                if block is None or depth:
                    return None
                depth = indent
            assert block is not None
            block.append((key, values[token], number))
        else:
            if key in seen and (key in nested or not token):
                return None  # a block that comes twice, or is overridden
            seen.add(key)
            top.append((key, values[token], number))
            block, depth = None, ""
            if not token:
                block = nested[key] = []
    return Flat(top, {key: block for key, block in nested.items() if block})


def value_span(text: str, number: int) -> tuple[int, int]:
    """Where the value's token stands, quotes included, on a line that `scan` has read."""
    start = len(text) - len(text.split("\n", number - 1)[-1])
    match = _line_pattern(text).match(text, start)
    assert match is not None
    if match[3] is None:
        return match.end(2) + 1, match.end(2) + 1
    return match.span(3)


def comment_of(line: str) -> str | None:
    """The comment behind the value of a `key: value` line: the first # after a blank, outside quotes."""
    quote = ""
    for index, char in enumerate(line):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'" and line[:index].rstrip()[-1:] in ("", ":"):
            quote = char
        elif char == "#" and line[index - 1 : index] in (" ", "\t"):
            return line[index:].strip("# \t\r") or None
    return None

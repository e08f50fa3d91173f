"""A strict line scanner for simple YAML: `key: value` lines, one level of nesting, comments.

It returns exactly what a YAML parser would, or None for anything unusual. It reads most real boards and
configuration files, in less than half of PyYAML's time and without importing it."""

import re
from typing import NamedTuple

FlatLine = tuple[str, str | None, int]  # key, value, line number


class FlatYaml(NamedTuple):
    top: list[FlatLine]
    nested: dict[str, list[FlatLine]]  # by the top-level key that opens the block


# Line breaks and characters that YAML forbids or treats differently from a line reader.
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
    """The faster ASCII pattern for most boards; the other one is compiled only when needed."""
    return _ASCII_LINE if text.isascii() else re.compile(_LINE, re.VERBOSE | re.MULTILINE)


_NULL_VALUES = {"null": None, "Null": None, "NULL": None, "": None}


def scan_yaml(text: str) -> FlatYaml | None:
    """Read flat YAML; None if it needs a real parser."""
    plain = text.isascii() and text.replace("\n", "").isprintable()
    if not plain and _UNUSUAL.search(text):
        return None
    lines: list[tuple[str, str, str]] = _line_pattern(text).findall(text)
    if len(lines) != text.count("\n") + 1:  # each line matches once or not at all
        return None
    top: list[FlatLine] = []
    nested: dict[str, list[FlatLine]] = {}
    values: dict[str, str | None] = dict(_NULL_VALUES)
    block: list[FlatLine] | None = None
    seen: set[str] = set()
    depth = ""
    for number, (indent, key, token) in enumerate(lines, 1):
        if not key:
            continue
        if key in _NULL_VALUES:  # YAML does not read this key as text
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
                return None  # a repeated or overridden block
            seen.add(key)
            top.append((key, values[token], number))
            block, depth = None, ""
            if not token:
                block = nested[key] = []
    return FlatYaml(top, {key: block for key, block in nested.items() if block})


def value_span(text: str, number: int) -> tuple[int, int]:
    """The span of the value's token, quotes included, on a line read by `scan_yaml`."""
    start = len(text) - len(text.split("\n", number - 1)[-1])
    match = _line_pattern(text).match(text, start)
    assert match is not None
    if match[3] is None:
        return match.end(2) + 1, match.end(2) + 1
    return match.span(3)


def line_comment(line: str) -> str | None:
    """The comment after the value of a `key: value` line: from the first # after a blank, outside quotes."""
    quote = ""
    for index, char in enumerate(line):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'" and line[:index].rstrip()[-1:] in ("", ":"):
            quote = char
        elif char == "#" and line[index - 1 : index] in (" ", "\t"):
            return line[index:].strip("# \t\r") or None
    return None

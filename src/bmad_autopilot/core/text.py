"""Makes untrusted text safe to show: no terminal control, no hidden characters, one line, a bounded length.

Titles, paths, error messages, answers and output come from files, agents and other people. This module alone
decides which of their characters reach a terminal, a log, a message, a prompt or a page. Layers above add what
their reader acts on: mentions in a prompt (workflows/contract.py), Markdown (github/untrusted_text.py)."""

import re
import unicodedata

MAX_LINE = 2000  # characters of a line without a limit of its own

# Escape sequences, also in the 8-bit form: colours and cursor; titles and links, with their text; the rest.
_ESCAPES = (
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"
    "|(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?"
    "|\x1b[ -/]*[0-~]?"
)
_BREAKS = "\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]"
# Invisible, though in none of the categories of control and format characters: fillers, variation selectors, tags.
_INVISIBLE = (
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\ufffe\uffff"
    "\U000e0000-\U000e0fff]"
)
# Direction marks reorder what a reader sees. A lone surrogate cannot be encoded.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def printable(text: str) -> str:
    """For a terminal: each control character and direction mark becomes `�`, so that it does not vanish unseen."""
    return _CONTROL.sub("�", text)


def without_controls(text: str, replacement: str = "") -> str:
    """Lines ended by `\\n`, tabs, and otherwise no control character and no direction mark. Joiners, which scripts
    and emoji need, stay."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub(lambda found: found[0] if found[0] in "\n\t" else replacement, text)


def clip(text: str, limit: int) -> str:
    """At most `limit` characters; a cut is marked with `…`."""
    return text if len(text) <= limit else f"{text[: max(0, limit - 1)]}…"


def one_line(text: str, limit: int = MAX_LINE) -> str:
    """One printable line of at most `limit` characters: escape sequences are removed, line breaks and other
    unprintable characters separate words, and words are separated by one space."""
    if not text.isascii() or not text.isprintable():
        # Four times the limit: enough to fill the line in spite of what is removed.
        text = without_escapes(text[: 4 * limit])
        text = "".join(char if char.isprintable() else " " for char in text)
    return clip(" ".join(text.split()), limit)


def visible(text: str) -> str:
    """The lines a reader sees, of any length: without escape sequences and hidden characters. Tabs stay; a lone
    surrogate becomes `�`. Idempotent."""
    if text.isascii() and text.isprintable():
        return text
    text = re.sub(_BREAKS, "\n", without_escapes(text)).translate(_VISIBLE)
    return text if text.isascii() else re.sub(_INVISIBLE, "", text)


def without_escapes(text: str) -> str:
    return re.sub(_ESCAPES, "", text)


class _VisibleCharacters(dict[int, str | None]):
    """Table for str.translate, filled as characters occur."""

    def __missing__(self, code: int) -> str | None:
        letter = chr(code)
        kind = unicodedata.category(letter)
        self[code] = found = "\ufffd" if kind == "Cs" else None if kind in ("Cc", "Cf") else letter
        return found


_VISIBLE = _VisibleCharacters({9: "\t", 10: "\n"})

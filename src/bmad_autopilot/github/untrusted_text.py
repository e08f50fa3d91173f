"""Sanitises untrusted text for prompts, and our own text for GitHub.

Text for a prompt has no hidden characters and a bounded length; the prompt adds the fence (workflows/contract.py).
Text for GitHub triggers nothing there: no mentions, no closing of issues, no bot commands, no HTML comments except
the marker by which we find our own comments; and no secrets."""

import re
import unicodedata

from ..agents.shim.redact import redact
from ..git.history import split_trailers

MAX_LINE = 1000
MAX_BODY = 60_000  # characters; GitHub allows 65,536
MAX_TITLE = 250  # GitHub allows 256

_CUT = "… ({} letters left out)"
_CUT_ROOM = len(_CUT) + 12

_ANSI = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor
    "|(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?"  # titles, links
    "|\x1b[ -/]*[0-~]?"
)
_COMMENT = re.compile(r"<!--.*?(?:--!?>|\Z)", re.DOTALL)
_BREAKS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Invisible characters outside the Unicode categories Cc and Cf: fillers, joiners, variation selectors, tags.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\ufffe\uffff"
    "\U000e0000-\U000e0fff]"
)

_KEY = "[!-;=?-~]{1,300}"  # also matches GitHub's ids: `PRRT_kwDO--x_`, `MDExOlB1bGw=`
_MARKER = re.compile(f"<!-- bmad-autopilot:{_KEY} -->")
_REFERENCE = re.compile(r"&(?!(?:amp|lt|gt|quot);)(?=#?[A-Za-z0-9]+;)")
_MENTION = re.compile(r"(?<![A-Za-z0-9])@")  # an email address has a letter before it
_CLOSING = re.compile(
    r"\b(close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b([\s:*_`~(\[<\\]+)"
    r"(?:https?://[^\s/]+/([\w.-]+/[\w.-]+)/(?:issues|pull)/|([\w.-]+/[\w.-]+)?#|GH-)(\d+)",
    re.IGNORECASE,
)
_COMMAND = re.compile(r"^([^\S\n]*)/(?=\S)", re.MULTILINE)


class _VisibleCharacters(dict[int, str | None]):
    """Table for str.translate: drops invisible characters, replaces lone surrogates."""

    def __missing__(self, code: int) -> str | None:
        letter = chr(code)
        kind = unicodedata.category(letter)
        self[code] = found = "\ufffd" if kind == "Cs" else None if kind in ("Cc", "Cf") else letter
        return found


_VISIBLE_CHARACTERS = _VisibleCharacters({9: "\t", 10: "\n"})


def clean_text(text: str, limit: int, *, rendered: bool = True) -> str:
    """The visible text, at most `limit` characters. Idempotent. `rendered`: GitHub shows it as Markdown, where
    HTML comments are hidden; in a log or in code they are not."""
    seen = _visible(text)
    lines = (_without_comments(seen) if rendered else seen).split("\n")
    whole = "\n".join(_cut(line.rstrip(), MAX_LINE) for line in lines)
    return _cut(whole.strip("\n"), limit)


def one_line(text: str, limit: int) -> str:
    """One visible line, for names and titles."""
    return _cut(" ".join(_without_comments(_visible(text)).split()), limit)


def marker(key: str) -> str:
    """The HTML comment at the end of our posts, by which we find them again."""
    made = f"<!-- bmad-autopilot:{key} -->"
    assert _MARKER.fullmatch(made), key
    return made


def outgoing_text(text: str) -> str:
    """Untrusted text made safe to post, without HTML comments: a marker in it would be forged."""
    return _cut(_sanitise(text).rstrip(), MAX_BODY)


def outgoing_body(text: str) -> str:
    """A complete post of ours: the same, but keeps the marker at the very end."""
    text = text.rstrip()
    last = text[text.rfind("<!--") :] if "<!--" in text else ""
    kept = last if _MARKER.fullmatch(last) else ""
    content = _sanitise(text[: len(text) - len(kept)]).rstrip()
    room = MAX_BODY - len(kept) - 2
    content = _cut(content, room)
    return "\n\n".join(part for part in (content, kept) if part)


def outgoing_message(text: str) -> str:
    """Body of a commit made by GitHub: the same, but our trailers at the end keep their values."""
    content, trailers = split_trailers(text)
    return "\n\n".join(part for part in (outgoing_body(content), _neutralise(trailers)) if part)


def outgoing_line(text: str) -> str:
    """The same for a title, on one line."""
    return _cut(" ".join(_sanitise(" ".join(text.split())).split()), MAX_TITLE)


def _sanitise(text: str) -> str:
    """Redacts first: neutralising mentions would hide some secrets from the redactor."""
    return _neutralise(redact(_without_comments(_visible(text))))


def _neutralise(text: str) -> str:
    visible = _without_comments(_visible(text))
    visible = _REFERENCE.sub("&amp;", visible)  # `&#64;` is a mention too
    visible = _MENTION.sub("＠", visible)
    visible = _CLOSING.sub(_defuse_closing, visible)
    return _COMMAND.sub(r"\1\\/", visible)


def _defuse_closing(found: re.Match[str]) -> str:
    """Rewrites `fixes #12` so that no forge acts on it."""
    where = found[3] or found[4]
    return f"{found[1]}{found[2]}no. {found[5]}{f' of {where}' if where else ''}"


def _visible(text: str) -> str:
    text = _BREAKS.sub("\n", _ANSI.sub("", text))
    return _INVISIBLE.sub("", text.translate(_VISIBLE_CHARACTERS))


def _without_comments(text: str) -> str:
    for _ in range(8):  # removing one may create another
        if "<!--" not in text:
            return text
        text = _COMMENT.sub("", text)
    return text.replace("<!--", "<! --")


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    kept = max(0, limit - _CUT_ROOM)
    return f"{text[:kept]}{_CUT.format(len(text) - kept)}"[:limit]

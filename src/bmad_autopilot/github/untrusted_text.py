"""Sanitises untrusted text for prompts, and our own text for GitHub.

Text for a prompt has no hidden characters and a bounded length; the prompt adds the fence (workflows/contract.py).
Text for GitHub triggers nothing there: no mentions, no closing of issues, no bot commands, no HTML comments except
the marker by which we find our own comments; and no secrets."""

import re

from ..agents.shim.redact import redact
from ..core.text import visible
from ..git.history import split_trailers

MAX_LINE = 1000
MAX_BODY = 60_000  # characters; GitHub allows 65,536
MAX_TITLE = 250  # GitHub allows 256

_CUT = "… ({} letters left out)"
_CUT_ROOM = len(_CUT) + 12

_COMMENT = re.compile(r"<!--.*?(?:--!?>|\Z)", re.DOTALL)

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


def clean_text(text: str, limit: int, *, rendered: bool = True) -> str:
    """The visible text, at most `limit` characters. Idempotent. `rendered`: GitHub shows it as Markdown, where
    HTML comments are hidden; in a log or in code they are not."""
    seen = visible(text)
    lines = (_without_comments(seen) if rendered else seen).split("\n")
    whole = "\n".join(_cut(line.rstrip(), MAX_LINE) for line in lines)
    return _cut(whole.strip("\n"), limit)


def clean_line(text: str, limit: int) -> str:
    """One visible line, for names and titles."""
    return _cut(" ".join(_without_comments(visible(text)).split()), limit)


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
    return _neutralise(redact(_without_comments(visible(text))))


def _neutralise(text: str) -> str:
    shown = _without_comments(visible(text))
    shown = _REFERENCE.sub("&amp;", shown)  # `&#64;` is a mention too
    shown = _MENTION.sub("＠", shown)
    shown = _CLOSING.sub(_defuse_closing, shown)
    return _COMMAND.sub(r"\1\\/", shown)


def _defuse_closing(found: re.Match[str]) -> str:
    """Rewrites `fixes #12` so that no forge acts on it."""
    where = found[3] or found[4]
    return f"{found[1]}{found[2]}no. {found[5]}{f' of {where}' if where else ''}"


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

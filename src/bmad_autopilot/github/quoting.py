"""Other people's words on their way into a prompt, and ours on their way to GitHub.

Into a prompt they go as data, with nothing hidden in them and within bounds; the fence around them is the prompt's
(workflows/quoting.py). To GitHub nothing goes that starts something there: no mention, no closing of issues, no
command to a bot, no hidden remark but the marker by which we find our own comments again; and no secret."""

import re
import unicodedata

from ..agents.shim.redaction import redact
from .messages import split_trailers

MAX_LINE = 1000
MAX_BODY = 60_000  # letters; GitHub takes 65,536
MAX_TITLE = 250  # GitHub takes 256

_CUT = "… ({} letters left out)"
_CUT_ROOM = len(_CUT) + 12

_ANSI = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor
    "|(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?"  # titles, links
    "|\x1b[ -/]*[0-~]?"
)
_COMMENT = re.compile(r"<!--.*?(?:--!?>|\Z)", re.DOTALL)
_BREAKS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Nothing to see, and not of the category that says so: fillers, joiners, variation selectors, tags.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\ufffe\uffff"
    "\U000e0000-\U000e0fff]"
)

_KEY = "[!-;=?-~]{1,300}"  # GitHub's own ids too: `PRRT_kwDO--x_`, `MDExOlB1bGw=`
_MARKER = re.compile(f"<!-- bmad-autopilot:{_KEY} -->")
_REFERENCE = re.compile(r"&(?!(?:amp|lt|gt|quot);)(?=#?[A-Za-z0-9]+;)")
_MENTION = re.compile(r"(?<![A-Za-z0-9])@")  # in an address of mail a letter stands before it
_CLOSING = re.compile(
    r"\b(close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b([\s:*_`~(\[<\\]+)"
    r"(?:https?://[^\s/]+/([\w.-]+/[\w.-]+)/(?:issues|pull)/|([\w.-]+/[\w.-]+)?#|GH-)(\d+)",
    re.IGNORECASE,
)
_COMMAND = re.compile(r"^([^\S\n]*)/(?=\S)", re.MULTILINE)


class _Seen(dict[int, str | None]):
    """For str.translate: every letter that cannot be seen is left out, half a letter becomes a mark."""

    def __missing__(self, code: int) -> str | None:
        letter = chr(code)
        kind = unicodedata.category(letter)
        self[code] = found = "\ufffd" if kind == "Cs" else None if kind in ("Cc", "Cf") else letter
        return found


_SEEN = _Seen({9: "\t", 10: "\n"})


def clean_text(text: str, limit: int, *, rendered: bool = True) -> str:
    """What a person would see of it, and at most `limit` letters. A second time, it stays as it is. `rendered`:
    GitHub shows it as Markdown, where HTML comments are hidden; in a log or in code they are not."""
    seen = _visible(text)
    lines = (_without_comments(seen) if rendered else seen).split("\n")
    whole = "\n".join(_cut(line.rstrip(), MAX_LINE) for line in lines)
    return _cut(whole.strip("\n"), limit)


def one_line(text: str, limit: int) -> str:
    """For names and titles."""
    return _cut(" ".join(_without_comments(_visible(text)).split()), limit)


def marker(key: str) -> str:
    """The hidden remark at the end of what we post, to find it again by."""
    made = f"<!-- bmad-autopilot:{key} -->"
    assert _MARKER.fullmatch(made), key
    return made


def outgoing(text: str) -> str:
    """Somebody's words, fit to be posted, without any hidden remark: a marker among them is forged."""
    return _cut(_harmless(text).rstrip(), MAX_BODY)


def outgoing_body(text: str) -> str:
    """A whole post of ours: the same, but a marker at the very end stays. That is where we put it."""
    text = text.rstrip()
    last = text[text.rfind("<!--") :] if "<!--" in text else ""
    kept = last if _MARKER.fullmatch(last) else ""
    said = _harmless(text[: len(text) - len(kept)]).rstrip()
    room = MAX_BODY - len(kept) - 2
    said = _cut(said, room)
    return "\n\n".join(part for part in (said, kept) if part)


def outgoing_message(text: str) -> str:
    """The body of a commit that GitHub makes: the same, and our trailers at its end keep their values."""
    said, trailers = split_trailers(text)
    return "\n\n".join(part for part in (outgoing_body(said), _tame(trailers)) if part)


def outgoing_line(text: str) -> str:
    """The same for a title."""
    return _cut(" ".join(_harmless(" ".join(text.split())).split()), MAX_TITLE)


def _harmless(text: str) -> str:
    """Secrets go first: what is done to mentions and the like would hide some of them from us."""
    return _tame(redact(_without_comments(_visible(text))))


def _tame(text: str) -> str:
    said = _without_comments(_visible(text))
    said = _REFERENCE.sub("&amp;", said)  # `&#64;` is a mention too
    said = _MENTION.sub("＠", said)
    said = _CLOSING.sub(_named, said)
    return _COMMAND.sub(r"\1\\/", said)


def _named(found: re.Match[str]) -> str:
    """`fixes #12` with words that no forge acts on."""
    where = found[3] or found[4]
    return f"{found[1]}{found[2]}no. {found[5]}{f' of {where}' if where else ''}"


def _visible(text: str) -> str:
    text = _BREAKS.sub("\n", _ANSI.sub("", text))
    return _UNSEEN.sub("", text.translate(_SEEN))


def _without_comments(text: str) -> str:
    for _ in range(8):  # taking one out may put another together
        if "<!--" not in text:
            return text
        text = _COMMENT.sub("", text)
    return text.replace("<!--", "<! --")


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    kept = max(0, limit - _CUT_ROOM)
    return f"{text[:kept]}{_CUT.format(len(text) - kept)}"[:limit]

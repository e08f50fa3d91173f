"""A commit's message from text that others wrote: a story's title may hold line breaks, or look like a trailer."""

import re
from collections.abc import Mapping

from ..agents.shim.redaction import redact
from .git import GitError

STEP = "Autopilot-Step"
RUN = "Autopilot-Run"
MAX_SUBJECT = 200
MAX_BODY = 16 * 1024
MAX_VALUE = 500
_UNSAID = "Autopilot"

_OWN_TRAILER = re.compile(rf"(?:{STEP}|{RUN}): \S[^\n]{{0,{MAX_VALUE}}}")
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9-]*\Z")
# All control characters, the invisible ones that turn text round, and halves of surrogate pairs.
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")

_CUT = re.compile("(?<=-{24} )>8(?= -{24})")  # below such a line git sees no trailer


def write_message(message: str, trailers: Mapping[str, str]) -> str:
    """Subject, body, and the trailers as a paragraph of their own, whatever the body ends with. Secrets go before
    anything is cut: half a secret would not be recognised."""
    subject, _, body = redact(_clean(message)).strip().partition("\n")
    parts = [subject.strip()[:MAX_SUBJECT] or _UNSAID]
    if body.strip():
        parts.append(body.strip()[:MAX_BODY])
    if trailers:
        parts.append("\n".join(f"{_key(key)}: {trailer_value(value)}" for key, value in trailers.items()))
    return "\n\n".join(parts) + "\n"


def split_trailers(message: str) -> tuple[str, str]:
    """The message, and the paragraph of our own trailers at its end; empty where it has none."""
    text, _, last = message.rstrip().rpartition("\n\n")
    if all(_OWN_TRAILER.fullmatch(line) for line in last.split("\n")):
        return text, last
    return message, ""


def redact_message(message: str) -> str:
    """A commit's message without secrets. Our trailers stay as they are: commits are found again by them."""
    text, trailers = split_trailers(message)
    return f"{redact(text)}\n\n{trailers}\n" if text and trailers else redact(message)


def trailer_value(value: str) -> str:
    """On one line, so that it is found again as it was written."""
    return " ".join(_clean(value).split())[:MAX_VALUE].strip()


def _clean(text: str) -> str:
    return _CUT.sub("8<", _CONTROL.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n")))


def _key(key: str) -> str:
    if not _KEY.match(key):
        raise GitError("is no trailer's key", found=key[:80], expected="letters, digits and dashes")
    return key

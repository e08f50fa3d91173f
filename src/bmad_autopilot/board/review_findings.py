"""What reviewers left in a story file, in the forms of every BMAD version."""

import re
from enum import Enum
from typing import NamedTuple

from .markdown import Section, line_at, outermost, within

_TAGGED = re.compile(r"[*_]{0,2}\[(?:AI-)?Review\][ \t]?\[([^\[\]\n]{1,30})\][*_]{0,2}[ \t:：]*", re.IGNORECASE)
_KINDS = {
    "hi": "high",
    "med": "medium",
    "mid": "medium",
    "lo": "low",
    "deferred": "defer",
    "decision-needed": "decision",
}
_OUTCOME = re.compile(r"\b(?:outcome|verdict)\b[*_]{0,3}[ \t]*[:：][*_]{0,3}[ \t]*([^\n]+)", re.IGNORECASE)
_OUTCOME_END = re.compile(r"[ \t][·|—–-][ \t]|\*\*")


class Finding(NamedTuple):
    kind: str  # high, medium, low (up to 6.1); decision, patch, defer (since 6.2.1); "" where none is given
    text: str
    done: bool
    line: int


class Verdict(Enum):
    APPROVED = "approved"
    CHANGES_REQUESTED = "changes-requested"
    BLOCKED = "blocked"
    UNKNOWN = "unknown"


class Outcome(NamedTuple):
    raw: str
    verdict: Verdict
    line: int


def is_review_list(section: Section) -> bool:
    """Whether the check boxes below this heading are findings: `Review Follow-ups (AI)`, `Review Findings`."""
    return (
        section.title.lower().lstrip("*_ ").startswith(("review follow", "review finding", "code review finding"))
    )


def read_finding(item: str, done: bool, line: int, *, in_review_list: bool) -> Finding | None:
    """A check box's text as a finding, or None where it is a task."""
    tagged = _TAGGED.match(item)
    if tagged is not None:
        kind = tagged[1].strip().lower()
        return Finding(_KINDS.get(kind, kind), item[tagged.end() :].strip(), done, line)
    return Finding("", item, done, line) if in_review_list else None


def read_outcome(text: str, sections: list[Section]) -> Outcome | None:
    """What the last review came to."""
    latest: tuple[int, str] | None = None
    reviews = outermost([s for s in sections if "review" in s.title.lower() and not is_review_list(s)])
    for review in reviews:
        for match in _OUTCOME.finditer(text, review.start, review.end):
            latest = max(latest or (0, ""), (match.start(1), match[1]))
    for section in sections:
        named = section.title.lower().strip("*_: ") in ("outcome", "review outcome", "verdict")
        if named and within(reviews, section.start):
            body = text[section.start : section.end]
            first = body.lstrip().partition("\n")[0]
            if first and not first.startswith("#"):
                latest = max(latest or (0, ""), (section.start + len(body) - len(body.lstrip()), first))
    if latest is None:
        return None
    offset, raw = latest
    raw = raw.strip().strip("*_").strip()
    raw = _OUTCOME_END.split(raw, maxsplit=1)[0].strip()
    return Outcome(raw, _verdict(raw), line_at(text, offset))


def _verdict(raw: str) -> Verdict:
    words = "".join(c if c.isalnum() else " " for c in raw.lower()).split()
    plain = " ".join(words)
    if any(
        phrase in plain for phrase in ("changes request", "request changes", "needs work", "reject", "not approv")
    ):
        return Verdict.CHANGES_REQUESTED
    if plain.startswith("block"):
        return Verdict.BLOCKED
    if plain.startswith(("approv", "pass", "accept")):
        return Verdict.APPROVED
    return Verdict.UNKNOWN

"""Statuses of board rows: canonical words, synonyms, parked words. An unknown status is a value, not an error."""

from enum import Enum
from typing import NamedTuple


class RowKind(Enum):
    """The kind of a board row."""

    EPIC = "epic"
    STORY = "story"
    RETROSPECTIVE = "retrospective"
    OTHER = "other"

    @property
    def with_article(self) -> str:
        return f"an {self.value}" if self.value[0] in "aeiou" else f"a {self.value}"


BACKLOG = "backlog"
READY = "ready-for-dev"
IN_PROGRESS = "in-progress"
REVIEW = "review"
DONE = "done"
OPTIONAL = "optional"
PARKED = "parked"
UNKNOWN = "unknown"

MEANINGS = (BACKLOG, READY, IN_PROGRESS, REVIEW, DONE, OPTIONAL, PARKED, UNKNOWN)
STORY_LIFECYCLE = (BACKLOG, READY, IN_PROGRESS, REVIEW, DONE)
EPIC_LIFECYCLE = (BACKLOG, IN_PROGRESS, DONE)
RETROSPECTIVE_LIFECYCLE = (OPTIONAL, DONE)
LIFECYCLES = {
    RowKind.STORY: STORY_LIFECYCLE,
    RowKind.EPIC: EPIC_LIFECYCLE,
    RowKind.RETROSPECTIVE: RETROSPECTIVE_LIFECYCLE,
    RowKind.OTHER: STORY_LIFECYCLE,
}

# Written by older BMAD versions or by people; the meaning is unambiguous.
SYNONYMS = {
    "drafted": READY,
    "ready": READY,
    "contexted": IN_PROGRESS,
    "started": IN_PROGRESS,
    "wip": IN_PROGRESS,
    "ready-for-review": REVIEW,
    "in-review": REVIEW,
    "complete": DONE,
    "completed": DONE,
    "approved": DONE,
    "todo": BACKLOG,
}

# A story taken out of the sequence on purpose: it is never started and does not block the next one.
PARKED_WORDS = frozenset(
    "absorbed archived awaiting-operator blocked cancelled canceled deferred deprecated descoped dropped "
    "future-backlog merged on-hold parked paused postponed removed skipped split superseded wont-do".split()
)
PARKED_PREFIXES = ("moved-to-", "merged-into-", "split-into-", "superseded-by-", "deferred-to-")

# Words we do not act on, but for which we can suggest a status.
_SUGGESTIONS = {
    "deployed": DONE,
    "shipped": DONE,
    "finished": DONE,
    "closed": DONE,
    "mvp-complete": DONE,
    "dev-complete": REVIEW,
    "testing": REVIEW,
    "qa": REVIEW,
    "partial": IN_PROGRESS,
    "doing": IN_PROGRESS,
    "pending": BACKLOG,
    "planning": BACKLOG,
    "planned": BACKLOG,
    "open": BACKLOG,
    "new": BACKLOG,
    "draft": BACKLOG,
}


class RowStatus(NamedTuple):
    """A status as written and its canonical meaning."""

    raw: str
    meaning: str  # one of the canonical words, PARKED or UNKNOWN

    @property
    def is_legacy(self) -> bool:
        return self.meaning not in (PARKED, UNKNOWN) and self.raw != self.meaning


_CANONICAL = {word: RowStatus(word, word) for word in (*STORY_LIFECYCLE, OPTIONAL)}


def read_status(raw: str, kind: RowKind = RowKind.RETROSPECTIVE) -> RowStatus:
    """Parse one status word. Never fails."""
    known = _CANONICAL.get(raw)
    if known is not None:
        # `optional` is regular for a retrospective; an optional story is parked.
        return known if raw != OPTIONAL or kind is RowKind.RETROSPECTIVE else RowStatus(raw, PARKED)
    word = normalize_word(raw)
    if word in _CANONICAL:
        return RowStatus(raw, word)
    if word in SYNONYMS:
        return RowStatus(raw, SYNONYMS[word])
    if word in PARKED_WORDS or word.startswith(PARKED_PREFIXES):
        return RowStatus(raw, PARKED)
    return RowStatus(raw, UNKNOWN)


def normalize_word(raw: str) -> str:
    return "-".join(raw.strip().lower().replace("_", " ").replace("-", " ").split())


def suggest_status(raw: str, kind: RowKind = RowKind.STORY) -> str | None:
    """The canonical status that was probably intended, or None."""
    word = normalize_word(raw)
    life = LIFECYCLES[kind]
    if kind is RowKind.EPIC and word in (READY, REVIEW):  # a story's status: the epic is in progress
        return IN_PROGRESS
    for candidate in (_SUGGESTIONS.get(word), SYNONYMS.get(word)):
        if candidate in life:
            return candidate
    first = word.split("-")[0]
    if word.startswith(life):
        return max((w for w in life if word.startswith(w)), key=len)
    if first in _SUGGESTIONS and _SUGGESTIONS[first] in life:
        return _SUGGESTIONS[first]
    from difflib import get_close_matches

    close = get_close_matches(word, life, n=1, cutoff=0.7)
    return close[0] if close else None


def status_rank(meaning: str, kind: RowKind = RowKind.STORY) -> int:
    """The position of a status in its lifecycle; -1 if it is not part of it (parked, unknown)."""
    life = LIFECYCLES[kind]
    return life.index(meaning) if meaning in life else -1

"""Statuses as data: canonical ones, their synonyms, parked ones. An unknown status is a value, not a crash."""

from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """What a row of the board is."""

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

STORY_LIFE = (BACKLOG, READY, IN_PROGRESS, REVIEW, DONE)
EPIC_LIFE = (BACKLOG, IN_PROGRESS, DONE)
RETRO_LIFE = (OPTIONAL, DONE)
LIFE = {Kind.STORY: STORY_LIFE, Kind.EPIC: EPIC_LIFE, Kind.RETROSPECTIVE: RETRO_LIFE, Kind.OTHER: STORY_LIFE}

# Written by older BMAD versions or by people; the meaning is not in doubt.
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

# A story somebody took out of the row on purpose. It does not hold up the next one, and nobody starts it.
PARKED_WORDS = frozenset(
    "absorbed archived awaiting-operator blocked cancelled canceled deferred deprecated descoped dropped "
    "future-backlog merged on-hold parked paused postponed removed skipped split superseded wont-do".split()
)
PARKED_PREFIXES = ("moved-to-", "merged-into-", "split-into-", "superseded-by-", "deferred-to-")

# Not a status we act on, but close enough to suggest one.
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


class Status(NamedTuple):
    """A status as written and as understood."""

    raw: str
    meaning: str  # one of the canonical words, PARKED or UNKNOWN

    @property
    def is_legacy(self) -> bool:
        return self.meaning not in (PARKED, UNKNOWN) and self.raw != self.meaning


_CANONICAL = {word: Status(word, word) for word in (*STORY_LIFE, OPTIONAL)}


def read_status(raw: str, kind: Kind = Kind.RETROSPECTIVE) -> Status:
    """Understand one status word. Never fails."""
    known = _CANONICAL.get(raw)
    if known is not None:
        # A story marked optional waits until somebody wants it; only a retrospective is optional by nature.
        return known if raw != OPTIONAL or kind is Kind.RETROSPECTIVE else Status(raw, PARKED)
    word = plain_word(raw)
    if word in _CANONICAL:
        return Status(raw, word)
    if word in SYNONYMS:
        return Status(raw, SYNONYMS[word])
    if word in PARKED_WORDS or word.startswith(PARKED_PREFIXES):
        return Status(raw, PARKED)
    return Status(raw, UNKNOWN)


def plain_word(raw: str) -> str:
    return "-".join(raw.strip().lower().replace("_", " ").replace("-", " ").split())


def suggest_status(raw: str, kind: Kind = Kind.STORY) -> str | None:
    """The canonical status somebody probably meant, or None."""
    word = plain_word(raw)
    life = LIFE[kind]
    if kind is Kind.EPIC and word in (READY, REVIEW):  # a story's word: the epic has begun and is not over
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


def rank(meaning: str, kind: Kind = Kind.STORY) -> int:
    """How far along a status is; -1 where it has no place in that life (parked, unknown)."""
    life = LIFE[kind]
    return life.index(meaning) if meaning in life else -1

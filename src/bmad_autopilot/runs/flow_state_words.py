"""The words of a flow's state file: steps, statuses and counts, as people write them."""

import re

from .flow_state_page import clean

STATUSES = ("not_started", "in_progress", "completed", "skipped", "failed")
DONE = "done"  # the step of a flow that is over
MAX_COUNT = 999_999_999

_STEP = re.compile(
    r"(?:step[ \t]*)?#?0*([0-9]{1,4})[.:)]?(?:[ \t]*[—–-][ \t].*|[ \t]+[A-Za-z(].*)?", re.IGNORECASE
)
_COUNT = re.compile(r"([0-9]{1,9})(?:[ \t]*(?:/|of)[ \t]*[0-9]+)?")
_MARKS = "`*\"' \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_MEANT = {
    "completed": ("done", "complete", "finished", "passed"),
    "in_progress": ("started", "wip", "running", "active"),
    "not_started": ("pending", "todo", "new", "ready"),
    "skipped": ("skip", "omitted"),
    "failed": ("blocked", "error", "failure"),
}


def step_of(raw: str) -> str:
    """`3` for `03`, `Step 3` and `3 — Plan`."""
    word = word_of(raw)
    if word.lower() == DONE:
        return DONE
    match = _STEP.fullmatch(word)
    return match[1] if match else word


def status_of(raw: str) -> str:
    word = word_of(raw)
    known = re.sub(r"[\s_-]+", "_", word.lower())
    return known if known in STATUSES else word


def count_of(raw: str) -> int | None:
    match = _COUNT.fullmatch(word_of(raw))
    return int(match[1]) if match else None


def word_of(raw: str) -> str:
    """A name, without the marks people put around one."""
    return clean(raw).strip(_MARKS)


def suggested(raw: str) -> str | None:
    from difflib import get_close_matches

    word = re.sub(r"[\s_-]+", "_", word_of(raw).lower())
    meant = next((status for status, words in _MEANT.items() if word in words), None)
    if meant:
        return meant
    close = get_close_matches(word[:40], STATUSES, n=1, cutoff=0.6)
    return close[0] if close else None

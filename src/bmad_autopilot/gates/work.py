"""Whether what a step left behind can be taken for its work. Pure: everything looked at is handed in.

An agent that sets its own row on the board to anything is no objection: that is a claim, and the engine's to
handle. Everything is judged from the story's baseline, so what a first attempt did wrong still counts after the
second; only rows and other work trees are looked at for the attempt alone."""

from .look import WorkLook
from .objections import Objection
from .owed import what_is_owed
from .places import misplaced
from .protected import private_settings, protected_paths
from .rows import other_rows
from .tampering import tests_tampered_with
from .weakened import weakened_checks

_RULES = (
    *(what_is_owed, misplaced, protected_paths, private_settings),
    *(tests_tampered_with, weakened_checks, other_rows),
)


def judge_work(look: WorkLook) -> tuple[Objection, ...]:
    """What speaks against it; nothing: it stands."""
    return tuple(objection for rule in _RULES for objection in rule(look))

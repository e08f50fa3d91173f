"""What the command line says to the autopilot."""

from collections.abc import Mapping
from typing import NamedTuple

from ...runs.layout import SESSION
from ..driving import NOTHING
from .budgets import NO_BOUNDS, Bounds


class Wishes(NamedTuple):
    patterns: tuple[str, ...] = ()
    go_on: bool = False  # also with what was given up, and with what others have begun
    draft: bool = False
    unattended: Mapping[str, str] = NOTHING
    session: str = SESSION
    parallel: int = 0  # agents at once, each in a worktree of its own; 0: one lane at a time, in the checkout
    bounds: Bounds = NO_BOUNDS
    once: bool = False  # what is due now, without a new epic and without waiting

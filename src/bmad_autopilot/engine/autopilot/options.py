"""The options of `bmad autopilot`, and the limits on what one command may spend."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...runs.layout import SESSION
from ..runner import EMPTY_MAPPING

# Limits on cost, tokens and time of one command. Once one is reached, no lane starts a new call; running calls
# finish and are collected.

UNPRICED = "a call's client said no price: --max-cost does not count it, --max-tokens and --until do hold"


class Bounds(NamedTuple):
    """Limits of all lanes together. None: no limit."""

    dollars: float | None = None
    tokens: int | None = None
    until: float | None = None  # seconds since 1970
    clock: str = ""  # `until` as the user wrote it


NO_BOUNDS = Bounds()


class Budgets:
    def __init__(self, bounds: Bounds, clock: Callable[[], float] = time.time) -> None:
        self.bounds = bounds
        self._now = clock
        self._lock = threading.Lock()
        self._dollars = 0.0
        self._tokens = 0
        self._unpriced = 0

    def on_event(self, kind: str, data: Mapping[str, Any]) -> str:
        """Count a journal event of any lane. Returns a notice to show once, or an empty text."""
        if kind != "ended":
            return ""
        dollars, tokens = data.get("dollars"), data.get("tokens")
        with self._lock:
            self._dollars += dollars if isinstance(dollars, int | float) else 0.0
            self._tokens += tokens if isinstance(tokens, int) else 0
            self._unpriced += dollars is None
            is_first = dollars is None and self._unpriced == 1
        return UNPRICED if is_first and self.bounds.dollars is not None else ""

    def reached(self) -> str:
        """The limit that is reached, as a message; empty: none."""
        bounds = self.bounds
        with self._lock:
            if bounds.dollars is not None and self._dollars >= bounds.dollars:
                return f"--max-cost {bounds.dollars:g} is reached: ${self._dollars:.2f} in this command"
            if bounds.tokens is not None and self._tokens >= bounds.tokens:
                return f"--max-tokens {bounds.tokens} is reached: {self._tokens} in this command"
        if bounds.until is not None and self._now() >= bounds.until:
            return f"{bounds.clock} is reached"
        return ""


class AutopilotOptions(NamedTuple):
    patterns: tuple[str, ...] = ()
    resume_all: bool = False  # also lanes that were given up, and work that others started
    draft: bool = False
    unattended: Mapping[str, str] = EMPTY_MAPPING
    session: str = SESSION
    parallel: int = 0  # concurrent agents, a worktree each; 0: one lane at a time in the checkout
    bounds: Bounds = NO_BOUNDS
    once: bool = False  # only what is due now: no new epic, no waiting

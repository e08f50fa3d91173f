"""How much one command may spend, and how long it may go on. A bound that is met starts no new call in any lane;
calls under way end, and are taken in."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

UNPRICED = "a call's client said no price: --max-cost does not count it, --max-tokens and --until do hold"


class Bounds(NamedTuple):
    """Of all lanes together. None: there is none."""

    dollars: float | None = None
    tokens: int | None = None
    until: float | None = None  # seconds since 1970
    clock: str = ""  # how `until` was said


NO_BOUNDS = Bounds()


class Budgets:
    def __init__(self, bounds: Bounds, clock: Callable[[], float] = time.time) -> None:
        self.bounds = bounds
        self._now = clock
        self._lock = threading.Lock()
        self._dollars = 0.0
        self._tokens = 0
        self._unpriced = 0

    def heard(self, kind: str, data: Mapping[str, Any]) -> str:
        """An entry of some lane's journal. What is to be said about it, once."""
        if kind != "ended":
            return ""
        dollars, tokens = data.get("dollars"), data.get("tokens")
        with self._lock:
            self._dollars += dollars if isinstance(dollars, int | float) else 0.0
            self._tokens += tokens if isinstance(tokens, int) else 0
            self._unpriced += dollars is None
            is_first = dollars is None and self._unpriced == 1
        return UNPRICED if is_first and self.bounds.dollars is not None else ""

    def met(self) -> str:
        """Which bound, in words."""
        bounds = self.bounds
        with self._lock:
            if bounds.dollars is not None and self._dollars >= bounds.dollars:
                return f"--max-cost {bounds.dollars:g} is reached: ${self._dollars:.2f} in this command"
            if bounds.tokens is not None and self._tokens >= bounds.tokens:
                return f"--max-tokens {bounds.tokens} is reached: {self._tokens} in this command"
        if bounds.until is not None and self._now() >= bounds.until:
            return f"{bounds.clock} is reached"
        return ""

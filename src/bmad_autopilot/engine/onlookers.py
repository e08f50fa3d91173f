"""Who looks on while a lane is worked on: somebody who is told, and somebody who can be asked."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

Told = Callable[[str, Mapping[str, Any], float], None]  # kind, data, when: every journal entry, and progress


class Human(Protocol):
    """Somebody at a terminal."""

    def ask(self, question: Mapping[str, Any]) -> str | None:
        """None: not now."""

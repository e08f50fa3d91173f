"""One forge for all lanes: one login has one budget, and its door was made for one at a time."""

import threading
from collections.abc import Callable
from typing import Any, cast

from ...github.forge import Forge


class _Shared:
    def __init__(self, forge: Forge) -> None:
        self._forge = forge
        self._lock = threading.RLock()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._forge, name)

        def alone(*arguments: Any, **named: Any) -> Any:
            with self._lock:
                return method(*arguments, **named)

        return alone


def shared(forge: Forge) -> Forge:
    return cast(Forge, _Shared(forge))

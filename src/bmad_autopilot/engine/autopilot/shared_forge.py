"""One forge for all lanes: one login has one budget, and its door was made for one at a time."""

import threading
from collections.abc import Callable
from typing import Any, cast

from ...github.forge import Forge
from ...github.git import Git
from ..world.delivery import ForgeMaker


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


class ForgeDoor:
    """Made when it is first asked for: what is delivered here needs none. `wait`: how its door waits."""

    def __init__(
        self, git: Git, remote: str, maker: ForgeMaker | None, wait: Callable[[float], None], *, is_shared: bool
    ) -> None:
        self._git = git
        self._remote = remote
        self._maker = maker
        self._wait = wait
        self._is_shared = is_shared
        self._forge: Forge | None = None

    def __call__(self) -> Forge:
        if self._forge is None:
            made = self._make()
            self._forge = shared(made) if self._is_shared else made
        return self._forge

    def _make(self) -> Forge:
        if self._maker is not None:
            return self._maker(self._git, self._remote)
        from ...github.gh_forge import find_forge

        return find_forge(self._git, self._remote, wait=self._wait)

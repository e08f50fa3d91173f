"""The attempt's own temporary folder: made before the agent starts, gone when it has ended."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def make_private(folder: str) -> None:
    for part in ("", "/tmp", "/gh"):
        os.makedirs(f"{folder}{part}", 0o700, exist_ok=True)


def remove_private(folder: str) -> str:
    """The attempt's own temporary folder, whatever the agent left in it. What could not be removed is said."""
    if os.path.islink(folder):  # put there by the agent: where it leads is not ours
        _try(os.unlink, folder)
    for path, folders, _ in os.walk(folder):
        for name in folders:
            if not os.path.islink(f"{path}/{name}"):
                _try(os.chmod, f"{path}/{name}", 0o700)  # module caches are read-only
    for path, folders, files in os.walk(folder, topdown=False):
        for name in files:
            _try(os.unlink, f"{path}/{name}")
        for name in folders:
            inner = f"{path}/{name}"
            _try(os.unlink if os.path.islink(inner) else os.rmdir, inner)
    _try(os.rmdir, folder)
    return f"{folder} could not be removed" if os.path.lexists(folder) else ""


def _try(action: Callable[..., None], *arguments: object) -> None:
    try:
        action(*arguments)
    except OSError:
        pass

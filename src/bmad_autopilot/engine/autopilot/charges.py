"""The runs that this supervisor looks after, as its lock file names them for other commands."""

import os
import threading
from collections.abc import Iterable
from contextlib import suppress

from ...runs.supervisor import Supervision


class Charges:
    def __init__(self, supervision: Supervision) -> None:
        self._supervision = supervision
        self._lock = threading.Lock()  # lanes come from threads of their own
        self._runs: dict[str, None] = {}  # by name, the one last driven at the end

    def take_over(self, folders: Iterable[str]) -> None:
        """What earlier commands left."""
        with self._lock:
            self._runs |= dict.fromkeys(map(os.path.basename, folders))
            self._write()
        self._supervision.is_ready()

    def add(self, folder: str) -> None:
        name = os.path.basename(folder)
        with self._lock:
            self._runs.pop(name, None)
            self._runs[name] = None
            self._write()

    def remove(self, folder: str) -> None:
        with self._lock:
            self._runs.pop(os.path.basename(folder), None)
            self._write()

    def _write(self) -> None:
        """For others: that it cannot be, on a full disk, holds nothing up."""
        with suppress(OSError):
            self._supervision.looks_after(tuple(self._runs), next(reversed(self._runs), ""))

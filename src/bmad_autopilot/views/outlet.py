"""Where a run's output goes. It may be gone (`| head`, a closed window, a full disk): the run goes on without."""

import os
import sys

GONE = "nobody reads the output any more; the run goes on (bmad status shows it, Ctrl-C leaves it)"


class Outlet:
    """Standard output, written at once and past Python's buffers: a signal may be told in the middle of a line."""

    def __init__(self) -> None:
        sys.stdout.flush()
        self._fd = sys.stdout.fileno()
        self._encoding = sys.stdout.encoding or "utf-8"
        self.is_gone = False
        self.gone = GONE  # what is said then

    def write(self, text: str) -> None:
        if self.is_gone:
            return
        data = text.encode(self._encoding, "replace")
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError:
            self.is_gone = True
            self._say()

    def _say(self) -> None:
        try:
            sys.stderr.write(f"bmad: {self.gone}\n")
            sys.stderr.flush()
        except OSError:
            pass

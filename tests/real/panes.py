"""A real terminal to type into: a pane of tmux."""

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.terminals import strip_colors

PATIENCE = 40.0


class Pane:
    def __init__(self, folder: Path, socket: Path, *words: str, columns: int = 100) -> None:
        self._tmux = ["tmux", "-f", "/dev/null", "-S", str(socket)]
        self.done = socket.with_suffix(".done")
        command = shlex.join([sys.executable, "-m", "bmad_autopilot", *words])
        line = f"env -u CI NO_COLOR=1 {command}; echo exit code $? > {shlex.quote(str(self.done))}; exec cat"
        start = ["new-session", "-d", "-x", str(columns), "-y", "200", "-c", str(folder), "sh", "-c", line]
        subprocess.run([*self._tmux, *start], check=True, env=os.environ | {"LC_ALL": "C.UTF-8"})

    def shown(self) -> str:
        ran = subprocess.run([*self._tmux, "capture-pane", "-p"], check=True, capture_output=True, text=True)
        return "\n".join(line.rstrip() for line in strip_colors(ran.stdout).splitlines()).rstrip() + "\n"

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, self.shown()
            time.sleep(0.02)

    def types(self, after: str, line: str) -> None:
        """Wait for this prompt, type the line, and wait for its echo: the same prompt may come again."""
        self.until(lambda: self.shown().rstrip().endswith(after.rstrip()))
        before = self.shown()
        subprocess.run([*self._tmux, "send-keys", line, "Enter"], check=True)
        self.until(lambda: self.shown() != before)

    def ends(self) -> str:
        self.until(lambda: self.done.exists() and bool(self.done.read_text()))
        return self.done.read_text().strip()

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=True)

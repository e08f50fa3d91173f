"""A person at a terminal: reads what is written, types, waits, presses keys."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tests.support.terminal_screen import Screen
from tests.support.terminals import COMMAND

CTRL_C, CTRL_D = "\x03", "\x04"
PATIENCE = 60.0


class Conversation:
    """`bmad` in a terminal of its own, with the keys of a real one: Ctrl-C reaches it as a signal."""

    def __init__(self, *arguments: str, cwd: Path, columns: int = 80, environment: Mapping[str, str] = {}) -> None:
        self._master, slave = pty.openpty()
        self.columns = columns
        self.resize(columns)
        self._child = subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=cwd,
            env={name: value for name, value in os.environ.items() if name != "CI"} | dict(environment),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self.written = ""
        self._seen = 0

    def resize(self, columns: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))

    def wait_for(self, text: str) -> None:
        """Until it is written, after what was waited for before."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.written[self._seen :]:
            if not self._read(deadline):
                raise AssertionError(f"{text!r} was never written:\n{self.written}")
        self._seen = self.written.index(text, self._seen) + len(text)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def end(self, pressing: str = "") -> int:
        """Its exit code, once everything is read. `pressing`: a key pressed again and again until then, as people
        do: a Ctrl-C just before a prompt reads is taken note of only when the prompt has read something."""
        deadline = time.monotonic() + PATIENCE
        before = -1
        while self._read(deadline):
            if pressing and len(self.written) == before:  # nothing for a second
                with suppress(OSError):
                    self.type(pressing)
            before = len(self.written)
        return self._child.wait(PATIENCE)

    @property
    def screen(self) -> str:
        screen = Screen(self.columns)
        screen.write(self.written)
        return screen.text

    def _read(self, deadline: float) -> bool:
        if time.monotonic() > deadline:
            return False
        if not select.select([self._master], [], [], 1)[0]:
            return True
        try:
            chunk = os.read(self._master, 65536)
        except OSError:  # Linux: the other side has closed
            return False
        self.written += chunk.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(chunk)

    def __enter__(self) -> "Conversation":
        return self

    def __exit__(self, *error: object) -> None:
        if self._child.poll() is None:
            self._child.send_signal(signal.SIGKILL)
            self._child.wait(PATIENCE)
        os.close(self._master)

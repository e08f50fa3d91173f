"""Runs `bmad` in a terminal of a given width or with piped output, and compares recorded transcripts."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[1] / "cli" / "golden"
COMMAND = [sys.executable, "-m", "bmad_autopilot"]


def run_piped(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )


def run_in_terminal(*arguments: str, cwd: Path, columns: int, **environment: str) -> str:
    """The command's output in a terminal of this width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    child = subprocess.Popen(
        [*COMMAND, *arguments], cwd=cwd, env=os.environ | environment, stdin=slave, stdout=slave, stderr=slave
    )
    os.close(slave)
    try:
        return _read_all(master, time.monotonic() + 60)
    finally:
        os.close(master)
        child.kill()
        child.wait()


def _read_all(master: int, deadline: float) -> str:
    chunks = []
    while time.monotonic() < deadline:
        if not select.select([master], [], [], 1)[0]:
            continue
        try:
            chunk = os.read(master, 65536)
        except OSError:  # Linux: the other side has closed
            break
        if not chunk:
            break
        chunks.append(chunk)
    return b"".join(chunks).decode().replace("\r\n", "\n")


def strip_colors(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def assert_golden(name: str, text: str) -> None:
    """Compare with the recorded transcript; BMAD_UPDATE_GOLDEN=1 records it again."""
    path = GOLDEN / f"{name}.txt"
    text = re.sub(r"\d+ days ago", "N days ago", text)
    if os.environ.get("BMAD_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")

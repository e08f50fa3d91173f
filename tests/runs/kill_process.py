"""Processes that are killed in the middle of what they do."""

import os
import signal
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"


def started(code: str, *arguments: str) -> "subprocess.Popen[str]":
    """A Python of its own that runs `code` with the package at hand, its standard output piped."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        text=True,
    )


def killed_after(lines: int, code: str, *arguments: str) -> list[str]:
    """What it printed, killed with -9 as soon as it had printed so many lines."""
    child = started(code, *arguments)
    try:
        assert child.stdout is not None
        printed = [child.stdout.readline().strip() for _ in range(lines)]
        child.send_signal(signal.SIGKILL)
        printed += child.stdout.read().split("\n")[:-1]  # the last one is whole only with its line end
    finally:
        stop(child)
    return printed


def stop(child: "subprocess.Popen[str]") -> None:
    child.kill()
    child.wait()
    if child.stdout is not None:
        child.stdout.close()

"""People in a real terminal (tmux): the menu and a question answered by typing, and the same with nobody there."""

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.sample_runs import masked, sample
from tests.terminals import assert_golden, piped, plain

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]

PATIENCE = 40.0


class Pane:
    def __init__(self, folder: Path, socket: Path, *words: str) -> None:
        self._tmux = ["tmux", "-f", "/dev/null", "-S", str(socket)]
        self.done = socket.with_suffix(".done")
        command = shlex.join([sys.executable, "-m", "bmad_autopilot", *words])
        line = f"env -u CI NO_COLOR=1 {command}; echo exit code $? > {shlex.quote(str(self.done))}; exec cat"
        start = ["new-session", "-d", "-x", "100", "-y", "200", "-c", str(folder), "sh", "-c", line]
        subprocess.run([*self._tmux, *start], check=True, env=os.environ | {"LC_ALL": "C.UTF-8"})

    def shown(self) -> str:
        ran = subprocess.run([*self._tmux, "capture-pane", "-p"], check=True, capture_output=True, text=True)
        return "\n".join(line.rstrip() for line in plain(ran.stdout).splitlines()).rstrip() + "\n"

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, self.shown()
            time.sleep(0.02)

    def types(self, after: str, line: str) -> None:
        self.until(lambda: self.shown().rstrip().endswith(after.rstrip()))
        subprocess.run([*self._tmux, "send-keys", line, "Enter"], check=True)

    def ends(self) -> str:
        self.until(self.done.exists)
        return self.done.read_text().strip()

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=True)


@pytest.fixture
def pane(tmp_path: Path) -> Iterator[Callable[..., Pane]]:
    opened: list[Pane] = []

    def open_pane(folder: Path, *words: str) -> Pane:
        opened.append(Pane(folder, tmp_path / "tmux", *words))
        return opened[-1]

    yield open_pane
    for one in opened:
        one.close()


def asked_part(text: str) -> str:
    """From what is asked to what is done with the answer."""
    lines = masked(text).splitlines()
    first = next(number for number, line in enumerate(lines) if "  asks" in line)
    last = next(number for number, line in enumerate(lines) if "  answer  " in line)
    return "\n".join(lines[first : last + 1]) + "\n"


def test_the_menu_answered_by_a_letter(tmp_path: Path, pane: Callable[..., Pane]) -> None:
    root = sample(tmp_path / "p", "honest,parks:1-1")
    screen = pane(root, "run-epic", "1")
    screen.types("Choice:", "s")
    screen.until(lambda: "NOT WHOLE" in screen.shown())
    screen.types("Choice:", "leave")  # the epic is done but for the story that was left out
    screen.ends()
    assert_golden("tmux-intervention", asked_part(screen.shown()))


def test_a_question_answered_by_typing(tmp_path: Path, pane: Callable[..., Pane]) -> None:
    root = sample(tmp_path / "p", "honest,asking:1-1")
    screen = pane(root, "run-story", "1-1")
    screen.types("answer (Ctrl-D: not now):", "maybe")
    screen.types("answer (Ctrl-D: not now):", "2")
    assert screen.ends() == "exit code 0"
    assert_golden("tmux-question", asked_part(screen.shown()))


def test_the_same_with_nobody_there(tmp_path: Path) -> None:
    root = sample(tmp_path / "p", "honest,parks:1-1")
    done = piped("run-epic", "1", "--on-blocked", "skip", "--on-blocked", "left-out=leave", cwd=root)
    assert_golden("unattended-intervention", asked_part(done.stdout))

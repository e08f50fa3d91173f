"""`bmad status` in a real terminal (tmux): the same picture as the recorded transcripts, nothing wrapped."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.bmad_project import ProjectMaker, SampleProject
from tests.support.cli_projects import empty_project, finished_project, large_project, mixed_project
from tests.support.terminals import GOLDEN, strip_colors

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]

MAKERS: dict[str, Callable[[ProjectMaker], SampleProject]] = {
    "mixed": mixed_project,
    "finished": finished_project,
    "empty": empty_project,
    "large": large_project,
}


def show(folder: Path, socket: Path, columns: int, environment: str = "") -> str:
    """What a person sees after typing the command, with its colours."""
    tmux = ["tmux", "-f", "/dev/null", "-S", str(socket)]
    done = socket.with_suffix(".done")
    command = f"{environment} {shlex.quote(sys.executable)} -m bmad_autopilot status; echo > {done}; exec cat"
    start = ["new-session", "-d", "-x", str(columns), "-y", "60", "-c", str(folder), "sh", "-c", command]
    subprocess.run([*tmux, *start], check=True, env=os.environ | {"LC_ALL": "C.UTF-8"})
    try:
        deadline = time.monotonic() + 30
        while not done.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return subprocess.run(
            [*tmux, "capture-pane", "-p", "-e"], check=True, capture_output=True, text=True
        ).stdout
    finally:
        subprocess.run([*tmux, "kill-server"], check=True)
        done.unlink(missing_ok=True)


def tidy(text: str) -> str:
    lines = [line.rstrip() for line in re.sub(r"\d+ days ago", "N days ago", strip_colors(text)).splitlines()]
    return "\n".join(lines).rstrip() + "\n"


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("name", MAKERS)
def test_the_screen_is_the_transcript(project: ProjectMaker, tmp_path: Path, name: str, columns: int) -> None:
    sample = MAKERS[name](project)
    expected = (GOLDEN / f"status-{name}-{columns}.txt").read_text(encoding="utf-8")
    coloured = show(sample.root, tmp_path / "colour", columns)
    assert "\x1b[" in coloured
    assert tidy(coloured) == tidy(expected)
    plain_screen = show(sample.root, tmp_path / "plain", columns, "NO_COLOR=1")
    assert "\x1b[3" not in plain_screen
    assert tidy(plain_screen) == tidy(expected)

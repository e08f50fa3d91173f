"""Flows in a real terminal (tmux): the status summary, and the Choose block answered by a letter."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.real.panes import Pane
from tests.support.flow_projects import project_at_plan, project_in_progress
from tests.support.flow_runs import FlowProject
from tests.support.sample_projects import mask_volatile
from tests.support.terminals import GOLDEN, assert_golden

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]


@pytest.fixture
def pane(tmp_path: Path) -> Iterator[Callable[..., Pane]]:
    opened: list[Pane] = []

    def open_pane(folder: Path, *words: str, columns: int = 80) -> Pane:
        opened.append(Pane(folder, tmp_path / f"tmux-{len(opened)}", *words, columns=columns))
        return opened[-1]

    yield open_pane
    for one in opened:
        one.close()


def decided(text: str) -> str:
    """What is asked, from what it is about to the answer."""
    lines = mask_volatile(text).splitlines()
    last = next(number for number, line in enumerate(lines) if "  answer  " in line)
    first = max(number for number, line in enumerate(lines[:last]) if "  asks" in line)
    return "\n".join(lines[first : last + 1]) + "\n"


def test_the_status_summary(tmp_path: Path, pane: Callable[..., Pane]) -> None:
    screen = pane(project_at_plan(tmp_path / "p").root, "flow")
    assert screen.ends() == "exit code 3"
    assert screen.shown() == (GOLDEN / "flow-failed-80.txt").read_text(encoding="utf-8")


def test_the_end_of_a_session(tmp_path: Path, pane: Callable[..., Pane]) -> None:
    project = project_in_progress(tmp_path / "p")
    screen = pane(project.root, "flow", "run")
    screen.types("Choice:", "X")
    screen.types("Choice:", "a")
    assert screen.ends() == "exit code 0"
    shown = screen.shown()
    assert_golden("tmux-flow-boundary", decided(shown))
    assert "greenfield has come to the end of a session\n" in shown
    assert "bmad flow run   starts it: step 6, Implement\n" in shown
    assert project.ran == ["3 Plan", "5 Decompose"]


def test_a_gate(tmp_path: Path, pane: Callable[..., Pane]) -> None:
    project = FlowProject(tmp_path / "p")
    screen = pane(project.root, "flow", "run")
    screen.types("Choice:", "A")
    screen.types("Choice:", "B")
    screen.types("Choice:", "A")
    assert screen.ends() == "exit code 0"
    assert_golden("tmux-flow-gate", decided(screen.shown()))
    assert project.ran == ["1 Problem", "2 Research", "2 Research", "3 Plan", "5 Decompose"]


def test_what_was_said_on_the_command_line_is_not_asked(tmp_path: Path, pane: Callable[..., Pane]) -> None:
    project = project_in_progress(tmp_path / "p")
    screen = pane(project.root, "flow", "run", "--through", "--optional", "skip")
    assert screen.ends() == "exit code 0"
    assert "Choice:" not in screen.shown()
    assert project.ran[-1] == "10 Deploy"


def test_anew_from_a_step_is_asked_about_first(tmp_path: Path, pane: Callable[..., Pane]) -> None:
    project = project_in_progress(tmp_path / "p")
    screen = pane(project.root, "flow", "run", "--from", "1")
    screen.types("Have step 1, Problem, and all after it done anew? [y/N]:", "n")
    assert screen.ends() == "exit code 1"
    assert project.ran == []
    assert project.state.step == "3"

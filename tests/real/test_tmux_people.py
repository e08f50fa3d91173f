"""People in a real terminal (tmux): the menu and a question answered by typing, and the same with nobody there."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.real.panes import Pane
from tests.support.sample_projects import make_sample_project, mask_volatile
from tests.support.terminals import assert_golden, run_piped

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]


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
    lines = mask_volatile(text).splitlines()
    first = next(number for number, line in enumerate(lines) if "  asks" in line)
    last = next(number for number, line in enumerate(lines) if "  answer  " in line)
    return "\n".join(lines[first : last + 1]) + "\n"


def test_the_menu_answered_by_a_letter(tmp_path: Path, pane: Callable[..., Pane]) -> None:
    root = make_sample_project(tmp_path / "p", "honest,parks:1-1")
    screen = pane(root, "run-epic", "1")
    screen.types("Choice:", "s")
    screen.until(lambda: "NOT WHOLE" in screen.shown())
    screen.types("Choice:", "leave")  # the epic is done but for the story that was left out
    screen.ends()
    assert_golden("tmux-intervention", asked_part(screen.shown()))


def test_a_question_answered_by_typing(tmp_path: Path, pane: Callable[..., Pane]) -> None:
    root = make_sample_project(tmp_path / "p", "honest,asking:1-1")
    screen = pane(root, "run-story", "1-1")
    screen.types("answer (Ctrl-D: not now):", "maybe")
    screen.types("answer (Ctrl-D: not now):", "2")
    assert screen.ends() == "exit code 0"
    assert_golden("tmux-question", asked_part(screen.shown()))


def test_the_same_with_nobody_there(tmp_path: Path) -> None:
    root = make_sample_project(tmp_path / "p", "honest,parks:1-1")
    done = run_piped("run-epic", "1", "--on-blocked", "skip", "--on-blocked", "left-out=leave", cwd=root)
    assert_golden("unattended-intervention", asked_part(done.stdout))

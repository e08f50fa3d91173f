"""Views of a run: what they are told, in order, and what becomes of them when nobody reads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bmad_autopilot.views.run_events import event
from bmad_autopilot.views.run_log import RunLog
from bmad_autopilot.views.run_view import EventView, LiveView, LogView, can_live
from bmad_autopilot.views.terminal import Terminal
from tests.views.entries import AGENTS, BEGAN, STORY
from tests.views.screen import Screen

REPLAY = """\
import sys
from bmad_autopilot.views.run_log import RunLog
from bmad_autopilot.views.run_view import LogView
from bmad_autopilot.views.terminal import Terminal
from tests.views.entries import STORY
view = LogView(Terminal(), RunLog({}), 9)
for _ in range(2000):
    for entry in STORY:
        view(*entry)
print("went on to its end", file=sys.stderr)
"""


def screen_terminal(width: int) -> Terminal:
    out = Terminal("never", width)
    out.is_terminal = True
    out.remeasure = lambda: None  # type: ignore[method-assign]
    return out


@pytest.mark.parametrize("width", [40, 80])
def test_a_log_above_lines_that_live_ends_as_the_log_alone(width: int, capfd: pytest.CaptureFixture[str]) -> None:
    out = screen_terminal(width)
    live = LiveView(out, RunLog(AGENTS), 9, 2)
    for entry in STORY:
        live(*entry)
    live.close()
    screen = Screen(width)
    screen.write(capfd.readouterr().out)
    plain = LogView(out, RunLog(AGENTS), 9)
    for entry in STORY:
        plain(*entry)
    assert screen.text == capfd.readouterr().out


def test_progress_is_drawn_and_is_gone_afterwards(capfd: pytest.CaptureFixture[str]) -> None:
    view = LiveView(screen_terminal(80), RunLog(AGENTS), 9, 2)
    view(*STORY[1])
    view(*STORY[6])
    screen = Screen(80)
    screen.write(capfd.readouterr().out)
    assert screen.text.endswith("● 1-2-login · dev · story 1 of 2")
    view.close()
    screen.write(capfd.readouterr().out)
    assert "●" not in screen.text


def test_what_is_told_in_the_middle_of_telling_comes_after(capfd: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C is told from a signal's handler, wherever that hits."""

    class Interrupted(LogView):
        def take(self, kind: str, data: object, at: float) -> None:
            if kind == "epic":
                self("stopping", {"times": 1}, at)
            super().take(kind, data, at)  # type: ignore[arg-type]

    view = Interrupted(Terminal("never", 80), RunLog(AGENTS), 9)
    view("epic", {"key": "epic-1", "before": "backlog", "after": "done"}, BEGAN)
    first, second = capfd.readouterr().out.splitlines()
    assert "backlog → done" in first
    assert "leaving" in second


def test_events_and_nothing_else(capfd: pytest.CaptureFixture[str]) -> None:
    view = EventView()
    view.say(["for a person"])
    for entry in STORY:
        view(*entry)
    assert capfd.readouterr().out.splitlines() == [event(*entry) for entry in STORY]


def test_whoever_goes_on_with_a_run_knows_its_rows(capfd: pytest.CaptureFixture[str]) -> None:
    view = LogView(Terminal("never", 80), RunLog(AGENTS), 9)
    view.catch_up(STORY[:13])
    assert capfd.readouterr().out == ""
    view(*STORY[13])
    assert "in-progress → review" in capfd.readouterr().out


def test_nobody_reads_and_the_run_goes_on() -> None:
    reader = subprocess.Popen(
        [sys.executable, "-c", REPLAY],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(("src", "."))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert reader.stdout is not None
    reader.stdout.readline()
    reader.stdout.close()
    _, said = reader.communicate(timeout=60)
    assert reader.returncode == 0
    assert said.splitlines() == [
        "bmad: nobody reads the output any more; the run goes on (bmad status shows it, Ctrl-C leaves it)",
        "went on to its end",
    ]


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("CI", "true"), ("TERM", "dumb")])
def test_where_nothing_is_drawn_anew(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    for variable in ("NO_COLOR", "CI"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    out = screen_terminal(80)
    assert can_live(out)
    monkeypatch.setenv(name, value)
    assert not can_live(out)


def test_a_pipe_is_never_drawn_on() -> None:
    out = screen_terminal(80)
    out.is_terminal = False
    assert not can_live(out)


def test_lanes_beside_each_other_are_told_apart() -> None:
    """Each has a first step of its own."""
    view = LogView(Terminal("never", 80), RunLog(AGENTS), 9)
    for lane, step in (("epic-1", "dev"), ("epic-2", "review")):
        call = {"lane": lane, "story": f"{lane[-1]}-1-a", "step": step, "role": "dev", "number": 1, "attempt": 1}
        view.lines("call", call, 1.0)
    view.lines("asked", {"lane": "epic-2", "story": "2-1-a", "question": "q"}, 2.0)
    (line,) = view.lines("row-set", {"lane": "epic-1", "key": "1-1-a"}, 3.0) or ["nothing"]
    assert line == "nothing"


def test_several_lanes_have_a_line_each_and_one_has_all_of_its_own(capfd: pytest.CaptureFixture[str]) -> None:
    view = LiveView(screen_terminal(80), RunLog(AGENTS), 9, 2)
    for number in range(1, 15):
        call = {"lane": f"epic-{number}", "story": f"{number}-1-a", "step": "dev", "number": 1, "attempt": 1}
        view.take("call", call, 1.0)
    shown = view._at_work()
    assert len(shown) == 13
    assert "1-1-a · dev" in shown[0]
    assert shown[-1] == "  and 2 more"
    for number in range(2, 15):
        view.take("ended", {"lane": f"epic-{number}", "story": "", "step": "dev", "finding": "good"}, 2.0)
    view.take("progress", {"lane": "epic-1", "seconds": 3.0, "last": "reads a file"}, 3.0)
    assert view._at_work()[-1] == "  reads a file"

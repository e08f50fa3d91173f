"""Views of a run: what they are told, in order, and what becomes of them when nobody reads."""

import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.views import autopilot, summary
from bmad_autopilot.views.run_log import RunLog
from bmad_autopilot.views.run_view import EventView, LiveStatus, LiveView, LogView, event_json, supports_live_view
from bmad_autopilot.views.summary import RunSummary
from bmad_autopilot.views.terminal import Terminal
from tests.support.journal_entries import AGENTS, STARTED_AT, STORY, ended
from tests.support.terminal_screen import Screen
from tests.views.test_autopilot import PREFACE
from tests.views.test_summary import WAITING

REPLAY = """\
import sys
from bmad_autopilot.views.run_log import RunLog
from bmad_autopilot.views.run_view import LogView
from bmad_autopilot.views.terminal import Terminal
from tests.support.journal_entries import STORY
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
        def handle_event(self, kind: str, data: object, at: float) -> None:
            if kind == "epic":
                self("stopping", {"times": 1}, at)
            super().handle_event(kind, data, at)  # type: ignore[arg-type]

    view = Interrupted(Terminal("never", 80), RunLog(AGENTS), 9)
    view("epic", {"key": "epic-1", "before": "backlog", "after": "done"}, STARTED_AT)
    first, second = capfd.readouterr().out.splitlines()
    assert "backlog → done" in first
    assert "leaving" in second


def test_events_and_nothing_else(capfd: pytest.CaptureFixture[str]) -> None:
    view = EventView()
    view.print_lines(["for a person"])
    for entry in STORY:
        view(*entry)
    assert capfd.readouterr().out.splitlines() == [event_json(*entry) for entry in STORY]


def test_whoever_goes_on_with_a_run_knows_its_rows(capfd: pytest.CaptureFixture[str]) -> None:
    view = LogView(Terminal("never", 80), RunLog(AGENTS), 9)
    view.replay(STORY[:13])
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
    assert supports_live_view(out)
    monkeypatch.setenv(name, value)
    assert not supports_live_view(out)


def test_a_pipe_is_never_drawn_on() -> None:
    out = screen_terminal(80)
    out.is_terminal = False
    assert not supports_live_view(out)


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
        view.handle_event("call", call, 1.0)
    shown = view._live_lines()
    assert len(shown) == 13
    assert "1-1-a · dev" in shown[0]
    assert shown[-1] == "  and 2 more"
    for number in range(2, 15):
        view.handle_event("ended", {"lane": f"epic-{number}", "story": "", "step": "dev", "finding": "good"}, 2.0)
    view.handle_event("progress", {"lane": "epic-1", "seconds": 3.0, "last": "reads a file"}, 3.0)
    assert view._live_lines()[-1] == "  reads a file"


# What a run is at just now.

CALL = ("call", {"story": "1-2-login", "step": "dev", "role": "dev", "number": 1, "attempt": 1}, STARTED_AT)


def lines(now: LiveStatus, width: int = 80) -> list[str]:
    return now.lines(Terminal("never", width))


def progress(**more: Any) -> tuple[str, dict[str, Any], float]:
    return (
        "progress",
        {"number": 1, "step": "dev", "seconds": 192.0, "last": "Edit src/login.py", **more},
        STARTED_AT,
    )


def test_story_step_elapsed_tokens_cost_and_the_last_thing_done() -> None:
    now = LiveStatus(5)
    now.handle_event("story", {"story": "1-2-login", "status": "backlog"}, STARTED_AT)
    now.handle_event(*ended("1-1-x", "dev", 0, "good"), STARTED_AT)
    now.handle_event(*CALL)
    now.handle_event(*progress(tokens=48210, dollars=0.42))
    assert lines(now, 100) == [
        "● 1-2-login · dev · 3 min 12 s · 48,210 tokens · $0.42 · story 1 of 5 · $0.42 so far",
        "  Edit src/login.py",
    ]


def test_a_narrow_window_loses_no_figure() -> None:
    now = LiveStatus(5)
    now.handle_event("story", {"story": "1-2-login", "status": "backlog"}, STARTED_AT)
    now.handle_event(*CALL)
    now.handle_event(*progress(tokens=48210, dollars=0.42))
    assert lines(now, 40) == [
        "● 1-2-login · dev · 3 min 12 s",
        "  48,210 tokens · $0.42",
        "  story 1 of 5",
        "  Edit src/login.py",
    ]


def test_a_call_that_an_earlier_session_started_is_shown_too() -> None:
    now = LiveStatus()
    now.handle_event(*progress(story="1-2-login", last=""))
    assert lines(now) == ["● 1-2-login · dev · 3 min 12 s"]


@pytest.mark.parametrize("kind", ["ended", "check", "asked", "waiting", "left", "finished"])
def test_nothing_is_drawn_while_nothing_goes_on(kind: str) -> None:
    now = LiveStatus()
    now.handle_event(*CALL)
    now.handle_event(kind, {}, STARTED_AT)
    assert lines(now) == []


def test_waiting_and_checking() -> None:
    now = LiveStatus()
    now.handle_event("checking", {"story": "1-2-login"}, STARTED_AT)
    assert lines(now) == ["● 1-2-login · checks"]
    now.handle_event("resting", {"why": "limit", "until": STARTED_AT + 3600}, STARTED_AT)
    assert lines(now) == ["● waits until 13:00"]


@given(st.text(max_size=200), st.text(max_size=40), st.integers(20, 100))
def test_an_agents_words_steer_nothing(last: str, story: str, width: int) -> None:
    now = LiveStatus(2)
    for entry in STORY[:2]:
        now.handle_event(*entry)
    now.handle_event("call", {**CALL[1], "story": story}, STARTED_AT)
    now.handle_event(*progress(last=last))
    for line in lines(now, width):
        assert not any(char < " " or "\x7f" <= char <= "\x9f" for char in line)


# A run as JSON lines.

SCHEMA = json.loads(files("bmad_autopilot").joinpath("schemas/run-events.schema.json").read_text())


def validate(line: str) -> Any:
    document = json.loads(line)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    return document


def test_every_entry_keeps_its_schema() -> None:
    for entry in STORY:
        assert validate(event_json(*entry))["event"] == entry[0]


def test_so_do_what_comes_before_and_after() -> None:
    validate(event_json("plan", autopilot.run_preview_document(PREFACE), STARTED_AT))
    for told in (WAITING, RunSummary("completed", "epic-1", "run", (), ())):
        validate(event_json("summary", {**summary.document(told), "exit_code": 3}, STARTED_AT))


def test_the_schema_refuses_what_is_no_event() -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    call = {"version": 1, "event": "call", "at": 1.0}
    assert not validator.is_valid(call)
    assert not validator.is_valid({"version": 2, "event": "left", "at": 1.0})
    assert validator.is_valid({"version": 1, "event": "left", "at": 1.0, "new": 1})


@given(st.dictionaries(st.text(max_size=10), st.text(max_size=50), max_size=5), st.floats(0, 1e10))
def test_whatever_is_told_it_is_one_line_of_ascii(data: dict[str, str], at: float) -> None:
    line = event_json("ended", {**data, "event": "forged"}, at)
    assert line.isascii()
    assert "\n" not in line
    assert json.loads(line)["event"] == "ended"

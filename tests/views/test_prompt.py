"""A person at the terminal: asked, told what is wrong with an answer, and free to say nothing."""

import io
import os
import pty
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from bmad_autopilot.core.stop_causes import CAUSE_MENUS, Cause, StopKind
from bmad_autopilot.io.files import write_atomic
from bmad_autopilot.runs.question_file import RunQuestion
from bmad_autopilot.views.prompt import MAX_TRIES, POLL_SECONDS, TerminalPrompter
from bmad_autopilot.views.questions import intervention_heading, option_lines
from bmad_autopilot.views.run_log import RunLog
from bmad_autopilot.views.run_view import LogView
from bmad_autopilot.views.terminal import Terminal

STORE = RunQuestion("1-2-login", "dev", 1, "Which store?\nBoth run.", "", ("redis", "postgres"), "redis")
FAILED = RunQuestion(
    "1-2-login",
    "dev",
    2,
    "Try again?",
    "exit 3",
    ("retry", "skip", "fix", "abort"),
    "retry",
    kind=StopKind.INTERVENTION,
)
OPEN = RunQuestion("1-2-login", "dev", 1, "What should the page say?")


def human() -> TerminalPrompter:
    """No fixture: between those and the test `capfd` takes other files, and an outlet keeps the one it found."""
    out = Terminal("never", 60)
    out.is_terminal = True
    return TerminalPrompter(LogView(out, RunLog({}), 9))


def says(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_the_question_its_options_and_the_recommended_one(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    says(monkeypatch, "2\n")
    assert human().ask(STORE._asdict()) == "2"
    assert capfd.readouterr().out == (
        "\n  Which store?\n  Both run.\n    1  redis  (recommended)\n    2  postgres\nanswer (Ctrl-D: not now): "
    )


def test_an_intervention_is_a_menu_with_a_letter_for_each_choice(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    says(monkeypatch, "e\n")
    asked = FAILED._replace(
        options=("retry", "skip", "fix", "extend", "abort"),
        context="Reason: stopped at its time limit",
        recommended="extend",
        cause="timeout",
        because="it was still at work",
    )
    assert human().ask(asked._asdict()) == "e"
    assert (
        capfd.readouterr().out
        == """
[!] Story 1-2-login TIMED OUT
    Reason: stopped at its time limit
    Try again?
    [r] Retry story (dev once more)
    [s] Skip story (marked blocked, the epic goes on)
    [f] Fix manually (you take over)
    [e] Extend (as much time again)  (recommended: it was still at work)
    [a] Abort (the run ends)
    Choice: """
    )


def test_two_choices_with_one_letter_are_named_in_full() -> None:
    asked = FAILED._replace(options=("more", "approve", "skip", "fix", "abort"), cause="rounds")
    marks = [line.split(" ")[0] for line in option_lines(asked)]
    assert marks == ["[m]", "[approve]", "[s]", "[f]", "[abort]"]


@pytest.mark.parametrize("cause", [*Cause, "of a newer version", ""])
def test_every_cause_has_a_menu(cause: str) -> None:
    options = CAUSE_MENUS[Cause(cause)].options if cause in set(Cause) else ("retry", "wait")
    asked = FAILED._replace(cause=cause, options=options)
    assert intervention_heading(asked).startswith("[!] ")
    assert len(list(option_lines(asked))) == len(options)


def test_what_is_no_answer_is_asked_again_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    says(monkeypatch, "\nok\nA greeting, and the date\n")
    assert human().ask(OPEN._asdict()) == "A greeting, and the date"
    shown = capfd.readouterr().out
    assert "an answer cannot be empty" in shown
    assert "'ok' alone does not say what is asked" in shown


@pytest.mark.parametrize("letter", ["r", "s", "f", "a", "retry", "R", "1", "4"])
def test_letters_of_an_intervention(monkeypatch: pytest.MonkeyPatch, letter: str) -> None:
    says(monkeypatch, f"{letter}\n")
    assert human().ask(FAILED._asdict()) == letter


def test_ctrl_d_is_not_now(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, "")
    assert human().ask(STORE._asdict()) is None


def test_nobody_is_asked_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, "nonsense\n" * 1000)
    assert human().ask(STORE._asdict()) is None
    assert MAX_TRIES < 1000


def test_a_line_that_is_no_text_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe\n2\n"), "utf-8"))
    assert human().ask(STORE._asdict()) in ("2", None)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_is_told_on_to_whoever_looks_after_the_run(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    class Interrupted:
        def readline(self, size: int) -> str:
            signal.raise_signal(number)
            return "2\n"

    heard: list[int] = []

    def hear(number: int, frame: FrameType | None) -> None:
        heard.append(number)

    before = signal.signal(number, hear)
    try:
        monkeypatch.setattr("sys.stdin", Interrupted())
        assert human().ask(STORE._asdict()) is None
        assert heard == [number]
        assert signal.getsignal(number) is hear
    finally:
        signal.signal(number, before)


def test_an_agents_question_steers_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    says(monkeypatch, "")
    human().ask(
        STORE._replace(question="\x1b[2Jgone?\x07", context="a\x9bb", options=("\x1b]0;x\x07y",))._asdict()
    )
    assert not any(char in capfd.readouterr().out for char in "\x1b\x07\x9b")


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """What is written to it is typed at the terminal that is standard input."""
    master, slave = pty.openpty()
    with open(slave, encoding="utf-8") as typed:
        monkeypatch.setattr("sys.stdin", typed)
        yield master
    os.close(master)


def test_an_answer_given_elsewhere_ends_the_asking_at_once(
    keyboard: int, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    os.write(keyboard, b"half an ans")
    there = tmp_path / "001.json"
    there.write_text("{}")
    asked_elsewhere = {"answered": lambda: there.read_text() != "{}", "watched": (str(there),)}
    writer = threading.Thread(target=write_atomic, args=(str(there), b'{"answer": "redis"}'))
    writer.start()
    began = time.monotonic()
    assert human().ask({**STORE._asdict(), **asked_elsewhere}) is None
    assert time.monotonic() - began < POLL_SECONDS / 2, "nobody told it to look"
    writer.join()
    assert "no longer asked here; what was typed is not used" in capfd.readouterr().out
    os.write(keyboard, b"2\n")
    assert human().ask({**STORE._asdict(), "answered": lambda: False}) == "2"


def test_a_line_that_comes_too_late_is_said_and_not_used(keyboard: int, capfd: pytest.CaptureFixture[str]) -> None:
    os.write(keyboard, b"postgres\n")
    assert human().ask({**STORE._asdict(), "answered": lambda: True}) is None
    assert "no longer asked here; not used: postgres" in capfd.readouterr().out

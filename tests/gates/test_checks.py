"""Real checks: what they say is kept, what they start is ended, whatever becomes of us."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import FileError
from bmad_autopilot.gates import checks
from bmad_autopilot.gates.check_output import CheckFailure, FailureKind
from bmad_autopilot.gates.checks import CheckReport, CheckResult, run_checks
from tests.agents.shim.test_redact import SHAPES
from tests.support.agent_stubs import TIMEOUT, is_alive, wait_until

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="descendants are found by /proc")


def run(folder: Path, *commands: str, seconds: float = 60, **environment: str) -> CheckReport:
    (folder / "work").mkdir(exist_ok=True)
    known = {"PATH": os.environ["PATH"], **environment}
    return run_checks(commands, str(folder / "work"), known, str(folder / "logs"), seconds=seconds)


def pids(folder: Path, count: int) -> list[int]:
    """The processes that wrote down who they are."""
    files = folder / "work"

    def written() -> list[Path]:
        return [file for file in files.glob("*.pid") if file.read_text().endswith("\n")]

    wait_until(lambda: len(written()) == count, f"{count} processes")
    return [int(file.read_text()) for file in written()]


def test_no_commands_is_a_pass_that_says_so(tmp_path):
    report = run(tmp_path)
    assert (report.passed, report.is_empty, report.signature) == (True, True, "")


def test_all_checks_run_and_all_failures_are_told(tmp_path):
    report = run(tmp_path, "echo one; exit 3", "echo two", "echo three >&2; false")
    assert [check.exit for check in report.checks] == [3, 0, 1]
    assert not report.passed
    assert not report.is_empty
    assert [(one.command, one.exit, one.excerpt) for one in report.failures] == [
        ("echo one; exit 3", 3, "one"),
        ("echo three >&2; false", 1, "three"),
    ]
    assert [Path(check.log).name for check in report.checks] == ["01.log", "02.log", "03.log"]
    assert [Path(check.log).read_text() for check in report.checks] == ["one\n", "two\n", "three\n"]
    assert "$ echo one; exit 3\n(exit code 3)\none" in report.failure_text


def test_a_check_has_its_folder_its_environment_and_no_input(tmp_path):
    report = run(
        tmp_path, 'test "$(pwd)" = "$WANTED" && test -z "$HOME" && ! read line', WANTED=str(tmp_path / "work")
    )
    assert report.passed, report.failure_text


def test_output_and_errors_stand_in_one_log_in_order(tmp_path):
    report = run(tmp_path, "echo a; echo b >&2; echo c")
    assert Path(report.checks[0].log).read_text() == "a\nb\nc\n"


def test_the_same_failure_has_the_same_signature(tmp_path):
    command = 'echo "FAILED test_x in /tmp/$$/x"; echo "took 0.$$ s"; exit {}'
    one, two, other = (run(tmp_path, command.format(code)) for code in (1, 1, 2))
    assert one.failures[0].excerpt != two.failures[0].excerpt
    assert one.signature == two.signature != other.signature
    assert run(tmp_path, "true").signature == ""


def test_a_missing_program_is_the_environments(tmp_path):
    report = run(tmp_path, "no-such-program-anywhere")
    assert report.failures[0].kind is FailureKind.ENVIRONMENT
    assert report.is_environment
    assert not run(tmp_path, "no-such-program-anywhere", "exit 1").is_environment


def test_a_missing_folder_or_a_command_with_a_nul_is_a_failure(tmp_path):
    known = {"PATH": os.environ["PATH"]}
    report = run_checks(["true"], str(tmp_path / "nowhere"), known, str(tmp_path / "logs"), seconds=60)
    assert [(one.exit, one.kind) for one in report.failures] == [(127, FailureKind.ENVIRONMENT)]
    assert "cannot be started" in report.failures[0].excerpt
    assert not run(tmp_path, "true\0").passed


def test_a_log_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "logs" / "01.log").mkdir(parents=True)
    with pytest.raises(FileError, match="cannot be written"):
        run(tmp_path, "true")


def test_a_check_killed_by_a_signal_fails(tmp_path):
    assert run(tmp_path, "kill -SEGV $$").checks[0].exit == 128 + signal.SIGSEGV


def test_a_flood_is_bounded_and_its_ends_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "MAX_OUTPUT", 100_000)
    report = run(tmp_path, "echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last; exit 1")
    log = Path(report.checks[0].log).read_bytes()
    assert log.startswith(b"first\n")
    assert log.endswith(b"last\n")
    assert b"bytes left out" in log
    assert len(log) < 110_000
    assert report.failures[0].excerpt.endswith("last")


def test_output_within_the_bound_is_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "MAX_OUTPUT", 100_000)
    report = run(tmp_path, "head -c 90000 /dev/zero | tr '\\0' x")
    assert Path(report.checks[0].log).read_bytes() == b"x" * 90_000


SLEEPERS = (
    "sleep 600 & echo $! > a.pid; "
    "setsid sh -c 'echo $$ > b.pid; exec sleep 600' & "
    "(setsid sh -c 'echo $$ > c.pid; trap \"\" TERM; while :; do sleep 600; done' &) ; "
)


def gone(processes: list[int]) -> None:
    wait_until(lambda: not any(map(is_alive, processes)), "all of them gone")


@linux_only
def test_at_the_time_limit_everything_it_started_is_ended(tmp_path):
    wait = "while [ ! -s c.pid ]; do sleep 0.01; done; "
    report = run(tmp_path, SLEEPERS + wait + "echo said; sleep 600", "echo next", seconds=3)
    assert [check.exit for check in report.checks] == [None, 0]
    assert report.failures[0].kind is FailureKind.CODE
    assert report.failures[0].excerpt.startswith("said\n[did not end in 3 s")
    assert "time limit" in report.failure_text
    gone(pids(tmp_path, 3))


@linux_only
@pytest.mark.parametrize("ending", ["exit 0", "exit 1", "exec sleep 0.1"])
def test_what_a_check_leaves_running_is_ended_with_it(tmp_path, ending):
    wait = "while [ ! -s b.pid ] || [ ! -s c.pid ]; do sleep 0.01; done; "
    report = run(tmp_path, SLEEPERS + wait + ending)
    assert report.passed is (ending != "exit 1")
    gone(pids(tmp_path, 3))


def test_a_check_that_closes_its_output_is_waited_for(tmp_path):
    report = run(tmp_path, "exec >&- 2>&-; sleep 0.2; exit 4")
    assert report.checks[0].exit == 4


def test_a_check_is_told_before_it_is_killed(tmp_path):
    report = run(tmp_path, "trap 'echo tidied; exit 1' TERM; echo up; while :; do sleep 0.05; done", seconds=2)
    assert "tidied" in report.failures[0].excerpt


PARENT = """\
import os, sys
from bmad_autopilot.gates.checks import run_checks
run_checks([sys.argv[1]], sys.argv[2], {"PATH": os.environ["PATH"]}, sys.argv[3], seconds=600)
"""


@linux_only
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_when_we_are_killed_or_interrupted_nothing_goes_on(tmp_path, number):
    (tmp_path / "work").mkdir()
    command = SLEEPERS + "echo $$ > d.pid; sleep 600; true"
    argv = [sys.executable, "-c", PARENT, command, str(tmp_path / "work"), str(tmp_path / "logs")]
    parent = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
    try:
        running = pids(tmp_path, 4)
        assert all(map(is_alive, running))
        os.kill(parent.pid, number)
        parent.wait(TIMEOUT)
        gone(running)
    finally:
        parent.kill()
        parent.wait()


def test_checks_can_run_in_threads(tmp_path):
    reports: list[CheckReport] = []
    threads = [
        threading.Thread(target=lambda n=n: reports.append(run(tmp_path / str(n), f"exit {n}"))) for n in range(3)
    ]
    for n in range(3):
        (tmp_path / str(n)).mkdir()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
    assert sorted(report.checks[0].exit or 0 for report in reports) == [0, 1, 2]


def test_a_disk_that_is_full_is_said(tmp_path, monkeypatch):
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    monkeypatch.setattr(checks, "_create_log", lambda path: os.fdopen(os.open("/dev/full", os.O_WRONLY), "wb", 0))
    with pytest.raises(FileError, match="No space left"):
        run(tmp_path, "echo x; sleep 600")


def test_a_report_survives_being_stored(tmp_path):
    report = run(tmp_path, "echo no; exit 1", "true")
    assert CheckReport.from_json(report.to_json()) == report
    shutil.rmtree(tmp_path / "logs")
    assert CheckReport.from_json(report.to_json()) == report


@given(
    st.lists(
        st.tuples(st.text(), st.none() | st.integers(0, 255), st.sampled_from(FailureKind), st.text()), max_size=4
    ),
    st.text(),
)
def test_any_report_survives(rows, signature):
    failures = tuple(CheckFailure(c, e, k, x) for c, e, k, x in rows if e != 0)
    report = CheckReport(tuple(CheckResult(c, e, 0.5, "log") for c, e, _, _ in rows), failures, signature)
    assert CheckReport.from_json(report.to_json()) == report


@pytest.mark.parametrize(
    "text",
    [
        *("", "{}", "[]", "null", "{", '{"checks": []}', "[" * 100_000),
        '{"checks": [{"command": "a", "exit": 1, "seconds": 1, "log": ""}], "failures": [], "signature": ""}',
        '{"checks": [{"command": "a", "exit": true, "seconds": 1, "log": ""}], "failures": [], "signature": ""}',
        '{"checks": [{"command": 1, "exit": 0, "seconds": 1, "log": ""}], "failures": [], "signature": ""}',
        '{"checks": [], "failures": [], "signature": 3}',
        '{"checks": [7], "failures": [], "signature": ""}',
    ],
)
def test_what_is_no_report_is_none(text):
    assert CheckReport.from_json(text) is None


def test_one_that_is_to_end_is_ended_with_what_it_has_started(tmp_path):
    begun = tmp_path / "work" / "a.pid"
    (tmp_path / "work").mkdir()
    report = run_checks(
        [f"echo $$ > {begun.name}; echo here; sleep 300"],
        str(tmp_path / "work"),
        {"PATH": os.environ["PATH"]},
        str(tmp_path / "logs"),
        seconds=60,
        should_stop=begun.exists,
    )
    assert report.checks[0].exit is None
    assert report.checks[0].seconds < 30
    wait_until(lambda: not is_alive(*pids(tmp_path, 1)), "its end")


def test_nobody_who_could_end_it_does(tmp_path):
    known = {"PATH": os.environ["PATH"]}
    asked: list[int] = []

    def ends() -> bool:
        asked.append(1)
        return False

    report = run_checks(["sleep 1"], str(tmp_path), known, str(tmp_path / "logs"), seconds=60, should_stop=ends)
    assert report.passed
    assert 1 <= len(asked) < 30


def printing(folder: Path, text: str, *, exit: int = 1) -> CheckReport:
    (folder / "said.txt").write_bytes(text.encode())
    return run(folder, f"cat {folder}/said.txt; exit {exit}")


def stored(folder: Path, report: CheckReport) -> bytes:
    """Whatever comes of a check: its log, its report, what an agent or a person is told."""
    logs = b"".join(path.read_bytes() for path in (folder / "logs").iterdir())
    return logs + report.to_json().encode() + report.failure_text.encode()


@pytest.mark.parametrize("size", [3, 100, checks.READ_BYTES])
def test_a_secret_that_a_check_prints_is_nowhere_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(checks, "READ_BYTES", size)
    monkeypatch.setenv("DEPLOY_TOKEN", "correct horse battery")
    said = "\n".join(
        ["error: it begins", *("".join(one) for one in SHAPES.values()), "correct horse battery", "end"]
    )
    report = printing(tmp_path, said)
    kept = stored(tmp_path, report)
    for kind, (_, secret, _) in SHAPES.items():
        assert secret.encode() not in kept, kind
    assert b"correct horse battery" not in kept
    assert b"error: it begins" in kept
    assert report.failure_text.endswith("end")


def test_a_secret_of_the_checks_own_environment_is_not_kept(tmp_path: Path) -> None:
    report = run(tmp_path, "echo got $MY_API_KEY; exit 1", MY_API_KEY="correct-horse")
    assert b"correct-horse" not in stored(tmp_path, report)


def test_a_token_in_colours_is_not_put_together_for_the_agent(tmp_path: Path) -> None:
    token = SHAPES["github classic"][1]
    report = printing(tmp_path, f"error \x1b[31m{token[:12]}\x1b[0m{token[12:]}\n")
    assert token not in report.failure_text


@pytest.mark.parametrize("shift", range(0, 60, 7))
def test_what_is_left_out_of_a_log_does_not_halve_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shift: int
) -> None:
    monkeypatch.setattr(checks, "MAX_OUTPUT", 2000)
    token = SHAPES["github classic"][1]
    edge = "x" * (1000 - shift - 2)
    kept = stored(tmp_path, printing(tmp_path, f"{edge}  {token} {'middle ' * 900} {token}  {edge}"))
    assert token[:14].encode() not in kept
    assert token[-14:].encode() not in kept
    assert b"bytes left out" in kept


def test_a_large_log_is_cleared_of_secrets_in_bounded_time(tmp_path: Path) -> None:
    line = f"password token key {SHAPES['npm'][1]} api_key secret\\n"
    began = time.monotonic()
    report = run(tmp_path, f"yes '{line * 20}' | head -c 12000000", seconds=120)
    assert time.monotonic() - began < 60
    log = Path(report.checks[0].log)
    assert log.stat().st_size <= checks.MAX_OUTPUT + 100
    assert SHAPES["npm"][1].encode() not in log.read_bytes()


# Checks: what is kept of their output, to the byte.


def log_of(folder: Path, size: int) -> bytes:
    report = run(folder, f"head -c {size} /dev/zero | tr '\\0' x")
    return Path(report.checks[0].log).read_bytes()


@pytest.mark.parametrize(
    ("size", "kept"),
    [
        (50, b"x" * 50),
        (51, b"x" * 51),
        (100, b"x" * 100),
        (101, b"x" * 50 + "\n[… 1 bytes left out …]\n".encode() + b"x" * 50),
        (5000, b"x" * 50 + "\n[… 4900 bytes left out …]\n".encode() + b"x" * 50),
    ],
)
def test_half_is_kept_from_each_end(tmp_path, monkeypatch, size, kept):
    monkeypatch.setattr(checks, "MAX_OUTPUT", 100)
    assert log_of(tmp_path, size) == kept


def test_a_flood_in_small_pieces_is_bounded_as_it_comes(tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "MAX_OUTPUT", 100)
    monkeypatch.setattr(checks, "READ_BYTES", 30)
    report = run(tmp_path, "for n in $(seq 100 299); do echo $n; done; exit 1")
    log = Path(report.checks[0].log).read_bytes()
    every = "".join(f"{n}\n" for n in range(100, 300)).encode()
    assert log == every[:50] + "\n[… 700 bytes left out …]\n".encode() + every[-50:]
    assert report.failures[0].excerpt.startswith("100\n101")
    assert report.failures[0].excerpt.endswith("298\n299")


def test_a_log_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "logs" / "01.log").mkdir(parents=True)
    with pytest.raises(FileError) as caught:
        run(tmp_path, "true")
    assert caught.value.location is not None
    assert caught.value.location.file.endswith("01.log")


def test_why_a_check_could_not_be_started_stands_in_its_log(tmp_path):
    folder = str(tmp_path / "logs")
    report = run_checks(["true"], str(tmp_path / "nowhere"), {"PATH": os.environ["PATH"]}, folder, seconds=60)
    assert "cannot be started" in Path(report.checks[0].log).read_text()


def test_a_signature_is_sixteen_letters_and_tells_failures_apart(tmp_path):
    one = run(tmp_path, "echo error a; exit 1").signature
    assert len(one) == 16
    assert one != run(tmp_path, "echo error b; exit 1").signature
    assert one != run(tmp_path, "echo error a; exit 1", "echo error b; exit 1").signature


def test_a_check_cannot_end_its_keeper_by_the_way(tmp_path):
    report = run(tmp_path, "kill -TERM $PPID; kill -INT $PPID; kill -HUP $PPID; echo still here; exit 3")
    assert [(one.exit, one.excerpt) for one in report.failures] == [(3, "still here")]


def test_a_check_that_is_told_has_time_to_tidy_up(tmp_path):
    tidy = "trap 'sleep 0.5; echo done > tidied; exit 0' TERM"
    run(tmp_path, f"{tidy}; while :; do sleep 0.05; done", seconds=0.5)
    assert (tmp_path / "work" / "tidied").exists()


def test_the_time_it_took_is_kept(tmp_path):
    assert 0 < run(tmp_path, "true").checks[0].seconds < 60


def test_the_time_limit_is_told(tmp_path):
    report = run(tmp_path, "exec sleep 60", seconds=0.5)
    assert report.failures[0].excerpt == "[did not end in 0.5 s, and was stopped]"
    assert report.checks[0].exit is None

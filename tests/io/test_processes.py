"""The door to other programs: it always comes back, with bounded output, and hands nothing over."""

import os
from pathlib import Path

import pytest

from bmad_autopilot.io.processes import MAX_OUTPUT, Probe, find_all_programs, run_probe, run_probes, run_process
from tests.support.agent_stubs import is_alive, wait_until
from tests.support.isolated_path import IsolatedPath


def test_an_answer_has_its_exit_code_and_both_streams(machine: IsolatedPath, tmp_path: Path) -> None:
    machine.add("x", "echo out; echo err >&2; exit 3")
    answer = run_probe(Probe(("x",)), str(tmp_path))
    assert answer is not None
    assert (answer.code, answer.text, answer.err, answer.reason) == (3, "out\n", "err\n", "err")


def test_a_program_that_is_not_there_has_no_answer(machine: IsolatedPath, tmp_path: Path) -> None:
    (machine.bin / "folder").mkdir()
    (machine.bin / "plain").write_text("not executable")
    questions = {name: Probe((name,)) for name in ("nowhere", "folder", "plain")}
    assert run_probes(questions, str(tmp_path)) == {}


def test_one_that_cannot_be_started_says_why(machine: IsolatedPath, tmp_path: Path) -> None:
    (machine.bin / "odd").write_bytes(b"\x7fELF nothing of the kind")
    (machine.bin / "odd").chmod(0o755)
    answer = run_probe(Probe(("odd",)), str(tmp_path))
    assert answer is not None
    assert not answer.ok
    assert "cannot be started" in answer.reason


def test_nothing_of_our_input_reaches_it(machine: IsolatedPath, tmp_path: Path) -> None:
    machine.link("cat")
    reader, writer = os.pipe()
    os.write(writer, b"typed by the user\n")
    kept = os.dup(0)
    os.dup2(reader, 0)
    try:
        answer = run_probe(Probe(("cat",)), str(tmp_path), seconds=5)
    finally:
        os.dup2(kept, 0)
        for fd in (reader, writer, kept):
            os.close(fd)
    assert answer is not None
    assert (answer.code, answer.text) == (0, "")


def test_endless_output_is_cut_short(machine: IsolatedPath, tmp_path: Path) -> None:
    machine.link("yes")
    answer = run_probe(Probe(("yes",)), str(tmp_path), seconds=30)
    assert answer is not None
    assert answer.code is None
    assert "said more than" in answer.problem
    assert len(answer.out) < 2 * MAX_OUTPUT


@pytest.mark.parametrize(
    "script",
    ["sleep 300", "exec >&- 2>&-; sleep 300", "sleep 300 & exit 0", "while :; do echo error >&2; done"],
)
def test_the_time_limit_holds(machine: IsolatedPath, tmp_path: Path, script: str) -> None:
    """Also for one that closes its output and stays, one that leaves a child behind with it open, and one that
    never stops writing errors."""
    machine.add("slow", script)
    answer = run_probe(Probe(("slow",)), str(tmp_path), seconds=0.3)
    assert answer is not None
    assert answer.problem == "did not answer in 0.3 s"


def test_only_git_and_gh_get_the_users_own_environment(
    machine: IsolatedPath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_TOKEN", "hush")
    monkeypatch.setenv("GIT_DIR", "/somewhere/else")
    machine.link("env")
    plain, own = (run_probe(Probe(("env",), inherits_environment=own), str(tmp_path)) for own in (False, True))
    assert plain is not None
    assert own is not None
    assert "hush" not in plain.text
    assert "GH_TOKEN=hush" in own.text
    assert "GIT_DIR=" not in own.text


def test_all_programs_of_a_name_in_the_order_of_path(
    machine: IsolatedPath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "x").symlink_to(machine.add("x", ":"))
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", f"{tmp_path}/first", str(machine.bin), str(machine.bin)]))
    assert find_all_programs("x") == [f"{tmp_path}/first/x", str(machine.bin / "x")]


def test_no_path_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert find_all_programs("git") == []
    assert run_probe(Probe(("git", "--version")), "/") is None


def test_a_child_that_outlives_its_parent_and_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"(trap '' TERM; echo $BASHPID > {pid}; while :; do sleep 0.1; done) & exit 0"
    answer = run_process(["/bin/bash", "-c", script], os.environ, seconds=1, limit=1000, grace=0.1)
    assert answer.problem == "did not answer in 1 s"
    wait_until(lambda: not is_alive(int(pid.read_text())), "the child has ended")

"""A question asked at a terminal, everything killed, answered from another one, gone on with: told once."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
from pathlib import Path

import pytest

from bmad_autopilot.runs.checkpoints import list_checkpoints
from bmad_autopilot.runs.index import all_runs, find_run
from bmad_autopilot.runs.layout import runs_folder
from bmad_autopilot.runs.questions import questions_of
from tests.support.agent_stubs import wait_until
from tests.support.sample_projects import make_sample_project
from tests.support.terminals import COMMAND, run_piped

pytestmark = pytest.mark.real


def read_some(master: int, seen: list[bytes]) -> bytes:
    seen.append(os.read(master, 65536))
    return b"".join(seen)


def killed_at_its_question(root: Path) -> None:
    """The run, and every process of its group."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 80, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    child = subprocess.Popen(
        [*COMMAND, "run-epic", "1"],
        cwd=root,
        env=environment,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    seen: list[bytes] = []
    try:
        wait_until(lambda: b"not now" in read_some(master, seen), "it asks", 40.0)
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        os.close(master)


def test_answered_once_and_told_once(tmp_path: Path) -> None:
    root = make_sample_project(tmp_path / "p", "asking", stories=1)
    killed_at_its_question(root)

    shown = run_piped("questions", cwd=root)
    assert "nobody is at work here" in shown.stdout
    ((path, asked),) = questions_of(find_run(runs_folder(str(root)), None).folder)[0]
    said = asked.options[0] if asked.options else "The first of the two, as in the architecture."
    done = run_piped("answer", "1-1", said, cwd=root)
    assert done.returncode == 0
    assert "bmad resume" in done.stdout
    again = run_piped("answer", "1-1", said, cwd=root)
    assert again.returncode == 1
    assert "has no open question" in again.stderr

    ended = run_piped("resume", cwd=root)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    folder = Path(path).parent.parent
    told = [prompt for prompt in folder.glob("steps/*/attempt-*/prompt.md") if said in prompt.read_text()]
    assert [str(prompt.relative_to(folder)) for prompt in told] == ["steps/02-dev/attempt-2/prompt.md"]
    journal = (folder / "journal.jsonl").read_text()
    assert journal.count('"kind":"asked"') == journal.count('"kind":"answered"') == 1


def test_two_answers_at_the_same_time(tmp_path: Path) -> None:
    """Whoever comes second is told, and what the first said stands."""
    root = make_sample_project(tmp_path / "p", "asking", stories=1)
    assert run_piped("run-epic", "1", cwd=root).returncode == 3
    children = [
        subprocess.Popen(
            [*COMMAND, "answer", "1-1", number],
            cwd=root,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in ("1", "2", "1", "2")
    ]
    said = [(*child.communicate(timeout=60), child.returncode) for child in children]
    assert sorted(code for _, _, code in said) == [0, 1, 1, 1]
    ((_, asked),) = questions_of(find_run(runs_folder(str(root)), None).folder)[0]
    winner = next(out for out, _, code in said if code == 0)
    assert asked.answer is not None
    assert asked.answer in winner
    assert all("answered" in err or "no open question" in err for _, err, code in said if code)


def test_of_a_run_and_its_fork_the_newer_is_meant_unless_one_is_named(tmp_path: Path) -> None:
    root = make_sample_project(tmp_path / "p", "asking", stories=1)
    assert run_piped("run-epic", "1", cwd=root).returncode == 3
    (old,) = all_runs(runs_folder(str(root)))
    at = list_checkpoints(old.folder)[0].id
    assert run_piped("resume", "--checkpoint", at, cwd=root).returncode == 3
    new = next(run for run in all_runs(runs_folder(str(root))) if run.id != old.id)
    shown = run_piped("questions", cwd=root).stdout
    assert f"--run {old.id}" in shown
    assert f"--run {new.id}" in shown
    assert run_piped("answer", "1-1", "1", cwd=root).returncode == 0
    assert [one.answer is not None for run in (old, new) for _, one in questions_of(run.folder)[0]] == [
        False,
        True,
    ]
    assert run_piped("answer", "1-1", "2", "--run", old.id, cwd=root).returncode == 0
    wrong = run_piped("answer", "1-1", "2", "--run", "no-such", cwd=root)
    assert wrong.returncode != 0

"""A log of ours that somebody keeps in the very work tree: it changes with every line, and is nobody's work."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from bmad_autopilot.engine.run_setup import own_output_files
from tests.support.agent_stubs import wait_until
from tests.support.bmad_project import git
from tests.support.sample_projects import make_sample_project
from tests.support.terminals import COMMAND


def logged(root: Path, log: str, *words: str) -> subprocess.Popen[bytes]:
    with (root / log).open("wb") as file:
        return subprocess.Popen([*COMMAND, *words], cwd=root, stdin=subprocess.DEVNULL, stdout=file, stderr=file)


@pytest.mark.real
def test_it_settles_and_the_log_is_in_no_commit(tmp_path: Path) -> None:
    """Also of a resume, whose log was not there when the run began."""
    root = make_sample_project(tmp_path / "p", stories=1, seconds=0.5)
    first = logged(root, "first.log", "run-epic", "1")
    wait_until(lambda: (root / "first.log").read_bytes().count(b"started") == 2, "its second call is under way")
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert logged(root, "second.log", "resume").wait(60) == 0, (root / "second.log").read_text()
    assert (root / "second.log").read_text().count("checks") == 1
    assert git(root, "status", "--porcelain").split() == ["??", "first.log", "??", "second.log"]


def test_only_a_file_in_the_work_tree_counts(tmp_path: Path) -> None:
    inside, outside = tmp_path / "p" / "a.log", tmp_path / "b.log"
    inside.parent.mkdir()
    kept = [os.dup(number) for number in (1, 2)]
    try:
        for number, path in ((1, inside), (2, outside)):
            fd = os.open(path, os.O_WRONLY | os.O_CREAT)
            os.dup2(fd, number)
            os.close(fd)
        found = own_output_files(str(tmp_path / "p"))
    finally:
        for number, fd in zip((1, 2), kept, strict=True):
            os.dup2(fd, number)
            os.close(fd)
    assert found == ("a.log",)


@pytest.mark.parametrize("log", ["a.log", "sub/b.log"])
def test_one_below_a_folder_too(tmp_path: Path, log: str) -> None:
    root = make_sample_project(tmp_path / "p", stories=1)
    (root / "sub").mkdir()
    assert logged(root, log, "run-epic", "1").wait(60) == 0
    assert git(root, "ls-files", log) == ""

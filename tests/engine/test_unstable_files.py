"""Files that change by themselves while the checks run: no result holds, and a person is asked."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.bmad_project import git
from tests.support.sample_projects import make_sample_project
from tests.support.terminals import COMMAND

WRITES = "date +%s%N > trace.bin"


def bmad(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    done = [*COMMAND, *words]
    return subprocess.run(done, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


@pytest.mark.real
def test_a_check_that_writes_into_the_work_tree_goes_on_once_that_is_ignored(
    tmp_path: Path,
) -> None:
    root = make_sample_project(tmp_path / "p", stories=1)
    settings = root / "bmad-autopilot.toml"
    settings.write_text(re.sub(r"test = .*", f'test = ["{WRITES}"]', settings.read_text()))
    git(root, "commit", "--quiet", "--all", "--message", "A check that leaves something")
    first = bmad(root, "run-epic", "1")
    assert first.returncode == 3, first.stdout + first.stderr
    assert "Files change while the project's checks run" in first.stdout
    assert "trace.bin" in first.stdout
    asked = json.loads(bmad(root, "questions", "--json").stdout)["questions"]
    assert [one["cause"] for one in asked] == ["restless"]
    with (root / ".git/info/exclude").open("a") as file:
        file.write("trace.bin\n")
    assert bmad(root, "intervene", "1-1", "retry").returncode == 0
    again = bmad(root, "resume")
    assert again.returncode == 0, again.stdout + again.stderr

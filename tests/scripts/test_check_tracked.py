import os
import subprocess
import sys
from pathlib import Path

from tests.support.bmad_project import git
from tests.support.wheels import REPOSITORY


def check(root: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The script looks at the repository it lies in, so it gets one of its own."""
    (root / "scripts").mkdir(parents=True)
    source = (REPOSITORY / "scripts" / "check_tracked.py").read_text()
    (root / "scripts" / "check_tracked.py").write_text(source)
    git(root, "init", "--quiet")
    command = [sys.executable, str(root / "scripts" / "check_tracked.py")]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)


def test_a_path_of_this_machine_is_found_with_its_line(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    (root / "notes.md").write_text(f"one\nsee {root}/src\n")
    done = check(root)
    assert done.returncode == 1
    assert done.stderr == f"notes.md:2: names this machine: {root}\n"


def test_a_private_package_index_is_found(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    (root / "lock.txt").write_text("--index-url https://packages.invalid/simple\n")
    done = check(root, PIP_INDEX_URL="https://user@packages.invalid/simple")
    assert (done.returncode, done.stderr) == (1, "lock.txt:1: names this machine: packages.invalid\n")


def test_ignored_files_and_public_indexes_do_not_count(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    (root / ".gitignore").write_text("local.txt\n")
    (root / "local.txt").write_text(str(root))
    (root / "lock.txt").write_text("https://pypi.org/simple\n")
    done = check(root, PIP_INDEX_URL="https://pypi.org/simple")
    assert (done.returncode, done.stderr) == (0, "")

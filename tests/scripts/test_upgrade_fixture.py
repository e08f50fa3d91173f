"""The recorder of what a release leaves behind."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.upgrade_fixture import CASES, REPOSITORY, missing_settings

MAX_BYTES = 600_000


def test_every_setting_is_recorded() -> None:
    assert missing_settings() == []


@pytest.mark.real
def test_the_present_tree_can_be_recorded_without_a_trace_of_this_machine(tmp_path: Path) -> None:
    folder = tmp_path / "recorded"
    argv = [sys.executable, str(REPOSITORY / "scripts" / "upgrade_fixture.py"), str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src"), "TMPDIR": str(tmp_path)}
    subprocess.run(argv, check=True, capture_output=True, timeout=300, env=environment)
    assert {path.name for path in folder.iterdir()} == {*(case.__name__ for case in CASES), "settings"}
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < MAX_BYTES
    traces = re.compile("|".join(map(re.escape, (str(tmp_path), sys.prefix, str(REPOSITORY)))).encode())
    assert [path for path in files if traces.search(path.read_bytes())] == []
    for bundle in folder.rglob("*.bundle"):
        clone = tmp_path / bundle.parent.name
        subprocess.run(["git", "clone", "--quiet", "--bare", str(bundle), str(clone)], check=True)
        held = subprocess.run(
            ["git", "grep", "-l", "-e", sys.prefix, "-e", str(tmp_path), "main"],
            cwd=clone,
            capture_output=True,
            check=False,
        )
        assert (held.returncode, held.stdout) == (1, b""), bundle

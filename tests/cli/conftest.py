"""A machine of its own: a PATH that holds git and small scripts in place of other programs."""

import os
import shutil
from pathlib import Path

import pytest


class Machine:
    def __init__(self, folder: Path) -> None:
        self.bin = folder
        self.outer = os.environ["PATH"]
        self.bin.mkdir()

    def add(self, name: str, script: str) -> Path:
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    def link(self, name: str) -> None:
        real = shutil.which(name, path=self.outer)
        assert real is not None, f"these tests need {name}"
        (self.bin / name).symlink_to(real)

    def remove(self, name: str) -> None:
        (self.bin / name).unlink()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """git, a gh that is logged in, claude, node: all that a healthy project needs."""
    made = Machine(tmp_path / "bin")
    for name in ("git", "sleep"):
        made.link(name)
    made.add("claude", 'echo "2.1.325 (Claude Code)"')
    made.add("gh", 'echo "gh version 2.102.0 (2026-01-01)"')
    made.add("node", "echo v20.0.0")
    made.add("npm", "echo 10.0.0")
    made.add("bmad", "# from bmad_autopilot.cli import main")
    monkeypatch.setenv("PATH", str(made.bin))
    return made

"""Runs on a sample project, by scripted agents: real git, real processes, no model."""

import re
from pathlib import Path

from bmad_autopilot.sim.sample import make_sample, scripted
from tests.support import git

CHECK = "test -d src"


def sample(
    folder: Path,
    habit: str = "honest",
    *,
    seconds: float = 0.0,
    stories: int = 2,
    checks: bool = True,
    first_takes: float = 0.0,
) -> Path:
    """Two epics. The project's check is one that reads the same on every machine. `first_takes`: so many seconds
    more for the first call."""
    folder.mkdir()
    command = scripted(habit, seconds)
    if first_takes:
        wait = f'[ -e {folder}.began ] || {{ touch {folder}.began; sleep {first_takes:g}; }}; exec "$@"'
        command = ("/bin/sh", "-c", wait, "sh", *command)
    make_sample(str(folder), 2, stories, agent_command=command)
    settings = folder / "bmad-autopilot.toml"
    text = re.sub(r"test = .*", f'test = ["{CHECK}"]' if checks else "", settings.read_text())
    settings.write_text(text)
    git(folder, "commit", "--quiet", "--all", "--message", "Check")
    return folder


def masked(text: str) -> str:
    """Without what differs from run to run."""
    text = re.sub(r"\b\d\d:\d\d:\d\d\b", "hh:mm:ss", text)
    text = re.sub(r"\d{8}-\d{6}", "YYYYMMDD-hhmmss", text)
    text = re.sub(r"checks/[0-9a-f]{16}\b", "checks/0123456789abcdef", text)
    text = re.sub(r"(commit +)[0-9a-f]{7}\b", r"\g<1>abc1234", text)
    return re.sub(r"\b\d+(\.\d)? s\b", "N.N s", text)

"""Sample projects for runs with scripted agents: real git and processes, no model."""

import re
from pathlib import Path

from bmad_autopilot.sim.sample import make_sample, scripted_agent_command
from tests.support.bmad_project import git

CHECK = "test -d src"


def make_sample_project(
    folder: Path,
    habit: str = "honest",
    *,
    seconds: float = 0.0,
    stories: int = 2,
    checks: bool = True,
    first_takes: float = 0.0,
) -> Path:
    """A sample project with two epics and a check that looks the same on every machine. `first_takes`: additional
    seconds of the first call."""
    folder.mkdir()
    command = scripted_agent_command(habit, seconds)
    if first_takes:
        wait = f'[ -e {folder}.began ] || {{ touch {folder}.began; sleep {first_takes:g}; }}; exec "$@"'
        command = ("/bin/sh", "-c", wait, "sh", *command)
    make_sample(str(folder), 2, stories, agent_command=command)
    settings = folder / "bmad-autopilot.toml"
    text = re.sub(r"test = .*", f'test = ["{CHECK}"]' if checks else "", settings.read_text())
    settings.write_text(text)
    git(folder, "commit", "--quiet", "--all", "--message", "Check")
    return folder


def mask_volatile(text: str) -> str:
    """Mask times, ids and hashes that differ from run to run."""
    text = re.sub(r"\b\d\d:\d\d:\d\d\b", "hh:mm:ss", text)
    text = re.sub(r"\d{8}-\d{6}", "YYYYMMDD-hhmmss", text)
    text = re.sub(r"checks/[0-9a-f]{16}\b", "checks/0123456789abcdef", text)
    text = re.sub(r"(commit +)[0-9a-f]{7}\b", r"\g<1>abc1234", text)
    return re.sub(r"\b\d+(\.\d)? s\b", "N.N s", text)

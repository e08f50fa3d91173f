"""A BMAD project whose agent is a few lines of Python."""

import json
import sys
from pathlib import Path

from tests.support.bmad_project import SampleProject, make_project

PREAMBLE = """\
import os, sys, time, json, subprocess

def tick():
    \"\"\"Tick every task of the story, as a developer does who is done with it.\"\"\"
    path = f'_bmad-output/implementation-artifacts/{sys.argv[2]}.md'
    open(path, 'r+').write(open(path).read().replace('- [ ]', '- [x]'))

"""


def project_with_agent(
    root: Path, code: str, *, board: str | None = None, settings: str = "", completion: str = "exit"
) -> SampleProject:
    """`code` runs in the project's folder; sys.argv[1] is the prompt, sys.argv[2] the story, [3] the instance."""
    sample = make_project(root) if board is None else make_project(root, board=board, stories={})
    script = sample.write("scripts/agent.py", PREAMBLE + code)
    command = [sys.executable, str(script), "{prompt}", "{story}", "{name}", "{branch}"]
    sample.write(
        "bmad-autopilot.toml",
        f'agent = "stub"\n{settings}\n[agents.stub]\ncommand = {json.dumps(command)}\n'
        f'completion = "{completion}"\n',
    )
    sample.commit("Use an agent of our own")
    return sample


def board_of(count: int, status: str = "ready-for-dev") -> str:
    rows = "".join(f"  1-{number}-story: {status}\n" for number in range(1, count + 1))
    return f"development_status:\n  epic-1: in-progress\n{rows}"

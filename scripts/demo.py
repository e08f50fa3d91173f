"""A guided tour: make a small BMAD project in a temporary folder, look at it with `bmad`, and kill an orchestrator
in the middle of an agent call."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support import BOARD, SampleProject, make_project

BMAD = Path(sys.executable).with_name("bmad")

TOUR = (
    ("Where are we, and what comes next?", "status"),
    ("Is anything wrong with the board?", "board check"),
    ("What would it take to finish epic 1?", "run-epic 1 --dry-run"),
)

# An agent made of a few lines: it writes a file in three steps and sets the story's status, as BMAD's skill would.
AGENT = """\
import sys, time
for number, what in enumerate(("Reading the story", "Writing sign_out.py", "Running the tests"), 1):
    print(what, flush=True)
    with open("sign_out.py", "a") as file:
        file.write(f"# step {number}\\n")
    time.sleep(1)
board = "_bmad-output/implementation-artifacts/sprint-status.yaml"
text = open(board).read()
open(board, "w").write(text.replace("1-3-sign-out: in-progress", "1-3-sign-out: review"))
"""
ORCHESTRATOR = """\
from bmad_autopilot import Action, dispatch_to_instance
print(dispatch_to_instance(Action("dev-story", "1-3-sign-out", ""), "demo").status)
"""


def main() -> int:
    # A fresh machine has no git identity.
    for role in ("AUTHOR", "COMMITTER"):
        os.environ.setdefault(f"GIT_{role}_NAME", "Demo")
        os.environ.setdefault(f"GIT_{role}_EMAIL", "demo@example.invalid")
    with tempfile.TemporaryDirectory(prefix="bmad-demo-") as folder:
        project = _project(Path(folder))
        say(f"A sample project with two epics and five stories, in {project.root}")
        codes = [_bmad(project, why, command) for why, command in TOUR]
        codes.append(_survive(project))
    if any(codes):
        print("demo: something went wrong above", file=sys.stderr)
        return 1
    say("\nThe folder is gone again. In a project of your own, begin with: bmad status")
    return 0


def _project(folder: Path) -> SampleProject:
    today = time.strftime("%m-%d-%Y %H:%M")
    project = make_project(folder / "sample", board=BOARD.replace("01-15-2026 09:00", today))
    command = json.dumps([sys.executable, str(project.write("scripts/agent.py", AGENT))])
    project.write("bmad-autopilot.toml", f'agent = "scripted"\n[agents.scripted]\ncommand = {command}\n')
    project.commit("Use a scripted agent")
    return project


def _survive(project: SampleProject) -> int:
    """Start an agent call, kill whoever started it, and start again: the call is adopted, not repeated."""
    say("\nNow a program of two lines gives story 1-3 to an agent, and is killed with -9 as soon as that works.\n")
    command = [sys.executable, "-c", ORCHESTRATOR]
    first = subprocess.Popen(command, cwd=project.root)
    while not (project.root / "sign_out.py").exists() and first.poll() is None:
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.wait()
    codes = [_bmad(project, "Nobody is left but the agent and its supervisor.", "agent list")]
    say("\nThe same program again takes in the call that is under way:\n")
    second = subprocess.run(command, cwd=project.root, check=False, capture_output=True, text=True)
    say(f"  {second.stdout.strip()}{second.stderr.strip()}")
    codes.append(_bmad(project, "What did the agent do?", "agent logs"))
    ran = (project.root / "sign_out.py").read_text()
    codes.append(0 if second.stdout == "success\n" and ran.count("step 1") == 1 else 1)
    say("\nIt ran once: sign_out.py holds each of its three steps a single time.")
    return max(codes)


def _bmad(project: SampleProject, why: str, command: str) -> int:
    say(f"\n{why}\n\n  $ bmad {command}\n")
    return subprocess.run([BMAD, *command.split()], cwd=project.root, check=False).returncode


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())

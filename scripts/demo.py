"""A guided tour: make a small BMAD project in a temporary folder and look at it with `bmad`."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support import BOARD, make_project

BMAD = Path(sys.executable).with_name("bmad")

TOUR = (
    ("Where are we, and what comes next?", "status"),
    ("Is anything wrong with the board?", "board check"),
    ("What would it take to finish epic 1?", "run-epic 1 --dry-run"),
    ("And what would be done right now?", "next --dry-run"),
)


def main() -> int:
    # A fresh machine has no git identity.
    for role in ("AUTHOR", "COMMITTER"):
        os.environ.setdefault(f"GIT_{role}_NAME", "Demo")
        os.environ.setdefault(f"GIT_{role}_EMAIL", "demo@example.invalid")
    with tempfile.TemporaryDirectory(prefix="bmad-demo-") as folder:
        today = time.strftime("%m-%d-%Y %H:%M")
        project = make_project(Path(folder) / "sample", board=BOARD.replace("01-15-2026 09:00", today))
        say(f"A sample project with two epics and five stories, in {project.root}")
        for why, command in TOUR:
            say(f"\n{why}\n\n  $ bmad {command}\n")
            done = subprocess.run([BMAD, *command.split()], cwd=project.root, check=False)
            if done.returncode != 0:
                print(f"demo: bmad {command} ended with {done.returncode}", file=sys.stderr)
                return 1
    say("\nThe folder is gone again. In a project of your own, begin with: bmad status")
    return 0


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())

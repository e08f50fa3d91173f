"""A project without BMAD whose tasks are implemented by a few lines of Python."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bmad_autopilot.board.sprint_status import read_board
from bmad_autopilot.engine.flows.tasks import TasksResult, implement_tasks
from bmad_autopilot.project.project import open_project
from tests.support.lane_projects import Person

AGENT = """
import json, os, subprocess, sys, time
prompt, story = sys.argv[1:3]
asked = ["git", "rev-parse", "--path-format=absolute", "--git-common-dir"]
notes = subprocess.run(asked, capture_output=True, text=True).stdout.strip()
step = "review" if "Review the work" in prompt.split("\\n")[0] else "implement"
with open(f"{notes}/ran", "a") as log: log.write(f"{step} {story}\\n")
pace = f"{notes}/pace"
if os.path.exists(pace): time.sleep(float(open(pace).read()))
asking = f"{notes}/asks"
if step == "implement" and os.path.exists(asking) and open(asking).read() in story and "answered:" not in prompt:
    state = {"storyKey": story, "agent": "dev", "phase": "implement", "lastCompletedStep": "read the task",
             "blockedAt": "the store", "blockReason": "critical_decision", "artifactsProduced": [],
             "questions": [{"id": "q1", "question": "Which store?", "context": "", "answer": None,
                            "options": ["SQLite", "Postgres"]}]}
    with open(f"_docs/02_tasks/{story}.agent-state.json", "w") as file: json.dump(state, file)
elif step == "review":
    with open(f"_docs/02_tasks/{story}.review.json", "w") as file:
        json.dump({"reviewResult": "approved", "summary": "It does what the task asks for."}, file)
else:
    os.makedirs("src", exist_ok=True)
    with open(f"src/{story}.txt", "w") as file: file.write("done")
"""


class Tasking:
    def __init__(self, root: Path, *, settings: str = "") -> None:
        self.root = root
        root.mkdir(parents=True)
        self.write("scripts/agent.py", AGENT)
        command = [sys.executable, str(root / "scripts/agent.py"), "{prompt}", "{story}"]
        check = json.dumps(f"{sys.executable} -c pass")
        self.write(
            "bmad-autopilot.toml",
            f'agent = "stub"\n{settings}\n[agents.stub]\ncommand = {json.dumps(command)}\n\n'
            f"[commands]\ntest = [{check}]\n",
        )
        self.write(".gitignore", "__pycache__/\n")
        for words in (
            ("init", "--quiet", "--initial-branch", "main"),
            ("config", "user.name", "Sample"),
            ("config", "user.email", "sample@example.invalid"),
            ("config", "commit.gpgsign", "false"),
        ):
            self.git(*words)
        self.commit("Begin")

    @property
    def folder(self) -> Path:
        return self.root / "_docs/02_tasks"

    def write(self, path: str, text: str) -> Path:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return place

    def task(self, name: str, needs: str = "none", points: int = 3) -> Path:
        title = name.partition("_")[2].replace("_", " ").capitalize()
        head = f"**Task**: {name}\n**Complexity**: {points} points\n**Dependencies**: {needs}"
        text = f"# {title}\n\n{head}\n\nDo it.\n"
        return self.write(f"_docs/02_tasks/todo/{name}.md", text)

    def note(self, name: str, text: str) -> None:
        (self.root / ".git" / name).write_text(text)

    def git(self, *arguments: str) -> str:
        ran = subprocess.run(["git", *arguments], cwd=self.root, check=True, capture_output=True, text=True)
        return ran.stdout.strip()

    def commit(self, message: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)

    def run(self, kind: str = "features", *, person: Person | None = None, **options: Any) -> TasksResult:
        self.log: list[tuple[str, Mapping[str, Any]]] = []

        def told(what: str, data: Mapping[str, Any], at: float) -> None:
            self.log.append((what, dict(data)))

        return implement_tasks(open_project(str(self.root)), kind, on_event=told, human=person, **options)

    def rows(self) -> dict[str, str]:
        return {
            key: row.status.raw for key, row in read_board(str(self.folder / "sprint-status.yaml")).rows.items()
        }

    def ran(self) -> list[str]:
        path = self.root / ".git" / "ran"
        return path.read_text().splitlines() if path.exists() else []

    def subjects(self) -> list[str]:
        """Of our commits, the oldest first."""
        return self.git("log", "--reverse", "--committer=autopilot@", "--format=%s").splitlines()

    def report(self, kind: str = "features") -> str:
        return (self.root / f"_docs/03_implementation/implementation_report_{kind}.md").read_text()

    def files(self, part: str) -> list[str]:
        place = self.folder / part
        return sorted(os.listdir(place)) if place.is_dir() else []

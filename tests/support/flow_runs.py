"""A project that runs a flow with a scripted Python agent."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bmad_autopilot.core.flow_state import FlowState
from bmad_autopilot.engine.flows.runner import FlowOptions, start_flow
from bmad_autopilot.project.project import open_project
from bmad_autopilot.runs.flow_state_writer import load_flow_state
from bmad_autopilot.workflows.flows import get_flow, load_flows
from tests.support.lane_projects import Person, RecordedRun

STATE = "_docs/_autopilot_state.md"

# A small codebase whose tests are the project's checks.
CODE = {
    "README.md": "# Sums\n\nAdds up what a file of numbers holds.\n",
    "sums/__init__.py": "",
    "sums/parser.py": 'def numbers(text):\n    return [int(line) for line in text.split("\\n") if line.strip()]\n',
    "sums/cli.py": "import sys\n\nfrom .parser import numbers\n\n\ndef main():\n"
    "    print(sum(numbers(open(sys.argv[1]).read())))\n",
    "tests/test_parser.py": "import unittest\n\nfrom sums.parser import numbers\n\n\n"
    "class Numbers(unittest.TestCase):\n    def test_lines(self):\n"
    '        self.assertEqual(numbers("1\\n\\n2\\n"), [1, 2])\n',
    ".gitignore": "__pycache__/\n",
}

# Writes the step's required output into the files that the prompt names. Notes under .git change that:
# `fails-Plan` how often the step still fails, `gate-Plan` a pipe that it waits at, `commits` to commit everything.
AGENT = r"""
import json, os, re, sys
prompt, story = sys.argv[1:3]
notes = ".git" if os.path.isdir(".git") else ".notes"
os.makedirs(notes, exist_ok=True)
place = re.search(r"This is step (\d+) of \d+, `([^`]+)`, of the workflow `([^`]+)`", prompt)

def say(name):
    with open(f"{notes}/ran", "a") as log: log.write(name + "\n")

def put(path, text="Something worth reading about it.\n"):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w") as file: file.write(text)

def wait(name):
    gate = f"{notes}/gate-{name}"
    if os.path.exists(gate): open(gate).read()

def tasks(*names):
    for name in names:
        number = name.split("_")[0]
        head = f"# {name}\n\n**Task**: {name}\n**Complexity**: 3 points\n**Dependencies**: none\n\nDo it.\n"
        put(f"_docs/02_tasks/todo/{name}.md", head)
    rows = "".join(f"| {name.split('_')[0]} | {name} | 3 | none |\n" for name in names)
    head = "| Task | Name | Complexity | Dependencies |\n|---|---|---|---|\n"
    put("_docs/02_tasks/_dependencies_table.md", head + rows)

def draft():
    os.makedirs("_docs/01_solution", exist_ok=True)
    put(f"_docs/01_solution/solution_draft{len(os.listdir('_docs/01_solution')) + 1:02}.md")

LEFT = {
    "Problem": lambda: [put(f"_docs/00_problem/{n}") for n in
        ("problem.md", "restrictions.md", "acceptance_criteria.md", "input_data/sample.csv")],
    "Research": draft,
    "Plan": lambda: [put("_docs/02_document/architecture.md"), put("_docs/02_document/FINAL_report.md")],
    "UI Design": lambda: put("_docs/02_document/ui_design.md"),
    "Decompose": lambda: tasks("01_first", "02_second"),
    "Run Tests": lambda: None,
    "Security Audit": lambda: put("_docs/05_security/security_report.md"),
    "Performance Test": lambda: put("_docs/06_metrics/perf_1.md"),
    "Deploy": lambda: [put("_docs/04_deploy/deployment_procedures.md"), put("_docs/04_deploy/deploy_scripts.md")],
    "Document": lambda: [put("_docs/02_document/FINAL_report.md"), put("_docs/02_document/architecture.md")],
    "Test Spec": lambda: put("_docs/02_document/tests/traceability-matrix.md"),
    "Decompose Tests": lambda: tasks("01_test_parser", "02_test_cli"),
    "Refactor": lambda: put("_docs/04_refactoring/01-first/FINAL_report.md"),
    "New Task": lambda: tasks("03_export"),
}

if place:
    name = re.sub(r" \(\d+\)$", "", place[2])
    say(place[1] + " " + name)
    for said in re.findall(r"`([^`]+sub-step\.txt)`", prompt)[:1]:
        put(said, f"2 - middle of {name}\n")
    wait(name)
    fails = f"{notes}/fails-{name}"
    left = int(open(fails).read()) if os.path.exists(fails) else 0
    if left:
        put(fails, str(left - 1))
        sys.exit(1)
    LEFT[name]()
    if os.path.exists(f"{notes}/commits"):
        os.system("git add --all && git commit --quiet --no-verify -m 'All of it'")
    for path in re.findall(r"^- `(.*variables.json)`: ", prompt, re.M):
        put(path, json.dumps({"decisions": [f"{name} is done our way"]}))
    for path in re.findall(r"^- `(.*output.md)`: ", prompt, re.M):
        put(path, f"# {name}\n\nEverything about {name} is written down.\n")
elif "Review the work" in prompt.split("\n")[0]:
    say("review " + story)
    put(f"_docs/02_tasks/{story}.review.json", json.dumps({"reviewResult": "approved", "summary": "Fine."}))
else:
    say("implement " + story)
    wait("implement")
    put(f"src/{story}.txt", "done")
"""


class FlowProject:
    def __init__(self, root: Path, *, sources: bool = False, with_git: bool = True, settings: str = "") -> None:
        self.root = root
        root.mkdir(parents=True)
        self.agent = root.parent / f"{root.name}-agent.py"  # outside, or it would count as the project's source
        self.agent.write_text(AGENT)
        command = [sys.executable, str(self.agent), "{prompt}", "{story}"]
        check = json.dumps(f"{sys.executable} {'-m unittest discover -s tests' if sources else '-c pass'}")
        self.write(
            "bmad-autopilot.toml",
            f'agent = "stub"\n{settings}\n[agents.stub]\ncommand = {json.dumps(command)}\n\n'
            f"[commands]\ntest = [{check}]\n",
        )
        for path, text in CODE.items() if sources else ():
            self.write(path, text)
        if with_git:
            for words in (
                ("init", "--quiet", "--initial-branch", "main"),
                ("config", "user.name", "Sample"),
                ("config", "user.email", "sample@example.invalid"),
                ("config", "commit.gpgsign", "false"),
                ("add", "--all"),
                ("commit", "--quiet", "--message", "Begin"),
            ):
                self.git(*words)

    def write(self, path: str, text: str = "Something worth reading.\n") -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def note(self, name: str, text: str) -> None:
        (self.root / ".git" / name).write_text(text)

    def git(self, *arguments: str) -> str:
        ran = subprocess.run(["git", *arguments], cwd=self.root, check=True, capture_output=True, text=True)
        return ran.stdout.strip()

    def run(self, name: str = "greenfield", *, person: Person | None = None, **unattended: str) -> RecordedRun:
        log: list[tuple[str, Mapping[str, Any]]] = []

        def record_event(kind: str, data: Mapping[str, Any], at: float) -> None:
            log.append((kind, dict(data)))

        project = open_project(str(self.root))
        flow = get_flow(load_flows(project.config), name)
        wish = FlowOptions(unattended=unattended)
        return RecordedRun(start_flow(project, flow, wish, on_event=record_event, human=person), log)

    @property
    def state(self) -> FlowState:
        found = load_flow_state(str(self.root / STATE), inside=str(self.root))
        assert found is not None
        return found

    @property
    def ran(self) -> list[str]:
        path = self.root / ".git" / "ran"
        return path.read_text().splitlines() if path.exists() else []

    def subjects(self) -> list[str]:
        """Subjects of our commits, oldest first."""
        return self.git("log", "--reverse", "--committer=autopilot@", "--format=%s").splitlines()

    def rows(self) -> list[tuple[str, str, str]]:
        return [(row.step, row.name, row.outcome) for row in self.state.completed]

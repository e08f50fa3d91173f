"""Projects with a workflow file whose steps wait at named pipes, a shell agent, and supervisors to kill."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bmad_autopilot.engine.runner import RunEnd, start_workflow
from bmad_autopilot.project.project import open_project
from bmad_autopilot.runs.journal import Journal, JournalEntry
from bmad_autopilot.workflows.step_file import read_step_file
from tests.support.agent_stubs import wait_until
from tests.support.bmad_project import git
from tests.support.lane_projects import Person, RecordedRun

ROOT = Path(__file__).resolve().parents[2]
STEPS = 8

# A step: logs its start, waits until the test opens its gate, and passes one variable on.
STEP = """\
echo "$1" >> .state/ran
[ ! -p ".state/gate-$1" ] || read word < ".state/gate-$1"
printf '{"v%s": "of %s", "given": "%s"}' "$1" "$1" "$2" > "$BMAD_VARIABLES"
echo "output of $1"
"""
# Reads from the prompt what a command gets from its environment.
AGENT = """\
prompt=$(cat)
number=$(printf '%s' "$prompt" | sed -n 's/^Do number \\([0-9]*\\) with .*/\\1/p')
given=$(printf '%s' "$prompt" | sed -n 's/^Do number [0-9]* with \\(.*\\)\\.$/\\1/p')
BMAD_VARIABLES=$(printf '%s' "$prompt" | sed -n 's/^- `\\(.*variables.json\\)`: .*/\\1/p')
export BMAD_VARIABLES
exec sh step.sh "$number" "$given"
"""


class WorkflowProject:
    """A project in `root` with one workflow file, `flow.yaml`."""

    def __init__(self, root: Path, text: str, agent: str = "", *, with_git: bool = True) -> None:
        self.root = root
        root.mkdir(parents=True)
        (root / ".state").mkdir()
        (root / "flow.yaml").write_text(text)
        (root / "agent.sh").write_text(agent)
        (root / "bmad-autopilot.toml").write_text(
            'agent = "stub"\n[agents.stub]\ncommand = ["sh", "-c", ". ./agent.sh"]\n'
        )
        if with_git:
            (root / ".gitignore").write_text(".state\n")
            git(root, "init", "--quiet")
            git(root, "add", "--all")
            git(root, "commit", "--quiet", "--message", "Begin")

    def run(self, *, person: Person | None = None, session: str = "main", **given: str) -> RecordedRun:
        log: list[tuple[str, Mapping[str, Any]]] = []
        end = run_workflow_file(str(self.root), session, given, person, log)
        return RecordedRun(end, log)

    @property
    def ran(self) -> list[str]:
        path = self.root / ".state" / "ran"
        return path.read_text().split() if path.exists() else []

    def open_gate(self, name: str) -> None:
        (self.root / ".state" / f"gate-{name}").open("w").close()

    def folder(self, session: str = "main") -> Path:
        """The folder of the latest run with a journal; a run killed before its first entry has none."""
        found = (self.root / "_bmad-output" / ".runs" / session).glob("*/journal.jsonl")
        return max(found, key=lambda path: path.stat().st_mtime).parent

    def entries(self, kind: str, session: str = "main") -> list[JournalEntry]:
        found = Journal(str(self.folder(session)), lambda value: value).entries()
        return [entry for entry in found if entry.kind == kind]

    def state(self, session: str = "main") -> dict[str, Any]:
        data: dict[str, Any] = json.loads((self.folder(session) / "state.json").read_text())
        return data


def run_workflow_file(
    root: str,
    session: str = "main",
    given: Mapping[str, str] | None = None,
    person: Person | None = None,
    log: list[tuple[str, Mapping[str, Any]]] | None = None,
) -> RunEnd:
    def record_event(kind: str, data: Mapping[str, Any], at: float) -> None:
        if log is not None:
            log.append((kind, dict(data)))
        elif kind == "notice":
            Path(root, ".state", "told").write_text(str(data["text"]))

    found = read_step_file(f"{root}/flow.yaml", given or {})
    return start_workflow(
        open_project(root),
        found.workflow,
        "flow.yaml",
        found.variables,
        on_event=record_event,
        human=person,
        session=session,
    )


def gated_workflow(root: Path, steps: int = STEPS) -> WorkflowProject:
    """A workflow of alternating command and agent steps, each with a gate and the previous step's variable."""
    lines = ["variables:", "  v0: the first", "steps:"]
    for number in range(1, steps + 1):
        lines.append(f"- step: step-{number}")
        if number % 2:
            lines.append(f'  run: [sh, step.sh, "{number}", "{{v{number - 1}}}"]')
        else:
            lines.append(f"  instructions: Do number {number} with {{v{number - 1}}}.")
        lines.append(f"  checkpoint: {{save: true, variables_to_persist: [v{number}, given]}}")
    root.parent.mkdir(parents=True, exist_ok=True)
    flow = WorkflowProject(root, "\n".join(lines) + "\n", AGENT)
    (root / "step.sh").write_text(STEP)
    for number in range(1, steps + 1):
        os.mkfifo(root / ".state" / f"gate-{number}")
    return flow


class Supervisors:
    """Starts supervisor processes by fork from a server process, so that the package is imported once."""

    def __init__(self, server: "subprocess.Popen[str]") -> None:
        self._server = server

    def start(self, flow: WorkflowProject, session: str = "main") -> int:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(f"{flow.root} {session}\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())

    def wait(self, pid: int) -> int:
        """The exit code; negative for a signal."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(f"wait {pid}\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())

    def kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        assert self.wait(pid) == -signal.SIGKILL


@contextmanager
def supervisors() -> Iterator[Supervisors]:
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.support.workflow_projects"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Supervisors(server)
    finally:
        assert server.stdin is not None
        server.stdin.close()  # the server kills its children and exits
        server.wait(30)
        assert server.stdout is not None
        server.stdout.close()


def kill_in_each_step(flow: WorkflowProject, supervisors: Supervisors, times: int, steps: int = STEPS) -> int:
    """Kill the supervisor with -9 `times` times in each step, then let it finish. Returns the number of kills."""
    killed = 0
    pid = supervisors.start(flow)
    for number in range(1, steps + 1):
        wait_until(lambda: len(flow.ran) == number, f"step {number} has begun")  # noqa: B023
        for _ in range(times):
            supervisors.kill(pid)
            killed += 1
            resumed = len(flow.entries("resumed"))
            pid = supervisors.start(flow)
            wait_until(lambda: len(flow.entries("resumed")) > resumed, "it goes on")  # noqa: B023
        flow.open_gate(str(number))
    assert supervisors.wait(pid) == 0
    return killed


def kill_often(flow: WorkflowProject, supervisors: Supervisors, kills: int, seed: int) -> int:
    """Kill the supervisor at random moments, all gates open. Returns the number of kills before it finished."""
    rng = random.Random(seed)
    for number in range(1, STEPS + 1):
        (flow.root / ".state" / f"gate-{number}").unlink()
    for killed in range(kills):
        pid = supervisors.start(flow)
        time.sleep(rng.uniform(0.01, 0.4))
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return killed
        if supervisors.wait(pid) == 0:
            return killed
    assert supervisors.wait(supervisors.start(flow)) == 0
    return kills


def check_each_step_ran_once(flow: WorkflowProject, steps: int = STEPS) -> None:
    """Check that each step ran once and that none of its output is lost."""
    numbers = [str(number) for number in range(1, steps + 1)]
    assert flow.ran == numbers
    assert [entry.data["step"] for entry in flow.entries("accepted")] == [f"step-{number}" for number in numbers]
    state = flow.state()
    assert (state["status"], state["steps_completed"]) == ("completed", list(range(1, steps + 1)))
    wanted = {"v0": "the first", "given": f"of {steps - 1}"} | {f"v{number}": f"of {number}" for number in numbers}
    assert {name: state["session_variables"].get(name) for name in wanted} == wanted
    pages = sorted((flow.folder() / "artefacts").iterdir())
    assert [page.read_text().strip() for page in pages] == [f"output of {number}" for number in numbers]


def _serve() -> None:
    children: set[int] = set()
    for line in sys.stdin:
        first, second = line.split()
        if first == "wait":
            status = os.waitpid(int(second), 0)[1]
            children.discard(int(second))
            print(os.waitstatus_to_exitcode(status), flush=True)
            continue
        pid = os.fork()
        if pid == 0:
            os._exit(run_workflow_file(first, second).exit_code)
        children.add(pid)
        print(pid, flush=True)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    _serve()

"""Projects with a workflow's own file: steps that wait at a gate, and an agent made of a few lines of shell."""

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

from bmad_autopilot.engine.driving import RunEnd
from bmad_autopilot.engine.workflow_running import start_workflow
from bmad_autopilot.project.open import open_project
from bmad_autopilot.runs.journal import Journal
from bmad_autopilot.runs.journal_lines import Entry
from bmad_autopilot.workflows.step_file import read_step_file
from tests.agents.stubs import until
from tests.engine.laning import Person, Ran
from tests.support import git

ROOT = Path(__file__).resolve().parents[2]
STEPS = 8

# A command's or an agent's: says that it began, waits until somebody opens its gate, hands one variable on.
STEP = """\
echo "$1" >> .state/ran
[ ! -p ".state/gate-$1" ] || read word < ".state/gate-$1"
printf '{"v%s": "of %s", "given": "%s"}' "$1" "$1" "$2" > "$BMAD_VARIABLES"
echo "output of $1"
"""
# The agent finds in its prompt what a command finds in its environment.
AGENT = """\
prompt=$(cat)
number=$(printf '%s' "$prompt" | sed -n 's/^Do number \\([0-9]*\\) with .*/\\1/p')
given=$(printf '%s' "$prompt" | sed -n 's/^Do number [0-9]* with \\(.*\\)\\.$/\\1/p')
BMAD_VARIABLES=$(printf '%s' "$prompt" | sed -n 's/^- `\\(.*variables.json\\)`: .*/\\1/p')
export BMAD_VARIABLES
exec sh step.sh "$number" "$given"
"""


class Flow:
    """A project in `root` with one file of steps, `flow.yaml`."""

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

    def run(self, *, person: Person | None = None, session: str = "main", **given: str) -> Ran:
        log: list[tuple[str, Mapping[str, Any]]] = []
        end = run_flow(str(self.root), session, given, person, log)
        return Ran(end, log)

    @property
    def ran(self) -> list[str]:
        path = self.root / ".state" / "ran"
        return path.read_text().split() if path.exists() else []

    def open_gate(self, name: str) -> None:
        (self.root / ".state" / f"gate-{name}").open("w").close()

    def folder(self, session: str = "main") -> Path:
        """Of the run; one that was killed before its first entry is none."""
        found = (self.root / "_bmad-output" / ".runs" / session).glob("*/journal.jsonl")
        return max(found, key=lambda path: path.stat().st_mtime).parent

    def entries(self, kind: str, session: str = "main") -> list[Entry]:
        found = Journal(str(self.folder(session)), lambda value: value).entries()
        return [entry for entry in found if entry.kind == kind]

    def state(self, session: str = "main") -> dict[str, Any]:
        data: dict[str, Any] = json.loads((self.folder(session) / "state.json").read_text())
        return data


def run_flow(
    root: str,
    session: str = "main",
    given: Mapping[str, str] | None = None,
    person: Person | None = None,
    log: list[tuple[str, Mapping[str, Any]]] | None = None,
) -> RunEnd:
    def told(kind: str, data: Mapping[str, Any], at: float) -> None:
        if log is not None:
            log.append((kind, dict(data)))
        elif kind == "notice":
            Path(root, ".state", "told").write_text(str(data["text"]))

    found = read_step_file(f"{root}/flow.yaml", given or {})
    return start_workflow(
        open_project(root), found.workflow, "flow.yaml", found.variables, told=told, human=person, session=session
    )


def gated(root: Path, steps: int = STEPS) -> Flow:
    """Every other step an agent's, each with a gate, and each given what the one before has left."""
    lines = ["variables:", "  v0: the first", "steps:"]
    for number in range(1, steps + 1):
        lines.append(f"- step: step-{number}")
        if number % 2:
            lines.append(f'  run: [sh, step.sh, "{number}", "{{v{number - 1}}}"]')
        else:
            lines.append(f"  instructions: Do number {number} with {{v{number - 1}}}.")
        lines.append(f"  checkpoint: {{save: true, variables_to_persist: [v{number}, given]}}")
    root.parent.mkdir(parents=True, exist_ok=True)
    flow = Flow(root, "\n".join(lines) + "\n", AGENT)
    (root / "step.sh").write_text(STEP)
    for number in range(1, steps + 1):
        os.mkfifo(root / ".state" / f"gate-{number}")
    return flow


class Supervisors:
    """Starts supervisors as processes of their own, by fork: what they are is loaded once."""

    def __init__(self, server: "subprocess.Popen[str]") -> None:
        self._server = server

    def start(self, flow: Flow, session: str = "main") -> int:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(f"{flow.root} {session}\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())

    def wait(self, pid: int) -> int:
        """Its exit code; of one that was killed the signal's, below zero."""
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
        [sys.executable, "-m", "tests.engine.workflow_files"],
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
        server.stdin.close()  # it ends its children, and itself
        server.wait(30)
        assert server.stdout is not None
        server.stdout.close()


def kill_in_each_step(flow: Flow, makes: Supervisors, times: int, steps: int = STEPS) -> int:
    """`kill -9` of the supervisor inside each step, `times` times; then it comes to its end. How often."""
    killed = 0
    pid = makes.start(flow)
    for number in range(1, steps + 1):
        until(lambda: len(flow.ran) == number, f"step {number} has begun")  # noqa: B023
        for _ in range(times):
            makes.kill(pid)
            killed += 1
            resumed = len(flow.entries("resumed"))
            pid = makes.start(flow)
            until(lambda: len(flow.entries("resumed")) > resumed, "it goes on")  # noqa: B023
        flow.open_gate(str(number))
    assert makes.wait(pid) == 0
    return killed


def kill_often(flow: Flow, makes: Supervisors, kills: int, seed: int) -> int:
    """At any moment, with all gates open; how often it was really killed before it came to its end."""
    rng = random.Random(seed)
    for number in range(1, STEPS + 1):
        (flow.root / ".state" / f"gate-{number}").unlink()
    for killed in range(kills):
        pid = makes.start(flow)
        time.sleep(rng.uniform(0.01, 0.4))
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return killed
        if makes.wait(pid) == 0:
            return killed
    assert makes.wait(makes.start(flow)) == 0
    return kills


def check(flow: Flow, steps: int = STEPS) -> None:
    """Each step ran once, and nothing of what it left is lost."""
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
            os._exit(run_flow(first, second).exit_code)
        children.add(pid)
        print(pid, flush=True)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    _serve()

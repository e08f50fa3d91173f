"""Measures a supervisor with many lanes, and idle slots. Needs gh; prints JSON.

The supervisor is its own process with the real gh and git; the fake GitHub server runs here. `idle`: milliseconds
from the end of an agent to the start of the next one waiting for its slot, with more epics than slots; includes
switching epics, excludes the project's checks. `load` and `memory`: of the supervisor alone, in percent of a core
and megabytes, with 100 pull requests of which 20 are in a fix round with sleeping agents; `children`: CPU of gh
and git meanwhile. `lanes`, `begin`, `held`: per number of lanes, the supervisor's CPU seconds until each has an
agent, and its memory then."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple

from bmad_autopilot.agents.attempt import read_result
from bmad_autopilot.agents.monitor import cancel_attempt
from bmad_autopilot.engine.autopilot.options import AutopilotOptions
from bmad_autopilot.engine.autopilot.supervisor import run_autopilot as supervisor_run_autopilot
from bmad_autopilot.git.history import AUTOPILOT_IDENTITY
from bmad_autopilot.github.forge import NewPull
from bmad_autopilot.project.project import open_project
from bmad_autopilot.runs.journal import Journal
from bmad_autopilot.sim.github.checks import CIJob, SimCI
from bmad_autopilot.sim.github.model import SimGitHub
from bmad_autopilot.sim.github.people import SimHuman
from bmad_autopilot.sim.github.records import SimClock
from bmad_autopilot.sim.github.refs import BareRefs
from bmad_autopilot.sim.github.reviews import Remark
from bmad_autopilot.sim.sample import BOARD, make_sample, scripted_agent_command
from tests.fake_github.client_environment import gh_config, ssh_environment
from tests.fake_github.server import SimServer

REPOSITORY = Path(__file__).resolve().parent.parent
TOOLS = REPOSITORY / ".real/tools/bin"
REMOTE = "git@github.com:acme/widgets.git"
TOP = 'dependencies = "none"\nrequire_review = "human"\n'
SETTINGS = "\n[github]\ncheck_interval = 10\ncheck_grace = 1\nmax_pending = 100\n"
SLEEPS = ("sleep", "600")
UNEVEN = ("sh", "-c", 'sleep $(($$ % 3)).$(($$ % 7)); exec "$@"', "sh")  # lanes end calls at different times
TIMEOUT = 300.0
SETTLE = 3.0
QUIET = 15.0
STEPS = 3  # of a story
PULLS, AGENTS = 100, 20
LANES = (1, 10, 50)
EPICS, STORIES, SLOTS = 6, 4, 3


class CallTimes(NamedTuple):
    """One agent call: its start, its end, and the time since which its lane waited for it."""

    started: float
    ended: float
    wanted: float


class BenchProject:
    """A project and the fake GitHub of its remote."""

    def __init__(
        self, folder: Path, agent: tuple[str, ...], *, epics: int, stories: int, settings: str = ""
    ) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.work = folder / "work"
        self.refs = BareRefs(folder / "acme" / "widgets.git")
        self.model = SimGitHub(SimClock(time.time()), self.refs, Random(5))
        SimCI(self.model, [CIJob("test", appears_after=0.1, starts_after=0.1, duration=0.5)])
        socket = Path(tempfile.mkdtemp()) / "s"  # a socket's path has to be short
        os.environ.update(gh_config(folder / "gh", socket) | ssh_environment(folder, socket))
        make_sample(str(self.work), epics, stories, agent_command=agent)
        config = self.work / "bmad-autopilot.toml"
        config.write_text(f"{TOP}{config.read_text()}{settings or SETTINGS}")
        self.git("commit", "--quiet", "--all", "--message", "Settings")
        self.git("remote", "add", "origin", REMOTE)
        self.git("push", "--quiet", "origin", "main")
        self.model.sync_branches()
        self.server = SimServer(self.model, socket, speed=1.0)

    def close(self) -> None:
        self.server.close()
        self.server.path.parent.rmdir()

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.work, check=True, capture_output=True, text=True)
        return done.stdout

    def runs(self) -> list[Path]:
        return sorted(self.work.glob("_bmad-output/.runs/*/*/journal.jsonl"))

    def calls(self) -> list[Path]:
        return sorted(self.work.glob("_bmad-output/.runs/*/*/steps/*/attempt-*"))

    def agents_working(self) -> int:
        return sum((call / "started").exists() and not (call / "result.json").exists() for call in self.calls())

    def call_times(self) -> list[CallTimes]:
        """All ended calls, by start time."""
        return sorted(one for journal in self.runs() for one in _called(journal))

    def lanes_waiting(self, since: float) -> int:
        """Lanes that wait for an approval."""
        return sum(self._waits(path, since) for path in self.runs())

    def quiet_seconds(self) -> float:
        """How long ago a journal was last written."""
        return time.time() - max(journal.stat().st_mtime for journal in self.runs())

    def _waits(self, journal: Path, since: float) -> bool:
        try:
            last = json.loads(journal.read_text().splitlines()[-1])
        except (IndexError, ValueError):  # it is being written
            return False
        return bool(last["kind"] == "pending" and last["data"]["why"] == "an approval" and last["at"] > since)


def _called(journal: Path) -> Iterator[CallTimes]:
    """The calls of one lane. A call is wanted once the previous one has ended and its checks are done."""
    folders = journal.parent.glob("steps/*/attempt-*")
    ended = sorted((one.started_at, one.ended_at) for folder in folders if (one := read_result(str(folder))))
    entries = Journal(str(journal.parent), lambda value: value).entries()
    checks = [(one.at, sum(ran[2] for ran in one.data["ran"])) for one in entries if one.kind == "check"]
    before = 0.0
    for start, end in ended:
        checked = sum(seconds for at, seconds in checks if before < at <= start) if before else 0.0
        yield CallTimes(start, end, before + checked)
        before = end


class ResourceUse(NamedTuple):
    """CPU seconds of a process, CPU seconds of its reaped children, and its memory in megabytes."""

    own: float
    children: float
    memory: float


class Supervisor:
    def __init__(self, hub: BenchProject, agents: int, *patterns: str) -> None:
        command = [sys.executable, "-m", "benchmarks.parallel", "fly", str(hub.work), str(agents), *patterns]
        self._hub = hub
        with (hub.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                command, cwd=REPOSITORY, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def used(self) -> ResourceUse:
        pid = self._process.pid
        tick, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        own, children = (int(stat[at]) + int(stat[at + 1]) for at in (11, 13))
        memory = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page / 1024 / 1024
        return ResourceUse(own / tick, children / tick, memory)

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            said = (self._hub.folder / "log").read_text()[-2000:]
            assert self._process.poll() is None, f"it has ended: {said}"
            assert time.monotonic() < deadline, f"waited too long: {said}"
            time.sleep(0.3)

    def stop(self) -> None:
        self._process.send_signal(signal.SIGINT)
        self._process.wait(TIMEOUT)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for call in self._hub.calls():
            cancel_attempt(str(call), "measured")
        self._hub.close()


def run_autopilot(folder: str, agents: int, *patterns: str) -> int:
    """Run the autopilot as the command does, without output."""
    options = AutopilotOptions(patterns, parallel=agents, resume_all=True)
    return supervisor_run_autopilot(open_project(folder), options, on_event=lambda kind, data, at: None).exit_code


@contextmanager
def supervised(hub: BenchProject, agents: int) -> Iterator[Supervisor]:
    supervisor = Supervisor(hub, agents)
    try:
        yield supervisor
    finally:
        supervisor.end()


def measure_lanes_at_work(folder: Path, lanes: int) -> ResourceUse:
    """Measure this many lanes, each with a sleeping agent."""
    hub = BenchProject(folder, SLEEPS, epics=lanes, stories=1)
    with supervised(hub, lanes) as supervisor:
        supervisor.until(lambda: hub.agents_working() == lanes)
        time.sleep(SETTLE)
        return supervisor.used()


def measure_pending_pulls(
    folder: Path, pulls: int, agents: int, seconds: float
) -> tuple[ResourceUse, ResourceUse]:
    """Measure waiting pull requests, some of them in a fix round with sleeping agents."""
    hub = BenchProject(folder, SLEEPS, epics=pulls, stories=1)
    _deliver(hub)
    for epic in range(2, pulls + 1):
        _deliver_like_first(hub, epic)
    hub.git("push", "--quiet", "origin", "refs/heads/feature/*:refs/heads/feature/*")
    maria = SimHuman(hub.model)
    with hub.server.lock:
        for epic in range(2, pulls + 1):
            hub.model.sync_branches()
            hub.model.open_pull(NewPull(f"feature/epic-{epic}", "main", f"Epic {epic}", "Done."))
        for number in range(1, agents + 1):
            maria.request_changes(number, Remark(BOARD, 1, "Please say what was done."))
    begun = time.time()
    with supervised(hub, agents) as supervisor:
        supervisor.until(lambda: hub.agents_working() == agents and hub.lanes_waiting(begun) == pulls - agents)
        supervisor.until(lambda: hub.quiet_seconds() > QUIET)  # each lane looks again once its CI has finished
        before = supervisor.used()
        time.sleep(seconds)
        return before, supervisor.used()


def _deliver(hub: BenchProject) -> None:
    """Push a finished epic with a pull request, and let the autopilot adopt it until it waits."""
    rows = re.sub(r"^( +(epic-1|1-1-[a-z-]+): ).*$", r"\1done", (hub.work / BOARD).read_text(), flags=re.MULTILINE)
    head = hub.refs.commit(hub.refs.head_of("main"), {BOARD: rows.encode()}, "Work", AUTOPILOT_IDENTITY.name)
    with hub.server.lock:
        hub.model.push("feature/epic-1", head)
        hub.model.open_pull(NewPull("feature/epic-1", "main", "Epic 1", "Done."))
    supervisor = Supervisor(hub, 1, "^1$")
    supervisor.until(lambda: hub.lanes_waiting(0.0) == 1)
    supervisor.stop()


def _deliver_like_first(hub: BenchProject, epic: int) -> None:
    """Copy the first epic's commit and records under another name."""
    (first,) = {path.parent for path in hub.runs() if path.parent.name.startswith("epic-1-")}
    own = first.with_name(first.name.replace("epic-1-", f"epic-{epic}-"))
    shutil.copytree(first, own)
    for name in ("journal.jsonl", "state.json"):
        text = (own / name).read_text()
        text = re.sub(r"epic-1\b", f"epic-{epic}", text)
        text = re.sub(r'"(epic|number|pull)": ?("?)1\2(?=[,}])', rf'"\1":\g<2>{epic}\2', text)
        (own / name).write_text(text)
    hub.git("branch", "--quiet", f"feature/epic-{epic}", "feature/epic-1")


def measure_idle_slots(folder: Path, epics: int, stories: int, slots: int) -> list[float]:
    hub = BenchProject(folder, (*UNEVEN, *scripted_agent_command()), epics=epics, stories=stories)
    with supervised(hub, slots) as supervisor:
        supervisor.until(lambda: len(hub.call_times()) == epics * stories * STEPS)
        return idle_times(hub.call_times(), slots)


def idle_times(calls: list[CallTimes], slots: int) -> list[float]:
    """Milliseconds for which a slot was free and wanted. Each call gets the slot that was free first."""
    free = sorted(one.ended for one in calls)
    later = list(enumerate(calls))[slots:]
    return [(one.started - max(free[number - slots], one.wanted)) * 1000 for number, one in later]


def main(folder: str, seconds: float) -> None:
    os.environ["PATH"] = f"{TOOLS}{os.pathsep}{os.environ['PATH']}"
    if shutil.which("gh") is None:
        raise SystemExit("bench: there is no gh; make tools")
    root = Path(folder)
    before, after = measure_pending_pulls(root / "pending", PULLS, AGENTS, seconds)
    lanes = [measure_lanes_at_work(root / f"lanes-{count}", count) for count in LANES]
    figures = {
        "idle": measure_idle_slots(root / "flight", EPICS, STORIES, SLOTS),
        "load": 100 * (after.own - before.own) / seconds,
        "children": 100 * (after.children - before.children) / seconds,
        "memory": after.memory,
        "lanes": list(LANES),
        "begin": [used.own for used in lanes],
        "held": [used.memory for used in lanes],
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    os.environ.setdefault("GIT_CONFIG_NOSYSTEM", "1")
    if sys.argv[1] == "fly":
        raise SystemExit(run_autopilot(sys.argv[2], int(sys.argv[3]), *sys.argv[4:]))
    main(sys.argv[1], float(sys.argv[2]))

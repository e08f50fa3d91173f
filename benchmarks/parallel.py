"""What many lanes cost their supervisor, and how long slots stand empty. Run with gh at hand; prints JSON.

The supervisor is a process of its own, with the real gh and the real git; the simulated GitHub is here. `idle`:
milliseconds from the end of an agent to the start of the next one that wants its slot, with more epics than slots;
changes from epic to epic are in it, the project's checks are not. `load` and `memory`: of the supervisor alone, in
percent of a core and megabytes, with 100 pull requests of which 20 are mended by agents that sleep; `children`:
what gh and git take meanwhile. `lanes`, `begin`, `held`: for so many lanes at work its own seconds until each has
an agent, and its megabytes then."""

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

from bmad_autopilot.agents.attempts import read_result
from bmad_autopilot.agents.watching import cancel
from bmad_autopilot.engine.autopilot.supervising import autopilot
from bmad_autopilot.engine.autopilot.wishes import Wishes
from bmad_autopilot.github.identities import OURS
from bmad_autopilot.github.pulls import PullOrder
from bmad_autopilot.project.open import open_project
from bmad_autopilot.runs.journal import Journal
from bmad_autopilot.sim.github.bare import BareRefs
from bmad_autopilot.sim.github.ci import Job, SimCI
from bmad_autopilot.sim.github.clock import SimClock
from bmad_autopilot.sim.github.model import SimGitHub
from bmad_autopilot.sim.github.people import SimHuman
from bmad_autopilot.sim.github.reviewing import Remark
from bmad_autopilot.sim.github.wire.server import SimServer
from bmad_autopilot.sim.github.wire.ssh import gh_config, ssh_environment
from bmad_autopilot.sim.sample import BOARD, make_sample, scripted

TOOLS = Path(__file__).resolve().parent.parent / ".real/tools/bin"
REMOTE = "git@github.com:acme/widgets.git"
TOP = 'dependencies = "none"\nrequire_review = "human"\n'
SETTINGS = "\n[github]\ncheck_interval = 10\ncheck_grace = 1\nmax_pending = 100\n"
SLEEPS = ("sleep", "600")
UNEVEN = ("sh", "-c", 'sleep $(($$ % 3)).$(($$ % 7)); exec "$@"', "sh")  # lanes do not end their calls in step
PATIENCE = 300.0
SETTLE = 3.0
STEPS = 3  # of a story
PULLS, AGENTS = 100, 20
LANES = (1, 10, 50)
EPICS, STORIES, SLOTS = 6, 4, 3


class Called(NamedTuple):
    """One agent: when it was started and ended, and since when its lane wanted it."""

    started: float
    ended: float
    wanted: float


class Hub:
    """A project, and the GitHub that its remote leads to."""

    def __init__(
        self, folder: Path, agent: tuple[str, ...], *, epics: int, stories: int, settings: str = ""
    ) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.work = folder / "work"
        self.refs = BareRefs(folder / "acme" / "widgets.git")
        self.model = SimGitHub(SimClock(time.time()), self.refs, Random(5))
        SimCI(self.model, [Job("test", appears=0.1, begins=0.1, takes=0.5)])
        socket = Path(tempfile.mkdtemp()) / "s"  # a socket's path has to be short
        os.environ.update(gh_config(folder / "gh", socket) | ssh_environment(folder, socket))
        make_sample(str(self.work), epics, stories, agent_command=agent)
        config = self.work / "bmad-autopilot.toml"
        config.write_text(f"{TOP}{config.read_text()}{settings or SETTINGS}")
        self.git("commit", "--quiet", "--all", "--message", "Settings")
        self.git("remote", "add", "origin", REMOTE)
        self.git("push", "--quiet", "origin", "main")
        self.model.look_at_branches()
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

    def working(self) -> int:
        return sum((call / "started").exists() and not (call / "result.json").exists() for call in self.calls())

    def called(self) -> list[Called]:
        """All calls that have ended, in the order of their starts."""
        return sorted(one for journal in self.runs() for one in _called(journal))

    def waiting(self, since: float) -> int:
        """Lanes that wait for an approval."""
        return sum(self._waits(path, since) for path in self.runs())

    def _waits(self, journal: Path, since: float) -> bool:
        try:
            last = json.loads(journal.read_text().splitlines()[-1])
        except (IndexError, ValueError):  # it is being written
            return False
        return bool(last["kind"] == "pending" and last["data"]["why"] == "an approval" and last["at"] > since)


def _called(journal: Path) -> Iterator[Called]:
    """Of one lane. A call is wanted once the one before has ended and what it left was checked."""
    folders = journal.parent.glob("steps/*/attempt-*")
    ended = sorted((one.started_at, one.ended_at) for folder in folders if (one := read_result(str(folder))))
    entries = Journal(str(journal.parent), lambda value: value).entries()
    checks = [(one.at, sum(ran[2] for ran in one.data["ran"])) for one in entries if one.kind == "check"]
    before = 0.0
    for start, end in ended:
        checked = sum(seconds for at, seconds in checks if before < at <= start) if before else 0.0
        yield Called(start, end, before + checked)
        before = end


class Used(NamedTuple):
    """By one process: seconds of a core, its children's that it has waited for, and megabytes."""

    own: float
    children: float
    memory: float


class Supervisor:
    def __init__(self, hub: Hub, agents: int, *patterns: str) -> None:
        command = [sys.executable, __file__, "fly", str(hub.work), str(agents), *patterns]
        self._hub = hub
        with (hub.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def used(self) -> Used:
        pid = self._process.pid
        tick, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        own, children = (int(stat[at]) + int(stat[at + 1]) for at in (11, 13))
        memory = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page / 1024 / 1024
        return Used(own / tick, children / tick, memory)

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            said = (self._hub.folder / "log").read_text()[-2000:]
            assert self._process.poll() is None, f"it has ended: {said}"
            assert time.monotonic() < deadline, f"waited too long: {said}"
            time.sleep(0.3)

    def stop(self) -> None:
        self._process.send_signal(signal.SIGINT)
        self._process.wait(PATIENCE)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for call in self._hub.calls():
            cancel(str(call), "measured")
        self._hub.close()


def fly(folder: str, agents: int, *patterns: str) -> int:
    """As the command would, with nobody looking on."""
    wishes = Wishes(patterns, parallel=agents, go_on=True)
    return autopilot(open_project(folder), wishes, told=lambda kind, data, at: None).exit_code


@contextmanager
def supervised(hub: Hub, agents: int) -> Iterator[Supervisor]:
    supervisor = Supervisor(hub, agents)
    try:
        yield supervisor
    finally:
        supervisor.end()


def at_work(folder: Path, lanes: int) -> Used:
    """So many lanes, each with an agent that sleeps."""
    hub = Hub(folder, SLEEPS, epics=lanes, stories=1)
    with supervised(hub, lanes) as supervisor:
        supervisor.until(lambda: hub.working() == lanes)
        time.sleep(SETTLE)
        return supervisor.used()


def pending(folder: Path, pulls: int, agents: int, seconds: float) -> tuple[Used, Used]:
    """So many pull requests wait, of which some are being mended by agents that sleep."""
    hub = Hub(folder, SLEEPS, epics=pulls, stories=1)
    _deliver(hub)
    for epic in range(2, pulls + 1):
        _deliver_like_first(hub, epic)
    hub.git("push", "--quiet", "origin", "refs/heads/feature/*:refs/heads/feature/*")
    maria = SimHuman(hub.model)
    with hub.server.lock:
        for epic in range(2, pulls + 1):
            hub.model.look_at_branches()
            hub.model.open_pull(PullOrder(f"feature/epic-{epic}", "main", f"Epic {epic}", "Done."))
        for number in range(1, agents + 1):
            maria.object_to(number, Remark(BOARD, 1, "Please say what was done."))
    begun = time.time()
    with supervised(hub, agents) as supervisor:
        supervisor.until(lambda: hub.working() == agents and hub.waiting(begun) == pulls - agents)
        time.sleep(SETTLE)
        before = supervisor.used()
        time.sleep(seconds)
        return before, supervisor.used()


def _deliver(hub: Hub) -> None:
    """Its stories done on its branch, and a pull request: the autopilot takes it up and drives it to its wait."""
    rows = re.sub(r"^( +(epic-1|1-1-[a-z-]+): ).*$", r"\1done", (hub.work / BOARD).read_text(), flags=re.MULTILINE)
    head = hub.refs.commit(hub.refs.head_of("main"), {BOARD: rows.encode()}, "Work", OURS.name)
    with hub.server.lock:
        hub.model.push("feature/epic-1", head)
        hub.model.open_pull(PullOrder("feature/epic-1", "main", "Epic 1", "Done."))
    supervisor = Supervisor(hub, 1, "^1$")
    supervisor.until(lambda: hub.waiting(0.0) == 1)
    supervisor.stop()


def _deliver_like_first(hub: Hub, epic: int) -> None:
    """The same commit and the same records under another name."""
    (first,) = {path.parent for path in hub.runs() if path.parent.name.startswith("epic-1-")}
    own = first.with_name(first.name.replace("epic-1-", f"epic-{epic}-"))
    shutil.copytree(first, own)
    for name in ("journal.jsonl", "state.json"):
        text = (own / name).read_text()
        text = re.sub(r"epic-1\b", f"epic-{epic}", text)
        text = re.sub(r'"(epic|number|pull)": ?("?)1\2(?=[,}])', rf'"\1":\g<2>{epic}\2', text)
        (own / name).write_text(text)
    hub.git("branch", "--quiet", f"feature/epic-{epic}", "feature/epic-1")


def flight(folder: Path, epics: int, stories: int, slots: int) -> list[float]:
    hub = Hub(folder, (*UNEVEN, *scripted()), epics=epics, stories=stories)
    with supervised(hub, slots) as supervisor:
        supervisor.until(lambda: len(hub.called()) == epics * stories * STEPS)
        return idle(hub.called(), slots)


def idle(calls: list[Called], slots: int) -> list[float]:
    """Milliseconds for which a slot was free and wanted. Who starts has the one that was free first."""
    free = sorted(one.ended for one in calls)
    later = list(enumerate(calls))[slots:]
    return [(one.started - max(free[number - slots], one.wanted)) * 1000 for number, one in later]


def main(folder: str, seconds: float) -> None:
    os.environ["PATH"] = f"{TOOLS}{os.pathsep}{os.environ['PATH']}"
    if shutil.which("gh") is None:
        raise SystemExit("bench: there is no gh; make tools")
    place = Path(folder)
    before, after = pending(place / "pending", PULLS, AGENTS, seconds)
    lanes = [at_work(place / f"lanes-{count}", count) for count in LANES]
    figures = {
        "idle": flight(place / "flight", EPICS, STORIES, SLOTS),
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
        raise SystemExit(fly(sys.argv[2], int(sys.argv[3]), *sys.argv[4:]))
    main(sys.argv[1], float(sys.argv[2]))

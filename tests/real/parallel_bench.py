"""A sample of many epics for lanes beside each other: `bmad autopilot --parallel N` as a process of its own, with
the real gh and the real git, an agent that takes its time, and a GitHub whose checks and people are quick."""

import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bmad_autopilot.runs.journal import Journal
from bmad_autopilot.sim.github.checks import CIJob, SimCI
from bmad_autopilot.sim.github.people import SimMaintainer
from bmad_autopilot.sim.sample import make_sample, scripted_agent_command
from tests.real.delivery_bench import AGENT, REMOTE, DeliveryBench

TOP = 'dependencies = "none"\nrequire_review = "human"\n'
SETTINGS = "\n[github]\ncheck_interval = 5\ncheck_grace = 2\nmax_pending = 10\n"


class Entry(NamedTuple):
    lane: str
    kind: str
    data: Mapping[str, Any]
    at: float


class ParallelBench(DeliveryBench):
    seconds = 1.0  # that each call of the agent takes
    top = TOP

    def _make_project(self, epics: int, stories: int, settings: str) -> None:
        agent = self.folder / "agent.py"
        agent.write_text(AGENT)
        kept = (sys.executable, str(agent), str(self.folder / "environments"))
        make_sample(
            str(self.work), epics, stories, agent_command=(*kept, *scripted_agent_command("honest", self.seconds))
        )
        path = self.work / "bmad-autopilot.toml"
        path.write_text(f"{self.top}{path.read_text()}{settings}")
        self.git("commit", "--quiet", "--all", "--message", "Settings")
        self.git("remote", "add", "origin", REMOTE)
        self.git("push", "--quiet", "origin", "main")
        self.model.sync_branches()

    def people(self) -> None:
        """Checks of a second, and somebody who approves what is green soon after."""
        SimCI(self.model, [CIJob("test", appears_after=0.1, starts_after=0.1, duration=1.0)])
        SimMaintainer(self.model, delay=0.2)

    def entries(self) -> list[Entry]:
        """Of all runs' journals, in the order of their times."""
        return sorted(self._entries(), key=lambda one: one.at)

    def _entries(self) -> Iterator[Entry]:
        for path in sorted(self.work.glob("_bmad-output/.runs/**/journal.jsonl")):
            own = Journal(str(path.parent), lambda value: value).entries()
            lane = str(own[0].data.get("target", "")) if own else ""
            yield from (Entry(lane, one.kind, one.data, one.at) for one in own)

    def worktrees(self) -> list[str]:
        """Beside the checkout, as git knows them."""
        found = self.git("worktree", "list", "--porcelain").splitlines()
        return [line.removeprefix("worktree ") for line in found if line.startswith("worktree ")][1:]

    def development(self) -> float:
        """Seconds from the first call to the hand-over of the last epic."""
        entries = self.entries()
        first = next(one.at for one in entries if one.kind == "call")
        return max(one.at for one in entries if one.kind == "delivering") - first

    def whole(self) -> float:
        entries = self.entries()
        return entries[-1].at - entries[0].at

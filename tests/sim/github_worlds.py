"""Simulated GitHubs for tests: a base, one branch of ours, and a pull request for it."""

from pathlib import Path
from random import Random

from bmad_autopilot.github.pulls import PullOrder
from bmad_autopilot.sim.github.bare import BareRefs
from bmad_autopilot.sim.github.clock import SimClock
from bmad_autopilot.sim.github.model import SimGitHub
from bmad_autopilot.sim.github.records import Protection, SimPull
from bmad_autopilot.sim.github.refs import MemoryRefs, Refs
from bmad_autopilot.sim.memory_git import MemoryGit

FILES = {"a.py": b"one\ntwo\nthree\nfour\nfive\n", "b.py": b"b\n"}
BRANCH = "feature/epic-1"


class Hub:
    """The model with its clock at hand."""

    def __init__(self, refs: Refs) -> None:
        self.clock = SimClock(1000.0)
        self.refs = refs
        self.model = SimGitHub(self.clock, refs, Random(7))

    @property
    def main(self) -> str:
        return self.refs.head_of("main")

    def work(self, edits: dict[str, bytes | None], branch: str = BRANCH, start: str = "") -> str:
        """A commit of ours, pushed."""
        held = self.refs.head_of(branch)
        sha = self.refs.commit(held or start or self.main, edits, "Work", "")
        self.model.push(branch, sha, held)
        return sha

    def open(self, branch: str = BRANCH, base: str = "main") -> SimPull:
        if not self.refs.head_of(branch):
            self.work({f"{branch.rpartition('/')[2]}.py": b"new\n"}, branch)
        return self.model.open_pull(PullOrder(branch, base, f"About {branch}", "Body"))

    def wait(self, seconds: float) -> None:
        self.clock.advance(self.clock.now + seconds)

    def protect(self, **rules: object) -> None:
        self.model.repository.protections["main"] = Protection(**rules)  # type: ignore[arg-type]


def memory_hub() -> Hub:
    return Hub(MemoryRefs(MemoryGit(FILES)))


def bare_hub(folder: Path) -> Hub:
    refs = BareRefs(folder / "acme" / "widgets.git")
    refs.set("main", refs.commit("", dict(FILES), "The plan", "dev"))
    return Hub(refs)

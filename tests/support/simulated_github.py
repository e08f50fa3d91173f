"""Simulated GitHub repositories for tests, in memory or on a bare repository: a base, a branch, a pull request."""

from pathlib import Path
from random import Random

from bmad_autopilot.github.forge import NewPull
from bmad_autopilot.sim.github.model import SimGitHub
from bmad_autopilot.sim.github.records import Protection, SimClock, SimPull
from bmad_autopilot.sim.github.refs import BareRefs, MemoryRefs, Refs
from bmad_autopilot.sim.memory.git import MemoryGit

FILES = {"a.py": b"one\ntwo\nthree\nfour\nfive\n", "b.py": b"b\n"}
BRANCH = "feature/epic-1"


class Hub:
    """The simulated GitHub with its clock and helpers."""

    def __init__(self, refs: Refs) -> None:
        self.clock = SimClock(1000.0)
        self.refs = refs
        self.model = SimGitHub(self.clock, refs, Random(7))

    @property
    def main(self) -> str:
        return self.refs.head_of("main")

    def push_work(self, edits: dict[str, bytes | None], branch: str = BRANCH, start: str = "") -> str:
        """Commit and push as us."""
        head = self.refs.head_of(branch)
        sha = self.refs.commit(head or start or self.main, edits, "Work", "")
        self.model.push(branch, sha, head)
        return sha

    def open_pull(self, branch: str = BRANCH, base: str = "main") -> SimPull:
        if not self.refs.head_of(branch):
            self.push_work({f"{branch.rpartition('/')[2]}.py": b"new\n"}, branch)
        return self.model.open_pull(NewPull(branch, base, f"About {branch}", "Body"))

    def advance(self, seconds: float) -> None:
        self.clock.advance(self.clock.now + seconds)

    def protect(self, **rules: object) -> None:
        self.model.repository.protections["main"] = Protection(**rules)  # type: ignore[arg-type]


def memory_hub() -> Hub:
    return Hub(MemoryRefs(MemoryGit(FILES)))


def bare_hub(folder: Path) -> Hub:
    refs = BareRefs(folder / "acme" / "widgets.git")
    refs.set("main", refs.commit("", dict(FILES), "The plan", "dev"))
    return Hub(refs)

"""Measures delivery: own time, reaction time and use of the rate limit. Needs graphql-core; prints JSON.

`merge`: our own seconds from an approved and green pull request to its merge, without gh's processes. `event`:
seconds from an approval right after a poll to the merge, with `check_interval = 10`. `points`: the share of an
hour's points, in percent, for watching a hundred pull requests for an hour, including the full reads that the
autopilot makes."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from bmad_autopilot.engine.autopilot.monitor import RESCAN
from bmad_autopilot.engine.autopilot.options import AutopilotOptions
from bmad_autopilot.engine.autopilot.supervisor import run_autopilot
from bmad_autopilot.git.git import Git
from bmad_autopilot.github.forge import NewPull, PullSummary
from bmad_autopilot.github.gh import Gh
from bmad_autopilot.github.gh_errors import ApiRequest, HttpAnswer
from bmad_autopilot.github.gh_forge import GhForge
from bmad_autopilot.project.project import open_project
from bmad_autopilot.sim.github.checks import CIJob, SimCI
from bmad_autopilot.sim.github.forge import LiveForge
from bmad_autopilot.sim.github.model import SimGitHub
from bmad_autopilot.sim.github.people import SimCopilot, SimHuman
from bmad_autopilot.sim.github.records import GitHubFaults, SimClock
from bmad_autopilot.sim.github.refs import BareRefs, MemoryRefs
from bmad_autopilot.sim.memory.git import MemoryGit
from bmad_autopilot.sim.sample import make_sample, scripted_agent_command
from tests.fake_github.responder import Responder

INTERVAL = 10
STEP = 30.0  # simulated seconds between two calls: only the measured event is waited for
HOUR, POINTS, PULLS = 3600.0, 5000, 100
LOOKS = 5


class Forge(LiveForge):
    """A maintainer approves as soon as the pull request waits for an approval; `late`: right after a poll."""

    def __init__(self, model: SimGitHub, late: bool) -> None:
        super().__init__(model, clock=self._time)
        self.approved = 0.0
        self.merged = 0.0
        self.waits = False  # for an approval
        self._late = late
        self._looks = 0
        self._maria = SimHuman(model)
        model.listeners.append(lambda event, pull: self._hear(event))

    def _time(self) -> float:
        return self.model.now + STEP

    def _hear(self, event: str) -> None:
        if event == "merged":
            self.merged = time.perf_counter()

    def watch(self, numbers: Sequence[int]) -> list[PullSummary]:
        if not self._late:
            self._approve()
        marks = super().watch(numbers)
        self._looks += self.waits
        if self._looks > 1:  # another poll follows the first one at once
            self._approve()
        return marks

    def _approve(self) -> None:
        if not self.approved and self.waits:
            self.approved = time.perf_counter()
            self._maria.approve(1)


def main(folder: str, rounds: int) -> None:
    merges = [_deliver(f"{folder}/m{number}", late=False) for number in range(max(3, rounds // 5))]
    print(json.dumps({"merge": merges, "event": [_deliver(f"{folder}/e", late=True)], "points": [_points()]}))


def _deliver(folder: str, *, late: bool) -> float:
    """Seconds from the approval to the merge."""
    work = f"{folder}/work"
    refs = BareRefs(Path(folder) / "hub.git")
    make_sample(work, 1, 1, agent_command=scripted_agent_command())
    with open(f"{work}/bmad-autopilot.toml", "a", encoding="utf-8") as file:
        file.write(f"\n[github]\ncheck_interval = {INTERVAL}\ncheck_grace = 1\n")
    for words in (
        ["commit", "--quiet", "--all", "--message", "Settings"],
        ["remote", "add", "origin", str(refs.folder)],
        ["push", "--quiet", "origin", "main"],
    ):
        subprocess.run(["git", *words], cwd=work, check=True, capture_output=True)
    model = SimGitHub(SimClock(time.time()), refs, Random(1))
    SimCI(model, [CIJob("test", duration=1.0)])
    SimCopilot(model, duration=1.0)
    forge = Forge(model, late)

    def on_event(kind: str, data: Mapping[str, Any], at: float) -> None:
        forge.waits = (kind == "pending" and data["why"] == "an approval") or forge.waits

    def maker(git: Git, remote: str) -> Forge:
        return forge

    end = run_autopilot(open_project(work), AutopilotOptions(), on_event=on_event, forge=maker)
    assert end.merged == ("epic-1",), end
    return forge.merged - forge.approved


class Wire(Gh):
    """The gh client without a process: the responder answers its requests."""

    def __init__(self, model: SimGitHub) -> None:
        super().__init__(clock=lambda: model.now)
        self.responder = Responder(model, None, GitHubFaults())

    def _ask(
        self, asked: ApiRequest, method: str, path: str, headers: tuple[str, ...], feed: bytes, limit: int
    ) -> HttpAnswer:
        found = self.responder.answer(method, f"/{path}", {"Authorization": "token x"}, feed)
        assert found is not None
        return HttpAnswer(found.status, {name.lower(): value for name, value in found.headers.items()}, found.body)


def _points() -> float:
    model = SimGitHub(SimClock(1000.0), MemoryRefs(MemoryGit({"a.py": b"a\n"})), Random(1))
    for number in range(1, PULLS + 1):
        branch = f"feature/epic-{number}"
        model.push(branch, model.refs.commit(model.refs.head_of("main"), {f"{number}.py": b"b\n"}, "Work", ""))
        model.open_pull(NewPull(branch, "main", f"Epic {number}", "…"))
    wire = Wire(model)
    forge = GhForge(wire, "acme", "widgets")
    for _ in range(LOOKS):
        assert len(forge.watch(range(1, PULLS + 1))) == PULLS
    watching = wire.responder.points.spent / LOOKS
    forge.repository()
    before = wire.responder.points.spent
    forge.pull(1)
    forge.pulls_from("feature/epic-1")  # of the epic before it
    whole = (wire.responder.points.spent - before) * PULLS
    return 100 * (watching * HOUR / INTERVAL + whole * HOUR / RESCAN) / POINTS


if __name__ == "__main__":
    os.environ.setdefault("GIT_CONFIG_NOSYSTEM", "1")
    main(sys.argv[1], int(sys.argv[2]))

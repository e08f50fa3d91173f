"""The autopilot in this process, on a sample project whose GitHub is the simulator: real git, real agents."""

import itertools
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.engine.autopilot.supervising import Ending, autopilot
from bmad_autopilot.engine.autopilot.wishes import Wishes
from bmad_autopilot.github.git import Git
from bmad_autopilot.github.pulls import PullOrder
from bmad_autopilot.project.open import open_project
from bmad_autopilot.runs.layout import runs_folder
from bmad_autopilot.runs.question import Question
from bmad_autopilot.runs.questions import Asked, all_open
from bmad_autopilot.sim.github.bare import BareRefs
from bmad_autopilot.sim.github.clock import SimClock
from bmad_autopilot.sim.github.effects import GitHubEffect
from bmad_autopilot.sim.github.faults import Fault
from bmad_autopilot.sim.github.live import LiveForge
from bmad_autopilot.sim.github.model import VIEWER, SimGitHub
from bmad_autopilot.sim.sample import make_sample, scripted
from tests.support import git

BRANCH = "feature/epic-1"
MOST_LOOKS = 100
MOST_BESIDE = 400  # while others are at work
LOOK = 0.3  # seconds of ours between two looks
STEP = 30.0  # seconds on GitHub between two looks at it: whatever is due is there at the next one


class Hurried(LiveForge):
    """On which time goes by from look to look. Where nothing comes of that, somebody waits for ever."""

    def __init__(self, model: SimGitHub, most: int = MOST_LOOKS) -> None:
        times, begun = itertools.count(1), model.now
        super().__init__(model, clock=lambda: begun + next(times) * STEP)
        self._most = most
        self._looks = 0

    def pace(self, seconds: float) -> float:
        return LOOK

    def _begin(self, call: str, *, is_effect: bool) -> Fault | None:
        self._looks = self._looks + 1 if call == "watch" else 0
        assert self._looks <= self._most, "it waits for ever"
        return super()._begin(call, is_effect=is_effect)


Heard = Callable[[str, Mapping[str, Any]], None]


class Flight(NamedTuple):
    end: Ending
    log: list[tuple[str, Mapping[str, Any]]]

    def entries(self, kind: str) -> list[Mapping[str, Any]]:
        return [data for one, data in self.log if one == kind]


class Pilot:
    def __init__(
        self,
        folder: Path,
        *,
        epics: int = 1,
        stories: int = 1,
        settings: str = "",
        top: str = "",
        agent: Sequence[str] = (),
    ) -> None:
        """`top`: settings that belong to no table."""
        self.folder = folder
        self.work = folder / "work"
        self.refs = BareRefs(folder / "hub.git")
        make_sample(str(self.work), epics, stories, agent_command=agent or scripted("honest"))
        path = self.work / "bmad-autopilot.toml"
        path.write_text(f"{top}{path.read_text()}\n{settings}\n[github]\ncheck_interval = 5\ncheck_grace = 1\n")
        git(self.work, "commit", "--quiet", "--all", "--message", "Settings")
        git(self.work, "remote", "add", "origin", str(self.refs.folder))
        git(self.work, "push", "--quiet", "origin", "main")
        self.model = self._github()

    def _github(self) -> SimGitHub:
        return SimGitHub(SimClock(time.time()), self.refs, Random(3))

    def fly(
        self, heard: Heard = lambda kind, data: None, *, clock: Callable[[], float] = time.time, **wishes: Any
    ) -> Flight:
        """`heard`: somebody who acts on what is told."""
        log: list[tuple[str, Mapping[str, Any]]] = []

        def told(kind: str, data: Mapping[str, Any], at: float) -> None:
            log.append((kind, dict(data)))
            heard(kind, data)

        forge = Hurried(self.model, MOST_BESIDE if wishes.get("parallel") else MOST_LOOKS)

        def maker(git: Git, remote: str) -> Hurried:
            return forge

        project = open_project(str(self.work))
        return Flight(autopilot(project, Wishes(**wishes), told=told, forge=maker, clock=clock), log)

    def refused(self, **wishes: Any) -> AutopilotError:
        """Before an agent has cost anything."""
        try:
            self.fly(**wishes)
        except AutopilotError as error:
            assert not os.path.exists(runs_folder(str(self.work)))
            return error
        raise AssertionError("it was not refused")

    def question(self) -> Question:
        return self.asked().question

    def asked(self) -> Asked:
        (found,) = all_open(runs_folder(str(self.work))).asked
        return found

    def effects(self, *kinds: str, by: str | None = VIEWER) -> list[GitHubEffect]:
        return list(self.model.effects.of(*kinds, by=by))

    # an epic whose pull request waits, made once and then put back

    def keep(self) -> None:
        shutil.copytree(self.folder, f"{self.folder}.kept", symlinks=True)

    def put_back(self) -> None:
        """As it was kept, in the same place, with the pull request as a new GitHub would know it."""
        shutil.rmtree(self.folder)
        shutil.copytree(f"{self.folder}.kept", self.folder, symlinks=True)
        self.model = self._github()
        if self.refs.head_of(BRANCH):
            self.model.open_pull(PullOrder(BRANCH, "main", "Epic 1: Accounts", "…"))
        self.model.effects.all.clear()


def git_only(folder: Path, patch: Callable[[str, str], None]) -> None:
    """A PATH that finds git and nothing else."""
    folder.mkdir()
    found = shutil.which("git")
    assert found is not None
    (folder / "git").symlink_to(found)
    patch("PATH", str(folder))


def run_git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()

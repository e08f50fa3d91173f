"""Runs the autopilot in this process: a sample project, the simulated GitHub, real git and scripted agents."""

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
from bmad_autopilot.engine.autopilot.options import AutopilotOptions
from bmad_autopilot.engine.autopilot.supervisor import AutopilotResult, run_autopilot
from bmad_autopilot.git.git import Git
from bmad_autopilot.github.forge import NewPull
from bmad_autopilot.project.project import open_project
from bmad_autopilot.runs.layout import runs_folder
from bmad_autopilot.runs.question_file import RunQuestion
from bmad_autopilot.runs.questions import PendingQuestion, load_inbox
from bmad_autopilot.sim.github.forge import LiveForge
from bmad_autopilot.sim.github.model import VIEWER, SimGitHub
from bmad_autopilot.sim.github.records import GitHubEffect, GitHubFault, SimClock
from bmad_autopilot.sim.github.refs import BareRefs
from bmad_autopilot.sim.sample import make_sample, scripted_agent_command
from tests.support.bmad_project import git

BRANCH = "feature/epic-1"
MAX_POLLS = 100
MAX_PARALLEL_POLLS = 400  # while other lanes are at work
POLL_SECONDS = 0.3  # real seconds between two polls
GITHUB_SECONDS_PER_POLL = 30.0  # simulated seconds between two calls: pending events are due by the next poll


class FastForge(LiveForge):
    """Advances GitHub's clock with every call. Fails after too many polls without progress: an endless wait."""

    def __init__(self, model: SimGitHub, max_polls: int = MAX_POLLS) -> None:
        times, begun = itertools.count(1), model.now
        super().__init__(model, clock=lambda: begun + next(times) * GITHUB_SECONDS_PER_POLL)
        self._max_polls = max_polls
        self._polls = 0

    def pace(self, seconds: float) -> float:
        return POLL_SECONDS

    def _begin(self, call: str, *, is_effect: bool) -> GitHubFault | None:
        self._polls = self._polls + 1 if call == "watch" else 0
        assert self._polls <= self._max_polls, "it waits for ever"
        return super()._begin(call, is_effect=is_effect)


OnEvent = Callable[[str, Mapping[str, Any]], None]


class AutopilotRun(NamedTuple):
    end: AutopilotResult
    log: list[tuple[str, Mapping[str, Any]]]

    def entries(self, kind: str) -> list[Mapping[str, Any]]:
        return [data for one, data in self.log if one == kind]


class AutopilotProject:
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
        """`top`: top-level settings, outside of any table."""
        self.folder = folder
        self.work = folder / "work"
        self.refs = BareRefs(folder / "hub.git")
        make_sample(str(self.work), epics, stories, agent_command=agent or scripted_agent_command("honest"))
        path = self.work / "bmad-autopilot.toml"
        path.write_text(f"{top}{path.read_text()}\n{settings}\n[github]\ncheck_interval = 5\ncheck_grace = 1\n")
        git(self.work, "commit", "--quiet", "--all", "--message", "Settings")
        git(self.work, "remote", "add", "origin", str(self.refs.folder))
        git(self.work, "push", "--quiet", "origin", "main")
        self.model = self._github()

    def _github(self) -> SimGitHub:
        return SimGitHub(SimClock(time.time()), self.refs, Random(3))

    def run(
        self,
        on_event: OnEvent = lambda kind, data: None,
        *,
        clock: Callable[[], float] = time.time,
        **options: Any,
    ) -> AutopilotRun:
        """Run the autopilot; `on_event` may react to its events."""
        log: list[tuple[str, Mapping[str, Any]]] = []

        def record_event(kind: str, data: Mapping[str, Any], at: float) -> None:
            log.append((kind, dict(data)))
            on_event(kind, data)

        forge = FastForge(self.model, MAX_PARALLEL_POLLS if options.get("parallel") else MAX_POLLS)

        def maker(git: Git, remote: str) -> FastForge:
            return forge

        project = open_project(str(self.work))
        return AutopilotRun(
            run_autopilot(project, AutopilotOptions(**options), on_event=record_event, forge=maker, clock=clock),
            log,
        )

    def run_refused(self, **options: Any) -> AutopilotError:
        """Expect an error before any agent is started."""
        try:
            self.run(**options)
        except AutopilotError as error:
            assert not os.path.exists(runs_folder(str(self.work)))
            return error
        raise AssertionError("it was not refused")

    def question(self) -> RunQuestion:
        return self.asked().question

    def asked(self) -> PendingQuestion:
        (found,) = load_inbox(runs_folder(str(self.work))).pending
        return found

    def effects(self, *kinds: str, by: str | None = VIEWER) -> list[GitHubEffect]:
        return list(self.model.effects.select(*kinds, by=by))

    # an epic with a waiting pull request, made once and restored for each test

    def save_copy(self) -> None:
        shutil.copytree(self.folder, f"{self.folder}.kept", symlinks=True)

    def restore_copy(self) -> None:
        """Restore the copy in the same folder, with a new GitHub that has the pull request."""
        shutil.rmtree(self.folder)
        shutil.copytree(f"{self.folder}.kept", self.folder, symlinks=True)
        self.model = self._github()
        if self.refs.head_of(BRANCH):
            self.model.open_pull(NewPull(BRANCH, "main", "Epic 1: Accounts", "…"))
        self.model.effects.all.clear()


def use_path_with_git_only(folder: Path, patch: Callable[[str, str], None]) -> None:
    """Set a PATH that has only git."""
    folder.mkdir()
    found = shutil.which("git")
    assert found is not None
    (folder / "git").symlink_to(found)
    patch("PATH", str(folder))


def run_git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()

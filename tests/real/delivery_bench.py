"""A sample project whose remote is called GitHub's, and `bmad autopilot` on it as a process of its own, with the
real gh and the real git. Behind the socket is the simulated GitHub; its people and robots act by script."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bmad_autopilot.sim.github.model import VIEWER, SimGitHub
from bmad_autopilot.sim.github.records import GitHubEffect, SimClock, SimPull
from bmad_autopilot.sim.github.refs import BareRefs
from bmad_autopilot.sim.sample import BOARD, make_sample, scripted_agent_command
from tests.fake_github.client_environment import gh_config, ssh_environment
from tests.fake_github.server import SimServer
from tests.support.graphql_schema import SHARED

BMAD = (sys.executable, "-m", "bmad_autopilot")
REMOTE = "git@github.com:acme/widgets.git"
VERSIONS = {"2.102": "tools/bin", "2.23": "gh-debian/usr/bin"}
PATIENCE = 120.0
SETTINGS = "\n[github]\ncheck_interval = 5\ncheck_grace = 2\n"

# What the agent finds in its environment is kept, one file for each call.
AGENT = """\
import json, os, sys
folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
with open(os.path.join(folder, str(os.getpid())), "w") as out:
    json.dump(dict(os.environ), out)
os.execv(sys.argv[2], sys.argv[2:])
"""


def use_gh(real: Path, version: str, patch: pytest.MonkeyPatch) -> None:
    """This one is what PATH finds."""
    folder = real / VERSIONS[version]
    if not (folder / "gh").exists():
        pytest.skip(f"no gh in {folder}; run `make tools`")
    patch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


class DeliveryBench:
    def __init__(
        self,
        folder: Path,
        patch: pytest.MonkeyPatch,
        *,
        epics: int = 2,
        stories: int = 3,
        settings: str = SETTINGS,
    ) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.refs = BareRefs(folder / "acme" / "widgets.git")
        self.model = SimGitHub(SimClock(time.time()), self.refs, Random(5))
        for name, value in (gh_config(folder / "gh", self.socket) | ssh_environment(folder, self.socket)).items():
            patch.setenv(name, value)
        self._make_project(epics, stories, settings)
        self._server: SimServer | None = None

    @property
    def socket(self) -> Path:
        return self.folder / "s"

    def _make_project(self, epics: int, stories: int, settings: str) -> None:
        agent = self.folder / "agent.py"
        agent.write_text(AGENT)
        command = (
            sys.executable,
            str(agent),
            str(self.folder / "environments"),
            *scripted_agent_command("honest"),
        )
        make_sample(str(self.work), epics, stories, agent_command=command)
        with (self.work / "bmad-autopilot.toml").open("a") as file:
            file.write(settings)
        self.git("commit", "--quiet", "--all", "--message", "Settings")
        self.git("remote", "add", "origin", REMOTE)
        self.git("push", "--quiet", "origin", "main")
        self.model.sync_branches()

    def serve(self, **options: Any) -> SimServer:
        """In real time, and each document against the schema where that is there."""
        schema = SHARED if SHARED.exists() else None
        self._server = SimServer(self.model, self.socket, **{"schema": schema, "speed": 1.0, **options})
        return self._server

    @property
    def server(self) -> SimServer:
        assert self._server is not None
        return self._server

    def git(self, *arguments: str) -> str:
        command = ["git", *arguments]
        done = subprocess.run(
            command,
            cwd=self.work,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    # bmad

    def bmad(self, *arguments: str, seconds: float = PATIENCE) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*BMAD, "-C", str(self.work), *arguments],
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def start(self, *arguments: str, log: str = "log") -> "subprocess.Popen[bytes]":
        with (self.folder / log).open("ab") as out:
            return subprocess.Popen(
                [*BMAD, "-C", str(self.work), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def questions(self) -> list[dict[str, Any]]:
        found = self.bmad("questions", "--json")
        assert found.returncode == 0, found.stderr
        return list(json.loads(found.stdout)["questions"])

    def until(self, condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, self.told()
            time.sleep(0.1)

    def told(self) -> str:
        log = self.folder / "log"
        return log.read_text(errors="replace")[-6000:] if log.exists() else ""

    # what came of it

    def effects(self, *kinds: str, by: str | None = VIEWER) -> list[GitHubEffect]:
        with self.server.lock:
            return list(self.model.effects.select(*kinds, by=by))

    def pull(self, number: int) -> SimPull:
        with self.server.lock:
            return self.model.pulls[number]

    def message(self, sha: str) -> str:
        return self.model.refs.ahead(f"{sha}^", sha)[0].message

    def board_on(self, sha: str) -> str:
        return (self.refs.read(sha, BOARD) or b"").decode()

    def environments(self) -> list[dict[str, str]]:
        return [json.loads(path.read_text()) for path in sorted((self.folder / "environments").iterdir())]

"""A CI for the simulated GitHub that runs the repository's workflows with act on a checkout of the pushed head.

act runs the steps on this machine, without a container: use it only for repositories that we wrote ourselves."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bmad_autopilot.sim.github import checks
from bmad_autopilot.sim.github.model import SimGitHub
from bmad_autopilot.sim.github.records import SimCheck, SimPull
from bmad_autopilot.sim.github.refs import BareRefs

SECONDS = 120
MAX_LINES = 20_000


class ActJobResult(NamedTuple):
    workflow: str
    job: str
    conclusion: str
    log: bytes


class ActRunner:
    def __init__(
        self,
        model: SimGitHub,
        refs: BareRefs,
        act: Path,
        scratch: Path,
        *,
        appears: float = 5.0,
        takes: float = 30.0,
    ) -> None:
        self._model = model
        self._refs = refs
        self._act = act
        self._scratch = scratch
        self._appears = appears
        self._takes = takes
        self._started: set[str] = set()
        model.listeners.append(self._on_event)
        model.on_rerun.append(self._on_rerun)

    def _on_event(self, event: str, pull: SimPull) -> None:
        if event in ("opened", "pushed", "reopened") and pull.head not in self._started:
            self._started.add(pull.head)
            head = pull.head
            self._model.call_later(self._appears, lambda: self._run(head))

    def _run(self, sha: str) -> None:
        runs: dict[str, int] = {}
        for end in self.run_jobs(sha):
            run = runs.setdefault(end.workflow, 0) or self._model.next_id()
            runs[end.workflow] = run
            check = checks.start_check(self._model, sha, end.job, workflow=end.workflow, run=run)
            self._finish(check, end)

    def _on_rerun(self, check: SimCheck) -> None:
        for end in self.run_jobs(check.sha):
            if (end.workflow, end.job) == (check.workflow, check.name):
                self._finish(check, end)

    def _finish(self, check: SimCheck, end: ActJobResult) -> None:
        check.status = "in_progress"
        self._model.call_later(
            self._takes, lambda: checks.finish_check(self._model, check, end.conclusion, end.log)
        )

    def run_jobs(self, sha: str) -> list[ActJobResult]:
        """Run all `pull_request` workflows on this commit and return their job results."""
        folder = self._checkout(sha)
        command = [str(self._act), "pull_request", "-P", "ubuntu-latest=-self-hosted"]
        command += ["--action-offline-mode", "--json"]
        try:
            done = subprocess.run(
                command, cwd=folder, env=self._environment(), capture_output=True, timeout=SECONDS, check=False
            )
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return list(parse_job_results(done.stdout))

    def _checkout(self, sha: str) -> Path:
        folder = self._scratch / sha[:12]
        shutil.rmtree(folder, ignore_errors=True)
        clone = ["git", "clone", "--quiet", "--no-checkout", str(self._refs.folder), str(folder)]
        for command in (clone, ["git", "-C", str(folder), "checkout", "--quiet", "--detach", sha]):
            subprocess.run(command, env=self._environment(), capture_output=True, timeout=SECONDS, check=True)
        return folder

    def _environment(self) -> dict[str, str]:
        home = self._scratch / "home"
        home.mkdir(parents=True, exist_ok=True)
        return {"PATH": os.environ.get("PATH", ""), "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}


def parse_job_results(out: bytes) -> Iterator[ActJobResult]:
    logs: dict[str, list[str]] = {}
    for raw in out.splitlines()[:MAX_LINES]:
        try:
            line = json.loads(raw)
        except ValueError:
            continue
        name = str(line.get("job", ""))
        logs.setdefault(name, []).append(str(line.get("msg", "")).rstrip("\n"))
        if "jobResult" in line:
            workflow, _, job = name.partition("/")
            text = "\n".join(logs[name]) + "\n"
            yield ActJobResult(workflow, str(line.get("jobID") or job), str(line["jobResult"]), text.encode())

"""CI on the simulated GitHub: jobs that appear after a push, take their time, and end as the pushed files say."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from . import checking
from .model import SimGitHub
from .records import SimCheck, SimPull

Read = Callable[[str], bytes | None]  # a file of the pushed tree


class Verdict(NamedTuple):
    conclusion: str  # as GitHub's REST words it; empty: it never ends
    log: bytes = b""


PASS = Verdict("success", b"all green\n")


def passes(read: Read, attempt: int) -> Verdict:
    return PASS


def ends(*conclusions: str, log: bytes = b"") -> Callable[[Read, int], Verdict]:
    """By script: the first attempt so, the next so; the last word stays. Counted for all pushes together."""
    left = list(conclusions)

    def verdict(read: Read, attempt: int) -> Verdict:
        word = left.pop(0) if len(left) > 1 else left[0]
        return Verdict(word, log if word != "success" else PASS.log)

    return verdict


def flaky(read: Read, attempt: int) -> Verdict:
    """Red at first, green when it is started again."""
    return PASS if attempt > 1 else Verdict("failure", b"connection reset by peer\n")


class Job(NamedTuple):
    name: str
    verdict: Callable[[Read, int], Verdict] = passes
    workflow: str = "CI"  # empty: a plain commit status
    appears: float = 5.0  # seconds after the push; negative: never
    begins: float = 5.0  # after that
    takes: float = 60.0


class SimCI:
    def __init__(self, model: SimGitHub, jobs: Sequence[Job] = (Job("test"),), *, cancels: bool = False) -> None:
        self._model = model
        self._jobs = tuple(jobs)
        self._cancels = cancels  # what runs for an older head
        self._started: set[str] = set()
        model.listeners.append(self._hear)
        model.on_rerun.append(self._again)
        model.on_branch.append(self._on_branch)

    def _hear(self, event: str, pull: SimPull) -> None:
        if event in ("opened", "pushed", "reopened"):
            if self._cancels and event == "pushed":
                self._cancel([sha for _, sha in pull.heads[:-1]])
            self._start(pull.head)

    def _on_branch(self, branch: str, sha: str) -> None:
        if sha and branch == self._model.repository.default_branch:
            self._start(sha)

    def _start(self, sha: str) -> None:
        if sha in self._started:
            return
        self._started.add(sha)
        run = self._model.next_id()
        for job in self._jobs:
            if job.appears >= 0:
                self._model.later(job.appears, lambda job=job: self._appear(sha, job, run))  # type: ignore[misc]

    def _appear(self, sha: str, job: Job, run: int) -> None:
        check = checking.begin(self._model, sha, job.name, workflow=job.workflow, run=run if job.workflow else 0)
        self._work(job, check)

    def _again(self, check: SimCheck) -> None:
        for job in self._jobs:
            if (job.name, job.workflow) == (check.name, check.workflow):
                self._work(job, check)

    def _work(self, job: Job, check: SimCheck) -> None:
        def begin() -> None:
            if check.status == "queued":
                check.status = "in_progress"
                checking.told(self._model, check.sha)

        def end() -> None:
            if check.status == "completed":
                return
            verdict = job.verdict(lambda path: self._model.refs.read(check.sha, path), check.attempt)
            if verdict.conclusion:
                checking.finish(self._model, check, verdict.conclusion, verdict.log)

        self._model.later(job.begins, begin)
        self._model.later(job.begins + job.takes, end)

    def _cancel(self, shas: Sequence[str]) -> None:
        for sha in shas:
            for check in self._model.checks.get(sha, []):
                if check.status != "completed" and not check.is_status:
                    checking.finish(self._model, check, "cancelled")

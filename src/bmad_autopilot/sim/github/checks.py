"""Check runs and commit statuses on the simulated GitHub, and a simulated CI."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...github.forge import CheckState
from .model import VIEWER, SimGitHub
from .records import SimCheck, SimPull, refuse

RERUN_SECONDS = 12.0  # until a rerun shows its new jobs
_STATES = {
    "success": CheckState.PASSED,
    "failure": CheckState.FAILED,
    "error": CheckState.FAILED,
    "timed_out": CheckState.FAILED,
    "startup_failure": CheckState.FAILED,
    "cancelled": CheckState.CANCELLED,
    "skipped": CheckState.SKIPPED,
    "neutral": CheckState.NEUTRAL,
    "action_required": CheckState.ACTION,
}


def state_of(check: SimCheck) -> CheckState:
    if check.status != "completed":
        return CheckState.PENDING
    return _STATES.get(check.conclusion, CheckState.UNKNOWN)


def start_check(model: SimGitHub, sha: str, name: str, *, workflow: str = "CI", run: int = 0) -> SimCheck:
    """Add a queued check. `workflow` empty: a plain commit status."""
    number = model.next_id()
    app = "github-actions" if workflow else ""
    check = SimCheck(number, name, sha, workflow=workflow, app=app, run=run, started=model.now)
    model.checks.setdefault(sha, []).append(check)
    notify_pulls(model, sha)
    return check


def finish_check(model: SimGitHub, check: SimCheck, conclusion: str, log: bytes = b"") -> None:
    check.status, check.conclusion, check.ended, check.log = "completed", conclusion, model.now, log
    notify_pulls(model, check.sha)


def notify_pulls(model: SimGitHub, sha: str) -> None:
    for pull in list(model.pulls.values()):
        if pull.head == sha:
            model.notify("checked", pull)


def latest_checks(model: SimGitHub, sha: str) -> list[SimCheck]:
    """The latest check per name: a rerun hides the earlier attempt."""
    newest: dict[tuple[str, str], SimCheck] = {}
    for check in model.checks.get(sha, []):
        newest[check.workflow, check.name] = check
    return list(newest.values())


def rollup(model: SimGitHub, sha: str) -> str:
    """The state as in GraphQL; empty if there are no checks."""
    checks = latest_checks(model, sha)
    if not checks:
        return ""
    if any(check.is_bad for check in checks):
        return "FAILURE"
    return "SUCCESS" if all(check.is_good for check in checks) else "PENDING"


def missing_required(model: SimGitHub, pull: SimPull) -> list[str]:
    """The required checks that are absent or have not passed."""
    good = {check.name for check in latest_checks(model, pull.head) if check.is_good}
    return [name for name in model.repository.protection(pull.base_ref).checks if name not in good]


def find_job(model: SimGitHub, number: int) -> SimCheck:
    every = (check for checks in model.checks.values() for check in checks)
    found = next((check for check in every if check.id == number and not check.is_status), None)
    if found is None:
        refuse(404, "Not Found", "NOT_FOUND")
    return found


def rerun_failed(model: SimGitHub, run: int, *, by: str = VIEWER) -> None:
    """Rerun the failed jobs of a completed run. The new jobs appear RERUN_SECONDS later."""
    model.require_write_access(by)
    jobs = [
        job for sha in model.checks for job in latest_checks(model, sha) if not job.is_status and job.run == run
    ]
    if not run or not jobs:
        refuse(404, "Not Found", "NOT_FOUND")
    if run in model.restarting_runs or any(job.status != "completed" for job in jobs):
        refuse(403, "This workflow is already running")
    failed = [job for job in jobs if job.is_bad]
    if not failed:
        refuse(403, "The workflow run cannot be retried")
    model.restarting_runs.add(run)
    for one in failed:
        model.record(by, "rerun", job=one.id, run=run, name=one.name, sha=one.sha)
    model.call_later(RERUN_SECONDS, lambda: _restart(model, run, failed))


def _restart(model: SimGitHub, run: int, failed: list[SimCheck]) -> None:
    """Add the new checks and notify the CI."""
    model.restarting_runs.discard(run)
    for one in failed:
        again = start_check(model, one.sha, one.name, workflow=one.workflow, run=run)
        again.attempt = one.attempt + 1
        for listener in model.on_rerun:
            listener(again)


# The simulated CI: jobs appear after a push, run for a while, and their result may depend on the pushed files.

ReadFile = Callable[[str], bytes | None]  # a file of the pushed tree


class JobResult(NamedTuple):
    conclusion: str  # as in GitHub's REST; empty: the job never ends
    log: bytes = b""


PASSED = JobResult("success", b"all green\n")


def always_passes(read: ReadFile, attempt: int) -> JobResult:
    return PASSED


def scripted_conclusions(*conclusions: str, log: bytes = b"") -> Callable[[ReadFile, int], JobResult]:
    """One conclusion per attempt, over all pushes together; the last one repeats."""
    left = list(conclusions)

    def verdict(read: ReadFile, attempt: int) -> JobResult:
        word = left.pop(0) if len(left) > 1 else left[0]
        return JobResult(word, log if word != "success" else PASSED.log)

    return verdict


def fails_first(read: ReadFile, attempt: int) -> JobResult:
    """Fails at the first attempt and passes at the rerun."""
    return PASSED if attempt > 1 else JobResult("failure", b"connection reset by peer\n")


class CIJob(NamedTuple):
    name: str
    decide: Callable[[ReadFile, int], JobResult] = always_passes
    workflow: str = "CI"  # empty: a plain commit status
    appears_after: float = 5.0  # seconds after the push; negative: never
    starts_after: float = 5.0  # seconds after it appears
    duration: float = 60.0


class SimCI:
    def __init__(
        self, model: SimGitHub, jobs: Sequence[CIJob] = (CIJob("test"),), *, cancels_older: bool = False
    ) -> None:
        self._model = model
        self._jobs = tuple(jobs)
        self._cancels_older = cancels_older  # cancels jobs of older heads
        self._started: set[str] = set()
        model.listeners.append(self._on_event)
        model.on_rerun.append(self._on_rerun)
        model.on_branch.append(self._on_branch)

    def _on_event(self, event: str, pull: SimPull) -> None:
        if event in ("opened", "pushed", "reopened"):
            if self._cancels_older and event == "pushed":
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
            if job.appears_after >= 0:
                self._model.call_later(job.appears_after, lambda job=job: self._appear(sha, job, run))  # type: ignore[misc]

    def _appear(self, sha: str, job: CIJob, run: int) -> None:
        check = start_check(self._model, sha, job.name, workflow=job.workflow, run=run if job.workflow else 0)
        self._run_job(job, check)

    def _on_rerun(self, check: SimCheck) -> None:
        for job in self._jobs:
            if (job.name, job.workflow) == (check.name, check.workflow):
                self._run_job(job, check)

    def _run_job(self, job: CIJob, check: SimCheck) -> None:
        def begin() -> None:
            if check.status == "queued":
                check.status = "in_progress"
                notify_pulls(self._model, check.sha)

        def end() -> None:
            if check.status == "completed":
                return
            verdict = job.decide(lambda path: self._model.refs.read(check.sha, path), check.attempt)
            if verdict.conclusion:
                finish_check(self._model, check, verdict.conclusion, verdict.log)

        self._model.call_later(job.starts_after, begin)
        self._model.call_later(job.starts_after + job.duration, end)

    def _cancel(self, shas: Sequence[str]) -> None:
        for sha in shas:
            for check in self._model.checks.get(sha, []):
                if check.status != "completed" and not check.is_status:
                    finish_check(self._model, check, "cancelled")

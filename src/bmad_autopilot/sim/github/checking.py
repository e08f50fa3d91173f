"""Checks and statuses of commits on the simulated GitHub."""

from ...github.pulls import CheckState
from .model import VIEWER, SimGitHub
from .records import SimCheck, SimPull, refuse

RERUN_SECONDS = 12.0  # until a run that was started again shows its new jobs
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


def begin(model: SimGitHub, sha: str, name: str, *, workflow: str = "CI", run: int = 0) -> SimCheck:
    """It appears, and has not begun. `workflow` empty: a plain commit status."""
    number = model.next_id()
    app = "github-actions" if workflow else ""
    check = SimCheck(number, name, sha, workflow=workflow, app=app, run=run, started=model.now)
    model.checks.setdefault(sha, []).append(check)
    told(model, sha)
    return check


def finish(model: SimGitHub, check: SimCheck, conclusion: str, log: bytes = b"") -> None:
    check.status, check.conclusion, check.ended, check.log = "completed", conclusion, model.now, log
    told(model, check.sha)


def told(model: SimGitHub, sha: str) -> None:
    for pull in list(model.pulls.values()):
        if pull.head == sha:
            model.tell("checked", pull)


def of_head(model: SimGitHub, sha: str) -> list[SimCheck]:
    """One per name: a job that was started again hides what it was before."""
    newest: dict[tuple[str, str], SimCheck] = {}
    for check in model.checks.get(sha, []):
        newest[check.workflow, check.name] = check
    return list(newest.values())


def rollup(model: SimGitHub, sha: str) -> str:
    """As GraphQL words it; empty: there are no checks at all."""
    checks = of_head(model, sha)
    if not checks:
        return ""
    if any(check.is_bad for check in checks):
        return "FAILURE"
    return "SUCCESS" if all(check.is_good for check in checks) else "PENDING"


def missing(model: SimGitHub, pull: SimPull) -> list[str]:
    """The required checks that are not good, or not there."""
    good = {check.name for check in of_head(model, pull.head) if check.is_good}
    return [name for name in model.repository.protection(pull.base_ref).checks if name not in good]


def job(model: SimGitHub, number: int) -> SimCheck:
    every = (check for checks in model.checks.values() for check in checks)
    found = next((check for check in every if check.id == number and not check.is_status), None)
    if found is None:
        refuse(404, "Not Found", "NOT_FOUND")
    return found


def rerun(model: SimGitHub, run: int, *, by: str = VIEWER) -> None:
    """All of a run that did not end well, once the whole of it is over. It is seen some seconds later."""
    model.allow(by)
    jobs = [job for sha in model.checks for job in of_head(model, sha) if not job.is_status and job.run == run]
    if not run or not jobs:
        refuse(404, "Not Found", "NOT_FOUND")
    if run in model.restarting or any(job.status != "completed" for job in jobs):
        refuse(403, "This workflow is already running")
    failed = [job for job in jobs if job.is_bad]
    if not failed:
        refuse(403, "The workflow run cannot be retried")
    model.restarting.add(run)
    for one in failed:
        model.did(by, "rerun", job=one.id, run=run, name=one.name, sha=one.sha)
    model.later(RERUN_SECONDS, lambda: _restart(model, run, failed))


def _restart(model: SimGitHub, run: int, failed: list[SimCheck]) -> None:
    """Whoever runs jobs hears of it."""
    model.restarting.discard(run)
    for one in failed:
        again = begin(model, one.sha, one.name, workflow=one.workflow, run=run)
        again.attempt = one.attempt + 1
        for listener in model.on_rerun:
            listener(again)

"""Checks and statuses of commits on the simulated GitHub."""

from ...github.pulls import CheckState
from .model import VIEWER, SimGitHub
from .records import SimCheck, SimPull, refuse

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


def rerun(model: SimGitHub, *, job_id: int = 0, run_id: int = 0, by: str = VIEWER) -> None:
    """One job, or all of a run that did not end well. Whoever runs jobs hears of it."""
    model.allow(by)
    every = [check for checks in model.checks.values() for check in checks if not check.is_status]
    chosen = [job(model, job_id)] if job_id else [one for one in every if one.run == run_id and one.is_bad]
    if not chosen:
        refuse(404, "Not Found", "NOT_FOUND")
    if any(check.status != "completed" for check in chosen):
        refuse(403, "This workflow is already running")
    for check in chosen:
        again = begin(model, check.sha, check.name, workflow=check.workflow, run=check.run)
        again.attempt = check.attempt + 1
        model.did(by, "rerun", job=check.id, run=check.run, name=check.name, sha=check.sha)
        for listener in model.on_rerun:
            listener(again)

"""Check runs and commit statuses, read from GitHub's answers. What is not known by name is unknown."""

from collections.abc import Iterable
from math import inf

from .gh_reading import Node, inner, instant, odd, optional, text
from .pulls import CheckState, RemoteCheck

ACTIONS = "github-actions"
_CONCLUSIONS = {
    "SUCCESS": CheckState.PASSED,
    "FAILURE": CheckState.FAILED,
    "TIMED_OUT": CheckState.FAILED,
    "STARTUP_FAILURE": CheckState.FAILED,
    "CANCELLED": CheckState.CANCELLED,
    "SKIPPED": CheckState.SKIPPED,
    "NEUTRAL": CheckState.NEUTRAL,
    "ACTION_REQUIRED": CheckState.ACTION,
}
_UNDER_WAY = frozenset(("QUEUED", "IN_PROGRESS", "WAITING", "PENDING", "REQUESTED"))
_STATUSES = {
    "SUCCESS": CheckState.PASSED,
    "PENDING": CheckState.PENDING,
    "EXPECTED": CheckState.PENDING,
    "FAILURE": CheckState.FAILED,
    "ERROR": CheckState.FAILED,
}


def read_checks(found: Iterable[Node]) -> tuple[RemoteCheck, ...]:
    """The newest of each name, as GitHub itself counts them: a run that was cancelled because another was started
    for the same commit stays in the list beside it."""
    newest: dict[tuple[str, ...], tuple[float, RemoteCheck]] = {}
    for context in found:
        kind = context.get("__typename")
        if kind == "CheckRun":
            check = _check_run(context)
        elif kind == "StatusContext":
            check = _status(context)
        else:
            raise odd("a check run or a status", kind)
        event = optional(context, "checkSuite", "workflowRun", "event")
        file = inner(context, "checkSuite", "workflowRun", "workflow", "databaseId")  # two may have the same name
        key = (str(kind), check.name, check.workflow, str(file), check.app, event)
        age = check.started or (inf if check.state is CheckState.PENDING else 0.0)
        if key not in newest or age >= newest[key][0]:
            newest[key] = (age, check)
    return tuple(check for _, check in newest.values())


def _check_run(found: Node) -> RemoteCheck:
    suite = found.get("checkSuite")
    app = optional(suite, "app", "slug")
    run = inner(suite, "workflowRun", "databaseId")
    job = found.get("databaseId")
    is_job = app == ACTIONS and isinstance(job, int)  # of Actions alone a check run is a job with a log
    return RemoteCheck(
        name=text(found, "name"),
        state=_run_state(text(found, "status"), optional(found, "conclusion")),
        required=found.get("isRequired") is True,
        workflow=optional(suite, "workflowRun", "workflow", "name"),
        app=app,
        job=job if is_job and isinstance(job, int) else 0,
        run=run if isinstance(run, int) else 0,
        url=optional(found, "detailsUrl"),
        started=instant(found, "startedAt"),
        ended=instant(found, "completedAt"),
    )


def _run_state(status: str, conclusion: str) -> CheckState:
    if status in _UNDER_WAY:
        return CheckState.PENDING
    return _CONCLUSIONS.get(conclusion, CheckState.UNKNOWN) if status == "COMPLETED" else CheckState.UNKNOWN


def _status(found: Node) -> RemoteCheck:
    at = instant(found, "createdAt")
    state = _STATUSES.get(text(found, "state"), CheckState.UNKNOWN)
    return RemoteCheck(
        name=text(found, "context"),
        state=state,
        required=found.get("isRequired") is True,
        url=optional(found, "targetUrl"),
        started=at,
        ended=0.0 if state is CheckState.PENDING else at,
    )

"""Commits and their checks in GitHub's graph."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from .. import checking
from ..records import SimCheck
from .graph import Context, Node, Page, Resolver
from .values import at, of, plain, stamp


def _rollup(context: Context, sha: str, arguments: Mapping[str, Any]) -> Node | None:
    return Node("StatusCheckRollup", sha) if checking.rollup(context.model, sha) else None


def _contexts(context: Context, sha: str, arguments: Mapping[str, Any]) -> Page:
    checks = checking.of_head(context.model, sha)
    runs = Counter(_run_state(one) for one in checks if not one.is_status)
    statuses = Counter(_status_state(one) for one in checks if one.is_status)
    items = [Node("StatusContext" if one.is_status else "CheckRun", one) for one in checks]
    counts = {
        "checkRunCountsByState": [Node("Count", pair) for pair in sorted(runs.items())],
        "statusContextCountsByState": [Node("Count", pair) for pair in sorted(statuses.items())],
        "checkRunCount": runs.total(),
        "statusContextCount": statuses.total(),
    }
    return Page("StatusCheckRollupContextConnection", items, counts)


def _run_state(check: SimCheck) -> str:
    return (check.conclusion or check.status).upper()


def _status_state(check: SimCheck) -> str:
    return check.conclusion.upper() or "PENDING"


def _suites(context: Context, sha: str, arguments: Mapping[str, Any]) -> Page:
    runs: dict[int, SimCheck] = {}
    for check in context.model.checks.get(sha, []):
        if check.run:
            runs.setdefault(check.run, check)
    return Page("CheckSuiteConnection", [Node("CheckSuite", one) for one in runs.values()])


def _required(context: Context, check: SimCheck, arguments: Mapping[str, Any]) -> bool:
    pull = context.model.pull(arguments["pullRequestNumber"])
    return check.name in context.model.repository.protection(pull.base_ref).checks


def _committed(context: Context, sha: str, arguments: Mapping[str, Any]) -> str | None:
    known = [when for pull in context.model.pulls.values() for when, head in pull.heads if head == sha]
    return stamp(min(known, default=context.model.now))


def _parents(context: Context, sha: str, arguments: Mapping[str, Any]) -> Page:
    return Page("CommitConnection", [Node("Commit", one) for one in context.model.refs.parents(sha)])


COMMIT: dict[str, Resolver] = {
    "oid": of(lambda sha: sha),
    "parents": _parents,
    "committedDate": _committed,
    "statusCheckRollup": _rollup,
    "checkSuites": _suites,
}
ROLLUP: dict[str, Resolver] = {
    "state": lambda context, sha, arguments: checking.rollup(context.model, sha),
    "contexts": _contexts,
}
CHECK_RUN: dict[str, Resolver] = {
    **plain("id=databaseId", "name"),
    "status": of(lambda check: check.status.upper()),
    "conclusion": of(lambda check: check.conclusion.upper() or None),
    "startedAt": at(lambda check: check.started),
    "completedAt": at(lambda check: check.ended),
    "detailsUrl": of(lambda check: f"https://github.com/-/actions/runs/{check.run}/job/{check.id}"),
    "isRequired": _required,
    "checkSuite": of(lambda check: Node("CheckSuite", check)),
}
STATUS: dict[str, Resolver] = {
    **plain("name=context"),
    "state": of(_status_state),
    "targetUrl": of(lambda check: None),
    "createdAt": at(lambda check: check.started),
    "isRequired": _required,
}
SUITE: dict[str, Resolver] = {
    "createdAt": at(lambda check: check.started),
    "app": of(lambda check: Node("App", check)),
    "workflowRun": of(lambda check: Node("WorkflowRun", check) if check.run else None),
}

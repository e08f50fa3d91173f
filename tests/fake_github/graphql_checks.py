"""GraphQL resolvers for commits and their checks."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from bmad_autopilot.sim.github import checks as github_checks
from bmad_autopilot.sim.github.records import SimCheck
from tests.fake_github.graphql import Connection, Context, Node, Resolver
from tests.fake_github.graphql_values import attributes, computed, format_time, timestamp


def _rollup(context: Context, sha: str, arguments: Mapping[str, Any]) -> Node | None:
    return Node("StatusCheckRollup", sha) if github_checks.rollup(context.model, sha) else None


def _contexts(context: Context, sha: str, arguments: Mapping[str, Any]) -> Connection:
    checks = github_checks.latest_checks(context.model, sha)
    runs = Counter(_run_state(one) for one in checks if not one.is_status)
    statuses = Counter(_status_state(one) for one in checks if one.is_status)
    items = [Node("StatusContext" if one.is_status else "CheckRun", one) for one in checks]
    counts = {
        "checkRunCountsByState": [Node("Count", pair) for pair in sorted(runs.items())],
        "statusContextCountsByState": [Node("Count", pair) for pair in sorted(statuses.items())],
        "checkRunCount": runs.total(),
        "statusContextCount": statuses.total(),
    }
    return Connection("StatusCheckRollupContextConnection", items, counts)


def _run_state(check: SimCheck) -> str:
    return (check.conclusion or check.status).upper()


def _status_state(check: SimCheck) -> str:
    return check.conclusion.upper() or "PENDING"


def _suites(context: Context, sha: str, arguments: Mapping[str, Any]) -> Connection:
    runs: dict[int, SimCheck] = {}
    for check in context.model.checks.get(sha, []):
        if check.run:
            runs.setdefault(check.run, check)
    return Connection("CheckSuiteConnection", [Node("CheckSuite", one) for one in runs.values()])


def _required(context: Context, check: SimCheck, arguments: Mapping[str, Any]) -> bool:
    pull = context.model.pull(arguments["pullRequestNumber"])
    return check.name in context.model.repository.protection(pull.base_ref).checks


def _committed(context: Context, sha: str, arguments: Mapping[str, Any]) -> str | None:
    known = [when for pull in context.model.pulls.values() for when, head in pull.heads if head == sha]
    return format_time(min(known, default=context.model.now))


def _parents(context: Context, sha: str, arguments: Mapping[str, Any]) -> Connection:
    return Connection("CommitConnection", [Node("Commit", one) for one in context.model.refs.parents(sha)])


COMMIT: dict[str, Resolver] = {
    "oid": computed(lambda sha: sha),
    "parents": _parents,
    "committedDate": _committed,
    "statusCheckRollup": _rollup,
    "checkSuites": _suites,
}
ROLLUP: dict[str, Resolver] = {
    "state": lambda context, sha, arguments: github_checks.rollup(context.model, sha),
    "contexts": _contexts,
}
CHECK_RUN: dict[str, Resolver] = {
    **attributes("id=databaseId", "name"),
    "status": computed(lambda check: check.status.upper()),
    "conclusion": computed(lambda check: check.conclusion.upper() or None),
    "startedAt": timestamp(lambda check: check.started),
    "completedAt": timestamp(lambda check: check.ended),
    "detailsUrl": computed(lambda check: f"https://github.com/-/actions/runs/{check.run}/job/{check.id}"),
    "isRequired": _required,
    "checkSuite": computed(lambda check: Node("CheckSuite", check)),
}
STATUS: dict[str, Resolver] = {
    **attributes("name=context"),
    "state": computed(_status_state),
    "targetUrl": computed(lambda check: None),
    "createdAt": timestamp(lambda check: check.started),
    "isRequired": _required,
}
SUITE: dict[str, Resolver] = {
    "createdAt": timestamp(lambda check: check.started),
    "app": computed(lambda check: Node("App", check)),
    "workflowRun": computed(lambda check: Node("WorkflowRun", check) if check.run else None),
}

"""The gate script's eyes: one pull request by `gh api`, as approval.py wants to see it.

Copied into the gate script with approval.py and pull_content.py: the standard library alone, no syntax newer than
Python 3.9. The workflow has no package of ours, only Python and gh."""

import calendar
import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from .approval import GATE_WORKFLOW, CheckFact, ReviewFact, Situation, with_missing
from .pull_content import is_same_change, may_be_clean, push_times, same_content

MOST_PAGES = 30
MOST_MERGES = 5  # of the base, one after another, that are looked into
CALL_SECONDS = 60
MOST_BYTES = 64 * 1024 * 1024

PULL_QUERY = """
query Gate($owner: String!, $name: String!, $number: Int!,
           $threads: String, $reviews: String, $commits: String, $checks: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      state isDraft isCrossRepository headRefName headRefOid
      baseRef { refUpdateRule { requiredStatusCheckContexts } }
      reviewThreads(first: 100, after: $threads) { pageInfo { hasNextPage endCursor } nodes { isResolved } }
      reviews(first: 100, after: $reviews) {
        pageInfo { hasNextPage endCursor }
        nodes {
          state submittedAt fullDatabaseId authorAssociation commit { oid } author { __typename login }
        }
      }
      commits(first: 100, after: $commits) {
        totalCount pageInfo { hasNextPage endCursor }
        nodes { commit { oid parents(first: 3) { nodes { oid } } } }
      }
      last: commits(last: 1) { nodes { commit { oid statusCheckRollup {
        contexts(first: 100, after: $checks) {
          pageInfo { hasNextPage endCursor }
          nodes {
            __typename
            ... on CheckRun {
              name status conclusion startedAt isRequired(pullRequestNumber: $number)
              checkSuite { app { slug } workflowRun { databaseId event workflow { databaseId name } } }
            }
            ... on StatusContext { context state isRequired(pullRequestNumber: $number) }
          }
        }
      } } } }
    }
  }
}
"""

_CONCLUSIONS = {
    "SUCCESS": "passed",
    "FAILURE": "failed",
    "TIMED_OUT": "failed",
    "STARTUP_FAILURE": "failed",
    "CANCELLED": "cancelled",
    "SKIPPED": "skipped",
    "NEUTRAL": "neutral",
    "ACTION_REQUIRED": "action-required",
}
_UNDER_WAY = ("IN_PROGRESS", "PENDING", "QUEUED", "REQUESTED", "WAITING")
_STATUSES = {
    "SUCCESS": "passed",
    "PENDING": "pending",
    "EXPECTED": "pending",
    "FAILURE": "failed",
    "ERROR": "failed",
}


class GateTrouble(Exception):
    """GitHub did not answer, or in a way that is not understood. Nothing is decided on that."""


class Place(NamedTuple):
    repository: str  # owner/name
    number: int
    run: int = 0  # this workflow run


def call(path: str, *, method: str = "GET", body: object = None) -> Any:
    """One request by gh, with JSON on its stdin: no text of others is ever an argument that gh could read as an
    option, or as one of its `{placeholders}`."""
    argv = ["gh", "api", "--method", method, path]
    data = b"" if body is None else json.dumps(body).encode()
    if body is not None:
        argv += ["--input", "-"]
    try:
        done = subprocess.run(argv, input=data, capture_output=True, timeout=CALL_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GateTrouble(f"gh: {type(error).__name__}") from error
    if done.returncode != 0:
        said = (done.stderr + b" " + done.stdout)[:600].decode("utf-8", "replace")
        raise GateTrouble(f"{method} {path.partition('?')[0]}: {said}")
    if len(done.stdout) > MOST_BYTES:
        raise GateTrouble(f"{method} {path.partition('?')[0]}: the answer is too large")
    try:
        return json.loads(done.stdout or b"null")
    except ValueError as error:
        raise GateTrouble(f"{method} {path.partition('?')[0]}: no JSON in the answer") from error


def look(place: Place, now: float, seen: dict[str, float]) -> Situation:
    """How things are. `seen`: when this process first saw a head, for where GitHub does not tell."""
    try:
        return _situation(place, now, seen)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise GateTrouble(f"an answer that is not understood ({type(error).__name__}: {error})") from error


def _situation(place: Place, now: float, seen: dict[str, float]) -> Situation:
    pull = read_pull(place)
    head = str(pull["headRefOid"])
    content = _content(place, head, pull)
    pushed, arrived = _push_times(place, str(pull["headRefName"]), content)
    rule = (pull["baseRef"] or {}).get("refUpdateRule") or {}
    return Situation(
        now=now,
        head=head,
        pushed=pushed or seen.setdefault(content[-1], now),
        arrived=arrived or seen.setdefault(head, now),
        head_ref=str(pull["headRefName"]),
        state=str(pull["state"]),
        is_draft=bool(pull["isDraft"]),
        is_foreign=bool(pull["isCrossRepository"]),
        unresolved=sum(not thread["isResolved"] for thread in pull["threads"]),
        content=content,
        checks=with_missing(
            newest_checks(pull["checks"], place.run), rule.get("requiredStatusCheckContexts") or ()
        ),
        reviews=tuple(_review(node) for node in pull["reviews"]),
        files=changed_files(place),
    )


def read_pull(place: Place) -> dict[str, Any]:
    """All pages of it. One that moved between two pages is looked at another time."""
    owner, _, name = place.repository.partition("/")
    cursors: dict[str, str] = {}
    pages: dict[str, list[Any]] = {"threads": [], "reviews": [], "commits": [], "checks": []}
    head = ""
    for _ in range(MOST_PAGES):
        variables = {"owner": owner, "name": name, "number": place.number, **cursors}
        answer = call("graphql", method="POST", body={"query": PULL_QUERY, "variables": variables})
        pull = answer["data"]["repository"]["pullRequest"]
        last = pull["last"]["nodes"][0]["commit"]
        head = head or pull["headRefOid"]
        if not head == pull["headRefOid"] == last["oid"]:
            raise GateTrouble("its head has moved meanwhile")
        connections = {
            "threads": pull["reviewThreads"],
            "reviews": pull["reviews"],
            "commits": pull["commits"],
            "checks": (last["statusCheckRollup"] or {}).get("contexts") or {"nodes": [], "pageInfo": {}},
        }
        for key, connection in connections.items():
            pages[key] += connection["nodes"]
            cursors[key] = connection["pageInfo"].get("endCursor") or cursors.get(key, "")
        cursors = {key: cursor for key, cursor in cursors.items() if cursor}
        if not any(connection["pageInfo"].get("hasNextPage") for connection in connections.values()):
            return {**pull, **pages, "total": pull["commits"]["totalCount"]}
    raise GateTrouble("it has more pages than can be looked at")


def newest_checks(nodes: Sequence[Mapping[str, Any]], run: int) -> tuple[CheckFact, ...]:
    """The last of each: a run that was cancelled for a newer one stays in GitHub's list."""
    found: dict[tuple[str, ...], tuple[str, CheckFact]] = {}
    for node in nodes:
        if node["__typename"] == "StatusContext":
            fact = CheckFact(node["context"], _STATUSES.get(node["state"], "unknown"), bool(node["isRequired"]))
            found["status", fact.name] = ("", fact)
            continue
        suite = node["checkSuite"]
        app = (suite["app"] or {}).get("slug") or ""
        workflow = suite["workflowRun"] or {"databaseId": 0, "event": "", "workflow": {"name": ""}}
        name = workflow["workflow"]["name"]
        is_own = app == "github-actions" and (name == GATE_WORKFLOW or 0 < run == workflow["databaseId"])
        fact = CheckFact(node["name"], _check_state(node), bool(node["isRequired"]), is_own)
        file = str(workflow["workflow"].get("databaseId"))  # two may have the same name
        key = ("check", app, name, file, workflow["event"] or "", node["name"])
        started = node["startedAt"] or "~"  # one that has not begun is newer than any that has
        if key not in found or found[key][0] <= started:
            found[key] = (started, fact)
    return tuple(fact for _, fact in found.values())


def _check_state(node: Mapping[str, Any]) -> str:
    if node["status"] == "COMPLETED":
        return _CONCLUSIONS.get(node["conclusion"], "unknown")
    return "pending" if node["status"] in _UNDER_WAY else "unknown"


def _review(node: Mapping[str, Any]) -> ReviewFact:
    author = node["author"] or {"login": "ghost", "__typename": "User"}
    login = author["login"]
    return ReviewFact(
        login=login[: -len("[bot]")] if login.endswith("[bot]") else login,
        is_bot=author["__typename"] == "Bot",
        association=node["authorAssociation"],
        state=node["state"],
        commit=(node["commit"] or {}).get("oid") or "",
        at=_seconds(node["submittedAt"]) if node["submittedAt"] else 0.0,
        number=int(node["fullDatabaseId"] or 0),
    )


def changed_files(place: Place) -> tuple[str, ...]:
    """Under their old names too: GraphQL has the new ones alone."""
    names: dict[str, None] = {}
    for page in range(1, MOST_PAGES + 1):
        files = call(f"repos/{place.repository}/pulls/{place.number}/files?per_page=100&page={page}")
        for file in files:
            names[file["filename"]] = None
            names.update({file["previous_filename"]: None} if file.get("previous_filename") else {})
        if len(files) < 100:
            break
    return tuple(names)


def _content(place: Place, head: str, pull: Mapping[str, Any]) -> tuple[str, ...]:
    nodes = [node["commit"] for node in pull["commits"]]
    if len(nodes) != pull["total"]:
        return (head,)  # GitHub lists 250 commits: what is a part of it cannot be told from what is not
    commits = [(node["oid"], tuple(parent["oid"] for parent in node["parents"]["nodes"])) for node in nodes]
    clean: set[str] = set()
    for _ in range(MOST_MERGES):
        sha = same_content(head, commits, clean)[-1]
        if not may_be_clean(sha, commits) or not _is_clean(place, sha, dict(commits)[sha]):
            break
        clean.add(sha)
    return same_content(head, commits, clean)


def _is_clean(place: Place, merge: str, parents: tuple[str, ...]) -> bool:
    own, base = parents
    before, after = (call(f"repos/{place.repository}/compare/{base}...{sha}")["files"] for sha in (own, merge))
    return is_same_change(before, after)


def _push_times(place: Place, head_ref: str, content: Sequence[str]) -> tuple[float, float]:
    ref = quote(f"refs/heads/{head_ref}", safe="")
    try:
        rows = call(f"repos/{place.repository}/activity?ref={ref}&per_page=100")
    except GateTrouble:
        return 0.0, 0.0  # an older GitHub Enterprise has no such list
    return push_times([(row["after"], _seconds(row["timestamp"])) for row in rows], content)


def _seconds(stamp: str) -> float:
    return float(calendar.timegm(time.strptime(stamp[:19], "%Y-%m-%dT%H:%M:%S")))

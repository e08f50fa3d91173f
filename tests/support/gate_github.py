"""The part of GitHub that the auto-approve gate uses, in memory or on a unix socket for a real gh."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from time import gmtime, strftime
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

REPOSITORY = "acme/widgets"
HEAD, OLD, BASE = "a" * 40, "b" * 40, "c" * 40


class Refused(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def format_time(at: float) -> str:
    return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(at))


class GateGitHub:
    def __init__(self, now: float) -> None:
        self.now = now
        self.state, self.is_draft, self.is_foreign = "OPEN", False, False
        self.head_ref, self.head = "feature/epic-1", HEAD
        self.commits: list[tuple[str, list[str]]] = [(HEAD, [BASE])]
        self.unlisted = 0  # commits of the pull request that no page lists
        self.required: list[str] = []
        self.threads: list[bool] = []  # resolved?
        self.reviews: list[dict[str, Any]] = []
        self.checks: list[dict[str, Any]] = [check_run("test", "SUCCESS")]
        self.files: list[dict[str, str]] = [{"filename": "src/app.py"}]
        self.pushes: list[tuple[str, float]] | None = [(HEAD, now - 3600)]
        self.comparisons: dict[str, list[dict[str, Any]]] = {}
        self.contents: dict[tuple[str, str], str] = {}
        self.may_approve = True
        self.effects: list[tuple[str, Any]] = []

    def review(self, login: str, state: str, *, commit: str = HEAD, bot: bool = True, at: float = 0.0) -> None:
        self.reviews.append(
            {
                "state": state,
                "submittedAt": format_time(at or self.now),
                "fullDatabaseId": str(9_000_000_000 + len(self.reviews)),
                "authorAssociation": "NONE" if bot else "MEMBER",
                "commit": {"oid": commit},
                "author": {"__typename": "Bot" if bot else "User", "login": login},
            }
        )

    def effect_names(self) -> list[str]:
        return [word for word, _ in self.effects]

    def call(self, path: str, *, method: str = "GET", body: Any = None) -> Any:
        url = urlsplit(path)
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        if url.path == "graphql":
            return {"data": {"repository": {"pullRequest": self._pull(body["variables"])}}}
        kind, _, rest = url.path.removeprefix(f"repos/{REPOSITORY}/").partition("/")
        if method == "GET":
            return self._read(kind, rest, query)
        return self._change(method, url.path, body)

    def _read(self, kind: str, rest: str, query: dict[str, str]) -> Any:
        if kind == "pulls":
            first = 100 * (int(query["page"]) - 1)
            return self.files[first : first + 100]
        if kind == "activity" and self.pushes is not None:
            assert query["ref"] == f"refs/heads/{self.head_ref}"
            return [{"after": after, "timestamp": format_time(at)} for after, at in self.pushes]
        if kind == "compare" and rest in self.comparisons:
            return {"files": self.comparisons[rest]}
        if kind == "contents" and (unquote(rest), query["ref"]) in self.contents:
            return self.contents[unquote(rest), query["ref"]]
        raise Refused(404, "Not Found")

    def _change(self, method: str, path: str, body: Any) -> Any:
        if path.endswith("/reviews"):
            if not self.may_approve:
                raise Refused(422, "GitHub Actions is not permitted to approve pull requests.")
            self.effects.append(("approve", body))
            self.review("github-actions", "APPROVED", commit=body["commit_id"])
        elif found := re.search(r"/reviews/(\d+)/dismissals$", path):
            self.effects.append(("dismiss", body))
            for review in self.reviews:
                if review["fullDatabaseId"] == found[1]:
                    review["state"] = "DISMISSED"
        elif path.endswith("/actions/workflows/auto-approve.yml/dispatches"):
            self.effects.append(("dispatch", body))
            return None
        else:
            raise Refused(404, f"{method} {path}")
        return {}

    def _pull(self, variables: dict[str, Any]) -> dict[str, Any]:
        def page(key: str, items: list[Any]) -> dict[str, Any]:
            first = int(variables.get(key) or 0)
            last = min(first + 100, len(items))
            info = {"hasNextPage": last < len(items), "endCursor": str(last) if last > first else None}
            return {"pageInfo": info, "nodes": items[first:last]}

        commits = [
            {"commit": {"oid": sha, "parents": {"nodes": [{"oid": parent} for parent in parents]}}}
            for sha, parents in self.commits
        ]
        rollup = {"contexts": page("checks", self.checks)} if self.checks else None
        return {
            "state": self.state,
            "isDraft": self.is_draft,
            "isCrossRepository": self.is_foreign,
            "headRefName": self.head_ref,
            "headRefOid": self.head,
            "baseRef": {
                "refUpdateRule": {"requiredStatusCheckContexts": self.required} if self.required else None
            },
            "reviewThreads": page("threads", [{"isResolved": resolved} for resolved in self.threads]),
            "reviews": page("reviews", self.reviews),
            "commits": {**page("commits", commits), "totalCount": len(commits) + self.unlisted},
            "last": {"nodes": [{"commit": {"oid": self.head, "statusCheckRollup": rollup}}]},
        }


def check_run(
    name: str,
    conclusion: str,
    *,
    workflow: str = "CI",
    event: str = "pull_request",
    started: float = 1.0,
    run: int = 77,
) -> dict[str, Any]:
    """`conclusion`: one of GitHub's conclusions, or the status of an unfinished run."""
    is_over = conclusion not in ("IN_PROGRESS", "QUEUED", "WAITING")
    return {
        "__typename": "CheckRun",
        "name": name,
        "status": "COMPLETED" if is_over else conclusion,
        "conclusion": conclusion if is_over else None,
        "startedAt": format_time(started) if started else None,
        "isRequired": False,
        "checkSuite": {
            "app": {"slug": "github-actions"},
            "workflowRun": {"databaseId": run, "event": event, "workflow": {"name": workflow}},
        },
    }


class _Server(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True


@contextmanager
def serve_gate(world: GateGitHub, socket: Path) -> Iterator[None]:
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = json.loads(self._body() or b"null")
            try:
                with lock:
                    found = world.call(self.path.lstrip("/"), method=self.command, body=body)
                status, answer = (204 if found is None else 200), found
            except Refused as refused:
                status, answer = refused.status, {"message": "Unprocessable Entity", "errors": [str(refused)]}
            data = b"" if status == 204 else (answer if isinstance(answer, str) else json.dumps(answer)).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":  # gh sends a body from its stdin chunked
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        do_GET = do_POST = do_PUT = _answer

        def log_message(self, format: str, *args: object) -> None:
            pass

        def address_string(self) -> str:
            return "unix"

    with _Server(str(socket), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join(10)

"""A scripted GitHub: canned responses by operation and path, for `Gh` in process or for a real gh on a socket."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from threading import Thread
from typing import Any, NamedTuple

from bmad_autopilot.github.gh import Gh
from bmad_autopilot.github.gh_errors import ApiRequest, HttpAnswer, http_error

HEAD = "a" * 40
BASE = "b" * 40
Data = dict[str, Any]


class Request(NamedTuple):
    method: str
    path: str
    body: Any


class Response(NamedTuple):
    status: int = 200
    body: Any = None
    headers: dict[str, str] = {}  # noqa: RUF012


class ScriptedGitHub:
    """`queries`: data by operation name; `rest`: response by `METHOD path`. Records all requests."""

    def __init__(self) -> None:
        self.queries: dict[str, Callable[[Data], Data]] = {}
        self.rest: dict[str, Response] = {}
        self.requests: list[Request] = []

    def answer(self, method: str, path: str, feed: bytes) -> Response:
        body: Any = json.loads(feed) if feed else None
        self.requests.append(Request(method, path, body))
        if path != "graphql":
            return self.rest.get(f"{method} {path}", Response(404, {"message": "Not Found"}))
        found = self.queries[re.findall(r"(?:query|mutation) (\w+)", body["query"])[0]](body["variables"])
        return Response(200, found if "errors" in found else {"data": found})

    def effects(self) -> list[Request]:
        """The recorded requests without reads."""
        return [
            request
            for request in self.requests
            if request.method != "GET" and not (request.path == "graphql" and "query A" in request.body["query"])
        ]


class ScriptedGh(Gh):
    """The gh client without a gh process."""

    def __init__(self, script: ScriptedGitHub) -> None:
        super().__init__(wait=lambda seconds: None, clock=lambda: 1_800_000_000.0)
        self._script = script

    def _ask(
        self, asked: ApiRequest, method: str, path: str, headers: tuple[str, ...], feed: bytes, limit: int
    ) -> HttpAnswer:
        response = self._script.answer(method, path, feed)
        answer = HttpAnswer(response.status, response.headers, _bytes(response.body))
        if response.status >= 300:
            raise http_error(asked, answer, self._clock())
        return answer


def _bytes(body: Any) -> bytes:
    return body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()


def page(nodes: list[Any], after: str = "") -> Data:
    return {"totalCount": len(nodes), "nodes": nodes, "pageInfo": {"hasNextPage": bool(after), "endCursor": after}}


def page_after(items: list[Any], size: int, after: str | None) -> Data:
    """The page after this cursor; a cursor is an index into the list."""
    start = int(after or 0)
    end = start + size
    return page(items[start:end], str(end) if end < len(items) else "")


def author(login: str, kind: str = "User", association: str = "MEMBER") -> Data:
    return {"author": {"__typename": kind, "login": login}, "authorAssociation": association}


def comment(i: int, body: str = "text", login: str = "ann") -> Data:
    at = "2026-11-16T10:00:00Z"
    hunk = f"@@ -1 +1 @@ {i}"
    said = {"id": f"C{i}", "body": body, "createdAt": at, "url": f"u{i}", **author(login)}
    return said | {"diffHunk": hunk, "originalCommit": {"oid": HEAD}}


def thread(i: int, comments: Data | None = None, **changes: Any) -> Data:
    return {
        "id": f"T{i}",
        "path": "src/a.py",
        "line": i,
        "isResolved": False,
        "isOutdated": False,
        "comments": comments or page([comment(i)]),
    } | changes


def review(i: int, state: str = "COMMENTED", login: str = "ann") -> Data:
    at = "2026-11-16T10:00:00Z"
    base = {"id": f"R{i}", "databaseId": i, "state": state, "body": "", "submittedAt": at, "createdAt": at}
    return base | {"commit": {"oid": HEAD}} | author(login)


def check_run(name: str, conclusion: str | None = "SUCCESS", status: str = "COMPLETED", **changes: Any) -> Data:
    return {
        "__typename": "CheckRun",
        "databaseId": 70,
        "name": name,
        "status": status,
        "conclusion": conclusion,
        "startedAt": "2026-11-16T10:00:00Z",
        "completedAt": "2026-11-16T10:01:00Z",
        "detailsUrl": "https://github.com/acme/widgets/actions/runs/9/job/70",
        "isRequired": True,
        "checkSuite": {
            "app": {"slug": "github-actions"},
            "workflowRun": {"databaseId": 9, "event": "push", "workflow": {"name": "CI"}},
        },
    } | changes


def pull_mark(number: int = 7, **changes: Any) -> Data:
    return {
        "number": number,
        "state": "OPEN",
        "title": "Epic 1",
        "url": f"https://github.com/acme/widgets/pull/{number}",
        "isDraft": False,
        "isCrossRepository": False,
        "isInMergeQueue": False,
        "headRefName": "feature/epic-1",
        "headRefOid": HEAD,
        "baseRefName": "main",
        "mergeable": "MERGEABLE",
        "reviewDecision": None,
        "updatedAt": "2026-11-16T10:00:00Z",
        "baseRef": {"target": {"oid": BASE}},
        "headRef": {
            "target": {"oid": HEAD, "statusCheckRollup": {"state": "SUCCESS", "counted": {"totalCount": 1}}}
        },
        "lastReviews": {"totalCount": 0, "nodes": []},
        "lastThreads": {"totalCount": 0, "nodes": []},
    } | changes


def pull(number: int = 7, **changes: Any) -> Data:
    head = {
        "oid": HEAD,
        "committedDate": "2026-11-16T09:00:00Z",
        "checkSuites": {"nodes": [{"createdAt": "2026-11-16T09:30:00Z"}]},
        "statusCheckRollup": {
            "state": "SUCCESS",
            "counted": {"totalCount": 1},
            "contexts": page([check_run("unit")]),
        },
    }
    whole: Data = {
        "id": "PR_7",
        "body": "text",
        "createdAt": "2026-11-16T08:00:00Z",
        "mergedAt": None,
        "mergeStateStatus": "CLEAN",
        "baseRefOid": "c" * 40,
        "isMergeQueueEnabled": False,
        "mergeCommit": None,
        "labels": {"nodes": [{"name": "epic"}]},
        "reviewRequests": {"nodes": [{"requestedReviewer": {"login": "copilot-pull-request-reviewer"}}]},
        "comments": {"nodes": [comment(1)]},
        "forced": {"nodes": []},
        "headRef": {"target": head},
        "reviews": page([review(1)]),
        "reviewThreads": page([thread(1)]),
    }
    return pull_mark(number) | whole | author("bot", "Bot") | changes


class _Server(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True
    script: ScriptedGitHub


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def _serve(self) -> None:
        response = self.server.script.answer(self.command, self.path.removeprefix("/"), self._feed())
        body = _bytes(response.body)
        self.send_response(response.status)
        for name, value in ({"Content-Type": "application/json"} | response.headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _feed(self) -> bytes:
        """gh does not know the length of its stdin, so it sends the body chunked."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        chunks = []
        while size := int(self.rfile.readline(), 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve

    def address_string(self) -> str:
        return "socket"

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serve_script(script: ScriptedGitHub, socket: Path) -> Iterator[None]:
    """Serve the script to a real gh: plain HTTP on a unix socket."""
    with _Server(str(socket), _Handler) as server:
        server.script = script
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join(10)

"""One request to the simulated GitHub, with what every answer of GitHub's has: limits, pages, tags, and faults."""

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from ..faults import RETRY_AFTER, Fault, GitHubFaults, Replica
from ..model import VIEWER, SimGitHub
from ..records import GitHubRefusal
from .allowance import Allowance
from .asks import Ask, Reply
from .documents import Document, schema_at
from .graph import Context, Unmodelled, execute
from .rest import route
from .table import TABLE

PER_PAGE = 30


class Answer(NamedTuple):
    status: int
    body: bytes
    headers: Mapping[str, str]


class Seen(NamedTuple):
    """A request, for tests that count them. `what`: a path, or the name of a GraphQL operation."""

    method: str
    what: str
    points: int


class Answering:
    def __init__(self, model: SimGitHub, schema: Path | None, faults: GitHubFaults) -> None:
        self.model = model
        self.faults = faults
        self.points = Allowance(model.clock)
        self.requests = Allowance(model.clock)
        self.seen: list[Seen] = []
        self.logins: dict[str, str] = {}  # of other tokens than ours
        self._schema = schema_at(schema) if schema else None
        self._replica = Replica()

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer | None:
        """None: the line breaks, and nobody knows whether it was done."""
        low = {name.lower(): value for name, value in headers.items()}
        token = low.get("authorization", "").rpartition(" ")[2]
        if not token and not path.startswith("/jobs/"):
            return _told(401, {"message": "Requires authentication"})
        viewer = self.logins.get(token, VIEWER)
        given = _loads(body)
        if urlsplit(path).path == "/graphql":
            return self._graphql(viewer, given)
        return self._rest(method, path, viewer, given, low)

    # GraphQL

    def _graphql(self, viewer: str, given: Mapping[str, Any]) -> Answer | None:
        try:
            document = Document(str(given.get("query", "")), given.get("variables") or {})
            if self._schema:
                self._schema.check(document.text)
            document.check_size()
        except Exception as error:
            return _told(200, {"errors": [{"message": f"{type(error).__name__}: {error}"}]})
        self.seen.append(Seen("POST", document.name, document.points))
        is_effect = document.operation.operation.value == "mutation"
        fault = self.faults.pick(document.name, is_effect=is_effect)
        broken = self._broken(fault)
        if broken is not None or fault is Fault.TIMEOUT:
            return broken
        if not self.points.spend(document.points):
            limit = {"type": "RATE_LIMITED", "message": "API rate limit exceeded"}
            return _told(200, {"errors": [limit]}, self.points.headers("graphql"))
        key = ("graphql", document.text, json.dumps(document.variables, sort_keys=True))
        context = Context(self.model, viewer, document, self.points)
        try:
            found = self._read(key, fault, is_effect, lambda: execute(context, TABLE))
        except (Unmodelled, ValueError) as error:
            found = {"errors": [{"message": str(error)}]}
        answer = _told(200, found, self.points.headers("graphql"))
        return None if fault is Fault.LOST else answer

    # REST

    def _rest(
        self, method: str, path: str, viewer: str, given: Mapping[str, Any], headers: Mapping[str, str]
    ) -> Answer | None:
        parts = urlsplit(path)
        is_effect = method != "GET"
        call = f"{method} {parts.path}"
        self.seen.append(Seen(method, parts.path, 0))
        if method == "GET" and parts.path == "/rate_limit":
            return _told(200, self._limits())
        fault = self.faults.pick(call, is_effect=is_effect)
        broken = self._broken(fault)
        if broken is not None or fault is Fault.TIMEOUT:
            return broken
        query = dict(parse_qsl(parts.query))
        ask = Ask(self.model, viewer, (), query, given, headers.get("accept", ""))
        reply = self._read(("rest", method, path), fault, is_effect, lambda: _routed(method, parts.path, ask))
        answer = self._finished(reply, path, query, headers)
        return None if fault is Fault.LOST else answer

    def _finished(self, reply: Reply, path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> Answer:
        body, links = _paged(reply.body, path, query)
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        tag = f'W/"{sha256(raw).hexdigest()}"'
        if reply.status == 200 and headers.get("if-none-match") == tag:
            return Answer(304, b"", {"ETag": tag, **self.requests.headers("core")})
        if not self.requests.spend(1):
            return _told(403, {"message": "API rate limit exceeded for user."}, self.requests.headers("core"))
        kind = "text/plain" if isinstance(body, bytes) else "application/json; charset=utf-8"
        own = {"Content-Type": kind, "ETag": tag, **links, **self.requests.headers("core"), **reply.headers}
        return Answer(reply.status, raw, own)

    def _limits(self) -> dict[str, Any]:
        kinds = {"core": self.requests, "graphql": self.points}
        return {
            "resources": {
                name: {"limit": one.limit, "remaining": one.remaining, "reset": int(one.reset)}
                for name, one in kinds.items()
            }
        }

    # faults

    def _read(self, key: object, fault: Fault | None, is_effect: bool, fresh: Any) -> Any:
        if is_effect:
            return fresh()
        return self._replica.read(key, self.model.now, fresh, is_stale=fault is Fault.STALE)

    def _broken(self, fault: Fault | None) -> Answer | None:
        retry = {"Retry-After": str(int(RETRY_AFTER))}
        if fault is Fault.LIMIT:
            return _told(429, {"message": "API rate limit exceeded"}, retry)
        if fault is Fault.SECONDARY:
            return _told(403, {"message": "You have exceeded a secondary rate limit."}, retry)
        return _told(502, {"message": "Server Error"}) if fault is Fault.GATEWAY else None


def _routed(method: str, path: str, ask: Ask) -> Reply:
    try:
        return route(method, path, ask)
    except GitHubRefusal as refusal:
        message, _, detail = refusal.message.partition(": ")
        errors = {"errors": [{"message": detail}]} if detail else {}
        return Reply(refusal.status, {"message": message, **errors})
    except (KeyError, TypeError, ValueError) as error:
        return Reply(422, {"message": "Invalid request", "errors": [{"message": f"{error!r}"}]})


def _paged(body: Any, path: str, query: Mapping[str, str]) -> tuple[Any, dict[str, str]]:
    if not isinstance(body, list):
        return body, {}
    size, page = min(100, int(query.get("per_page", PER_PAGE))), int(query.get("page", 1))
    shown = body[(page - 1) * size : page * size]
    if page * size >= len(body):
        return shown, {}
    following = urlencode({**query, "page": page + 1})
    return shown, {"Link": f'<https://api.github.com{urlsplit(path).path}?{following}>; rel="next"'}


def _loads(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _told(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Answer:
    kind = {"Content-Type": "application/json; charset=utf-8"}
    return Answer(status, json.dumps(body).encode(), {**kind, **(headers or {})})

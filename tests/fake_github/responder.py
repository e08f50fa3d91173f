"""Answers one HTTP request to the fake GitHub, with rate limits, pagination, ETags and injected faults."""

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from bmad_autopilot.sim.github.model import VIEWER, SimGitHub
from bmad_autopilot.sim.github.records import RETRY_AFTER, GitHubFault, GitHubFaults, GitHubRefusal, Replica
from tests.fake_github.graphql import Context, Unmodelled, execute
from tests.fake_github.graphql_document import Document, schema_at
from tests.fake_github.graphql_fields import TABLE
from tests.fake_github.rate_limit import RateLimit
from tests.fake_github.rest import route
from tests.fake_github.rest_request import RestReply, RestRequest

PER_PAGE = 30


class HttpResponse(NamedTuple):
    status: int
    body: bytes
    headers: Mapping[str, str]


class RecordedRequest(NamedTuple):
    """A received request, for tests that count them. `what`: a path, or the name of a GraphQL operation."""

    method: str
    what: str
    points: int


class Responder:
    def __init__(self, model: SimGitHub, schema: Path | None, faults: GitHubFaults) -> None:
        self.model = model
        self.faults = faults
        self.points = RateLimit(model.clock)
        self.requests = RateLimit(model.clock)
        self.recorded: list[RecordedRequest] = []
        self.logins: dict[str, str] = {}  # token → login, for tokens other than ours
        self._schema = schema_at(schema) if schema else None
        self._replica = Replica()

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> HttpResponse | None:
        """None: the connection breaks, and the client cannot know whether the effect happened."""
        low = {name.lower(): value for name, value in headers.items()}
        token = low.get("authorization", "").rpartition(" ")[2]
        if not token and not path.startswith("/jobs/"):
            return _json_response(401, {"message": "Requires authentication"})
        viewer = self.logins.get(token, VIEWER)
        given = _parse_body(body)
        if urlsplit(path).path == "/graphql":
            return self._graphql(viewer, given)
        return self._rest(method, path, viewer, given, low)

    # GraphQL

    def _graphql(self, viewer: str, given: Mapping[str, Any]) -> HttpResponse | None:
        try:
            document = Document(str(given.get("query", "")), given.get("variables") or {})
            if self._schema:
                self._schema.check(document.text)
            document.check_size()
        except Exception as error:
            return _json_response(200, {"errors": [{"message": f"{type(error).__name__}: {error}"}]})
        self.recorded.append(RecordedRequest("POST", document.name, document.points))
        is_effect = document.operation.operation.value == "mutation"
        fault = self.faults.pick(document.name, is_effect=is_effect)
        broken = self._fault_response(fault)
        if broken is not None or fault is GitHubFault.TIMEOUT:
            return broken
        if not self.points.spend(document.points):
            limit = {"type": "RATE_LIMITED", "message": "API rate limit exceeded"}
            return _json_response(200, {"errors": [limit]}, self.points.headers("graphql"))
        key = ("graphql", document.text, json.dumps(document.variables, sort_keys=True))
        context = Context(self.model, viewer, document, self.points)
        try:
            found = self._read(key, fault, is_effect, lambda: execute(context, TABLE))
        except (Unmodelled, ValueError) as error:
            found = {"errors": [{"message": str(error)}]}
        answer = _json_response(200, found, self.points.headers("graphql"))
        return None if fault is GitHubFault.LOST else answer

    # REST

    def _rest(
        self, method: str, path: str, viewer: str, given: Mapping[str, Any], headers: Mapping[str, str]
    ) -> HttpResponse | None:
        parts = urlsplit(path)
        is_effect = method != "GET"
        call = f"{method} {parts.path}"
        self.recorded.append(RecordedRequest(method, parts.path, 0))
        if method == "GET" and parts.path == "/rate_limit":
            return _json_response(200, self._limits())
        fault = self.faults.pick(call, is_effect=is_effect)
        broken = self._fault_response(fault)
        if broken is not None or fault is GitHubFault.TIMEOUT:
            return broken
        query = dict(parse_qsl(parts.query))
        request = RestRequest(self.model, viewer, (), query, given, headers.get("accept", ""))
        reply = self._read(
            ("rest", method, path), fault, is_effect, lambda: _route_or_refuse(method, parts.path, request)
        )
        answer = self._finish(reply, path, query, headers)
        return None if fault is GitHubFault.LOST else answer

    def _finish(
        self, reply: RestReply, path: str, query: Mapping[str, str], headers: Mapping[str, str]
    ) -> HttpResponse:
        body, links = _paginate(reply.body, path, query)
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        tag = f'W/"{sha256(raw).hexdigest()}"'
        if reply.status == 200 and headers.get("if-none-match") == tag:
            return HttpResponse(304, b"", {"ETag": tag, **self.requests.headers("core")})
        if not self.requests.spend(1):
            return _json_response(
                403, {"message": "API rate limit exceeded for user."}, self.requests.headers("core")
            )
        kind = "text/plain" if isinstance(body, bytes) else "application/json; charset=utf-8"
        own = {"Content-Type": kind, "ETag": tag, **links, **self.requests.headers("core"), **reply.headers}
        return HttpResponse(reply.status, raw, own)

    def _limits(self) -> dict[str, Any]:
        kinds = {"core": self.requests, "graphql": self.points}
        return {
            "resources": {
                name: {"limit": one.limit, "remaining": one.remaining, "reset": int(one.reset)}
                for name, one in kinds.items()
            }
        }

    # faults

    def _read(self, key: object, fault: GitHubFault | None, is_effect: bool, fresh: Any) -> Any:
        if is_effect:
            return fresh()
        return self._replica.read(key, self.model.now, fresh, is_stale=fault is GitHubFault.STALE)

    def _fault_response(self, fault: GitHubFault | None) -> HttpResponse | None:
        retry = {"Retry-After": str(int(RETRY_AFTER))}
        if fault is GitHubFault.LIMIT:
            return _json_response(429, {"message": "API rate limit exceeded"}, retry)
        if fault is GitHubFault.SECONDARY:
            return _json_response(403, {"message": "You have exceeded a secondary rate limit."}, retry)
        return _json_response(502, {"message": "Server Error"}) if fault is GitHubFault.GATEWAY else None


def _route_or_refuse(method: str, path: str, request: RestRequest) -> RestReply:
    try:
        return route(method, path, request)
    except GitHubRefusal as refusal:
        message, _, detail = refusal.message.partition(": ")
        errors = {"errors": [{"message": detail}]} if detail else {}
        return RestReply(refusal.status, {"message": message, **errors})
    except (KeyError, TypeError, ValueError) as error:
        return RestReply(422, {"message": "Invalid request", "errors": [{"message": f"{error!r}"}]})


def _paginate(body: Any, path: str, query: Mapping[str, str]) -> tuple[Any, dict[str, str]]:
    if not isinstance(body, list):
        return body, {}
    size, page = min(100, int(query.get("per_page", PER_PAGE))), int(query.get("page", 1))
    shown = body[(page - 1) * size : page * size]
    if page * size >= len(body):
        return shown, {}
    following = urlencode({**query, "page": page + 1})
    return shown, {"Link": f'<https://api.github.com{urlsplit(path).path}?{following}>; rel="next"'}


def _parse_body(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _json_response(status: int, body: Any, headers: Mapping[str, str] | None = None) -> HttpResponse:
    kind = {"Content-Type": "application/json; charset=utf-8"}
    return HttpResponse(status, json.dumps(body).encode(), {**kind, **(headers or {})})

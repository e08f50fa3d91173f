"""Runs gh. The only module that does, and only `gh api`: its other output is for people and changes.

The login is the user's own (keyring, single sign-on, enterprise hosts, proxies): no token passes through us.
Request bodies go to stdin; the command line has only a method, a path and headers. gh does not retry, so this
module does, for reads only: an effect may have happened although its answer was lost, so its caller must check the
state again."""

import json
import os
import re
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from ..core.forge_errors import TRANSIENT, ForgeError, ForgeErrorKind
from ..io.processes import find_program, run_process
from .gh_errors import (
    ApiRequest,
    HttpAnswer,
    gh_missing_error,
    graphql_error,
    http_error,
    no_answer_error,
    split_answer,
)

# Rate limit: how much is left, and how often to poll so that other tools keep their share.

SHARE = 0.25  # of the remaining points; the rest is for the user and other tools
_REMEMBERED_COSTS = 16  # remembered query costs: the highest is the assumed cost of a poll


class Budget(NamedTuple):
    remaining: float
    limit: float
    reset: float  # time at which it is full again
    cost: float = 0.0  # cost of the last query


class RateBudget:
    """Tracks the rate limits from answers: `rateLimit` of queries, headers of REST, whose limit is separate."""

    def __init__(self) -> None:
        self.points: Budget | None = None
        self.requests: Budget | None = None
        self._costs: deque[float] = deque(maxlen=_REMEMBERED_COSTS)

    def note_query(self, rate_limit: Any) -> None:
        """`rateLimit` from the answer; None if the server has no limit."""
        if not isinstance(rate_limit, dict):
            return
        cost, remaining, limit = (rate_limit.get(name) for name in ("cost", "remaining", "limit"))
        reset = _instant(rate_limit.get("resetAt"))
        if isinstance(cost, int) and isinstance(remaining, int) and reset is not None:
            self.points = Budget(remaining, limit if isinstance(limit, int) else 0, reset, cost)
            self._costs.append(cost)

    def note_headers(self, answer: HttpAnswer) -> None:
        names = ("x-ratelimit-remaining", "x-ratelimit-limit", "x-ratelimit-reset")
        remaining, limit, reset = (answer.number(name) for name in names)
        if remaining is None or reset is None:
            return
        if answer.headers.get("x-ratelimit-resource") == "graphql":
            cost = self.points.cost if self.points else 0.0
            self.points = Budget(remaining, limit or 0, reset, cost)
        else:
            self.requests = Budget(remaining, limit or 0, reset)

    def pace(self, seconds: float, now: float) -> float:
        """`seconds`, or longer if needed so that polling stays within our share until the reset."""
        if self.points is None or self.points.reset <= now:
            return seconds
        left = self.points.reset - now
        ours = SHARE * self.points.remaining
        cost = max(self._costs, default=1.0)
        wanted = left if ours < cost else left * cost / ours
        return max(seconds, min(wanted, left))


def _instant(value: Any) -> float | None:
    try:
        return datetime.fromisoformat(value).timestamp()
    except (TypeError, ValueError, OverflowError, OSError):
        return None


GITHUB = "github.com"
SECONDS = 60.0
MAX_OUTPUT = 16 * 1024 * 1024
RETRY_DELAYS = (1.0, 2.0)  # before the second and third attempt
MAX_RETRY_WAIT = 5.0  # a rate limit that ends sooner is waited for here
MAX_CACHED = 256  # answers cached for conditional requests
MAX_CACHED_BODY = 256 * 1024  # logs are not cached

_FIXED_ENVIRONMENT = {
    "GH_PROMPT_DISABLED": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "GH_NO_EXTENSION_UPDATE_NOTIFIER": "1",
    "GH_TELEMETRY": "0",
    "DO_NOT_TRACK": "1",
    "NO_COLOR": "1",
    "GH_SPINNER_DISABLED": "1",
}
# These change what gh prints, or send requests to another host.
_UNSET = frozenset("GH_DEBUG DEBUG GH_FORCE_TTY CLICOLOR_FORCE GH_HOST GH_REPO GH_PAGER PAGER".split())
_OPERATION = re.compile(r"\s*(query|mutation)\s+(\w+)")
_HEADERS = ("Accept: application/vnd.github+json", "X-GitHub-Api-Version: 2022-11-28")

_T = TypeVar("_T")
ErrorFilter = Callable[[list[Any]], list[Any]]


class _CachedAnswer(NamedTuple):
    tag: str
    answer: HttpAnswer


class Gh:
    def __init__(
        self,
        host: str = GITHUB,
        *,
        wait: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.time,
        seconds: float = SECONDS,
    ) -> None:
        self.host = host
        self._wait = wait
        self._clock = clock
        self._seconds = seconds
        self._rate_budget = RateBudget()
        self._cache: OrderedDict[str, _CachedAnswer] = OrderedDict()
        self._lock = threading.Lock()  # lanes share one instance
        own = {name: value for name, value in os.environ.items() if name not in _UNSET}
        self._environment = own | _FIXED_ENVIRONMENT

    @property
    def budget(self) -> Budget | None:
        """The GraphQL rate limit from the last answer."""
        return self._rate_budget.points

    def now(self) -> float:
        return self._clock()

    def pace(self, seconds: float) -> float:
        """Seconds between two polls, at least `seconds`, so that we use no more than our share."""
        return self._rate_budget.pace(seconds, self._clock())

    def get(self, path: str, *, limit: int = MAX_OUTPUT) -> HttpAnswer:
        """A REST read. An unchanged resource (304) does not count against the rate limit."""
        with self._lock:
            cached = self._cache.get(path)
        headers = (*_HEADERS, f"If-None-Match: {cached.tag}") if cached else _HEADERS
        request = ApiRequest(f"GET {path}", self.host)
        answer = self._retry(lambda: self._ask(request, "GET", path, headers, b"", limit))
        if answer.status == 304 and cached is not None:
            return cached.answer
        self._store(path, answer)
        return answer

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """A REST effect, tried once; returns the answer. On AWAY it may have happened."""
        request = ApiRequest(f"{method} {path}", self.host)
        feed = b"" if body is None else json.dumps(body).encode()
        return self._ask(request, method, path, _HEADERS, feed, MAX_OUTPUT).json()

    def graphql(
        self, document: str, variables: Mapping[str, Any], *, filter_errors: ErrorFilter = lambda errors: errors
    ) -> dict[str, Any]:
        """Returns the data. Queries are retried as reads, mutations are not. Errors beside the data raise
        ForgeError unless `filter_errors` removes all of them."""
        operation = _OPERATION.match(document)
        assert operation is not None, "a document without a named operation"
        request = ApiRequest(operation[2], self.host)
        feed = json.dumps({"query": document, "variables": variables, "operationName": operation[2]}).encode()
        if operation[1] == "mutation":
            return self._query(request, feed, filter_errors)
        return self._retry(lambda: self._query(request, feed, filter_errors))

    def _query(self, request: ApiRequest, feed: bytes, filter_errors: ErrorFilter) -> dict[str, Any]:
        answer = self._ask(request, "POST", "graphql", (), feed, MAX_OUTPUT)
        found = answer.json()
        found = found if isinstance(found, dict) else {}
        data, errors = found.get("data"), found.get("errors")
        if isinstance(data, dict):
            self._rate_budget.note_query(data.get("rateLimit"))
        if isinstance(errors, list) and (left := filter_errors(errors)):
            raise graphql_error(request, left, answer, self._clock())
        if not isinstance(data, dict):
            raise ForgeError(
                ForgeErrorKind.UNRECOGNIZED, f"{request.what}: an answer without data", status=answer.status
            )
        return data

    def _retry(self, ask: Callable[[], _T]) -> _T:
        """Retries a read after a transient failure."""
        for pause in RETRY_DELAYS:
            try:
                return ask()
            except ForgeError as error:
                pause = max(pause, error.until - self._clock())
                if error.kind not in TRANSIENT or pause > MAX_RETRY_WAIT:
                    raise
            self._wait(pause)
        return ask()

    def _ask(
        self, request: ApiRequest, method: str, path: str, headers: tuple[str, ...], feed: bytes, limit: int
    ) -> HttpAnswer:
        """Runs one gh process. Raises ForgeError if the answer is not a success."""
        argv = [*self._program, "--method", method]
        argv += [part for header in headers for part in ("--header", header)]
        argv += ["--input", "-"] if feed else []
        try:
            output = run_process(
                [os.fsencode(part) for part in (*argv, path)],
                self._environment,
                feed,
                seconds=self._seconds,
                limit=limit,
            )
        except (OSError, ValueError) as error:
            raise ForgeError(ForgeErrorKind.LOGIN, f"gh cannot be started: {error}", hint="gh --version") from None
        answer = split_answer(output.out, -1 if output.code is None else output.code)
        if answer is None:
            raise no_answer_error(request, output.code, output.problem or output.err)
        self._rate_budget.note_headers(answer)
        if answer.status >= 300 and answer.status != 304:
            raise http_error(request, answer, self._clock())
        if not answer.is_whole and path != "graphql" and answer.status != 304 and len(output.out) <= limit:
            raise ForgeError(
                ForgeErrorKind.UNAVAILABLE, f"GitHub's answer broke off ({request.what})", status=answer.status
            )
        return answer

    @cached_property
    def _program(self) -> list[str]:
        path = find_program("gh")
        if path is None:
            raise gh_missing_error()
        return [path, "api", "--hostname", self.host, "--include"]

    def _store(self, path: str, answer: HttpAnswer) -> None:
        tag = answer.headers.get("etag", "")
        is_plain = 0 < len(tag) <= 200 and tag.isascii() and tag.isprintable()
        if not is_plain or len(answer.body) > MAX_CACHED_BODY:
            return
        with self._lock:
            self._cache[path] = _CachedAnswer(tag, answer)
            self._cache.move_to_end(path)
            if len(self._cache) > MAX_CACHED:
                self._cache.popitem(last=False)

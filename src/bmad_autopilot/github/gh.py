"""The one place that runs gh, and of gh only `gh api`: its words for people change, this does not.

The login is the user's own (keyring, single sign-on, enterprise hosts, proxies): no token passes through us. What
is sent goes in by stdin; on the command line stand a method, a path and headers. gh by itself repeats nothing, so
that is done here, and only for what reads: an effect may have happened although its answer was lost, and whoever
wanted it looks again."""

import json
import os
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from ..project.programs import find_program
from .forge import ForgeError, Trouble
from .gh_answers import HttpAnswer, split_answer
from .gh_budget import Budget, Purse
from .gh_troubles import Asked, graphql_trouble, http_trouble, missing_gh, silent_trouble
from .talking import talk

GITHUB = "github.com"
SECONDS = 60.0
MAX_OUTPUT = 16 * 1024 * 1024
TRIES = 3
PAUSES = (1.0, 2.0)  # before the second and the third try
PATIENCE = 5.0  # a limit that passes sooner is waited for here
MAX_KEPT = 256  # answers that can be asked for again for nothing
MAX_KEPT_BODY = 256 * 1024  # a log is not kept

_SET = {
    "GH_PROMPT_DISABLED": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "GH_NO_EXTENSION_UPDATE_NOTIFIER": "1",
    "GH_TELEMETRY": "0",
    "DO_NOT_TRACK": "1",
    "NO_COLOR": "1",
    "GH_SPINNER_DISABLED": "1",
}
# They add to what gh prints, or send it elsewhere than to the host that we name.
_UNSET = frozenset("GH_DEBUG DEBUG GH_FORCE_TTY CLICOLOR_FORCE GH_HOST GH_REPO GH_PAGER PAGER".split())
_OPERATION = re.compile(r"\s*(query|mutation)\s+(\w+)")
_HEADERS = ("Accept: application/vnd.github+json", "X-GitHub-Api-Version: 2022-11-28")

_T = TypeVar("_T")
Errors = Callable[[list[Any]], list[Any]]


class _Kept(NamedTuple):
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
        self._purse = Purse()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._lock = threading.Lock()  # lanes share one
        own = {name: value for name, value in os.environ.items() if name not in _UNSET}
        self._environment = own | _SET

    @property
    def budget(self) -> Budget | None:
        """The points of GraphQL, as last told."""
        return self._purse.points

    def now(self) -> float:
        return self._clock()

    def pace(self, seconds: float) -> float:
        """How long to wait between two looks, `seconds` at least, so that we use no more than our share."""
        return self._purse.pace(seconds, self._clock())

    def get(self, path: str, *, limit: int = MAX_OUTPUT) -> HttpAnswer:
        """A read by REST. What has not changed since costs no request of the hour's."""
        with self._lock:
            kept = self._kept.get(path)
        headers = (*_HEADERS, f"If-None-Match: {kept.tag}") if kept else _HEADERS
        asked = Asked(f"GET {path}", self.host)
        answer = self._patiently(lambda: self._ask(asked, "GET", path, headers, b"", limit))
        if answer.status == 304 and kept is not None:
            return kept.answer
        self._keep(path, answer)
        return answer

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """An effect by REST, tried once; what was answered. AWAY: it may have happened."""
        asked = Asked(f"{method} {path}", self.host)
        feed = b"" if body is None else json.dumps(body).encode()
        return self._ask(asked, method, path, _HEADERS, feed, MAX_OUTPUT).json()

    def graphql(
        self, document: str, variables: Mapping[str, Any], *, serious: Errors = lambda errors: errors
    ) -> dict[str, Any]:
        """The data. A query is a read, a mutation an effect. Data with errors beside it is an error, unless
        `serious` leaves none of them."""
        operation = _OPERATION.match(document)
        assert operation is not None, "a document without a named operation"
        asked = Asked(operation[2], self.host)
        feed = json.dumps({"query": document, "variables": variables, "operationName": operation[2]}).encode()
        if operation[1] == "mutation":
            return self._query(asked, feed, serious)
        return self._patiently(lambda: self._query(asked, feed, serious))

    def _query(self, asked: Asked, feed: bytes, serious: Errors) -> dict[str, Any]:
        answer = self._ask(asked, "POST", "graphql", (), feed, MAX_OUTPUT)
        found = answer.json()
        found = found if isinstance(found, dict) else {}
        data, errors = found.get("data"), found.get("errors")
        if isinstance(data, dict):
            self._purse.note_query(data.get("rateLimit"))
        if isinstance(errors, list) and (left := serious(errors)):
            raise graphql_trouble(asked, left, answer, self._clock())
        if not isinstance(data, dict):
            raise ForgeError(Trouble.ODD, f"{asked.what}: an answer without data", status=answer.status)
        return data

    def _patiently(self, ask: Callable[[], _T]) -> _T:
        """A read: once more where what stopped it passes in a moment."""
        for pause in PAUSES:
            try:
                return ask()
            except ForgeError as error:
                pause = max(pause, error.until - self._clock())
                if error.trouble not in (Trouble.AWAY, Trouble.LIMIT) or pause > PATIENCE:
                    raise
            self._wait(pause)
        return ask()

    def _ask(
        self, asked: Asked, method: str, path: str, headers: tuple[str, ...], feed: bytes, limit: int
    ) -> HttpAnswer:
        """One gh process. An answer that is no success is a ForgeError."""
        argv = [*self._program, "--method", method]
        argv += [part for header in headers for part in ("--header", header)]
        argv += ["--input", "-"] if feed else []
        try:
            heard = talk(
                [os.fsencode(part) for part in (*argv, path)],
                self._environment,
                feed,
                seconds=self._seconds,
                limit=limit,
            )
        except (OSError, ValueError) as error:
            raise ForgeError(Trouble.LOGIN, f"gh cannot be started: {error}", hint="gh --version") from None
        answer = split_answer(heard.out, -1 if heard.code is None else heard.code)
        if answer is None:
            raise silent_trouble(asked, heard.code, heard.problem or heard.err)
        self._purse.note_headers(answer)
        if answer.status >= 300 and answer.status != 304:
            raise http_trouble(asked, answer, self._clock())
        if not answer.is_whole and path != "graphql" and answer.status != 304 and len(heard.out) <= limit:
            raise ForgeError(Trouble.AWAY, f"GitHub's answer broke off ({asked.what})", status=answer.status)
        return answer

    @cached_property
    def _program(self) -> list[str]:
        path = find_program("gh")
        if path is None:
            raise missing_gh()
        return [path, "api", "--hostname", self.host, "--include"]

    def _keep(self, path: str, answer: HttpAnswer) -> None:
        tag = answer.headers.get("etag", "")
        is_plain = 0 < len(tag) <= 200 and tag.isascii() and tag.isprintable()
        if not is_plain or len(answer.body) > MAX_KEPT_BODY:
            return
        with self._lock:
            self._kept[path] = _Kept(tag, answer)
            self._kept.move_to_end(path)
            if len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)

"""Parses `gh api` output and maps failures to ForgeError with a message and a command that helps."""

import json
import re
from typing import Any, NamedTuple

from ..core.forge_errors import ForgeError, ForgeErrorKind
from ..core.text import one_line

# Output of `gh api -i`: status line, headers, body; also for an error.

_STATUS = re.compile(rb"HTTP/[0-9.]+ ([1-5][0-9]{2})\b[^\n]*\n")
_BREAK = re.compile(rb"\r?\n")
MAX_HEADERS = 256


class HttpAnswer(NamedTuple):
    status: int
    headers: dict[str, str]  # names in lower case
    body: bytes
    is_whole: bool = True  # False: gh itself failed; the body may be incomplete

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    def number(self, header: str) -> float | None:
        """A numeric header; None if missing or not a number."""
        value = self.headers.get(header, "").strip()
        return float(value) if value.isascii() and value.isdigit() and len(value) < 16 else None

    def json(self) -> Any:
        """The parsed body; None if empty."""
        if not self.body.strip():
            return None
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            pass
        if not self.is_whole:
            raise ForgeError(ForgeErrorKind.UNAVAILABLE, "GitHub's answer broke off", status=self.status)
        kind = self.headers.get("content-type", "no content type").partition(";")[0]
        raise ForgeError(
            ForgeErrorKind.UNRECOGNIZED,
            f"GitHub answered with something that is no JSON ({kind}): {one_line(self.text, MAX_REASON)}",
            status=self.status,
            hint="a proxy may have answered instead; look: gh api user",
        )


def split_answer(out: bytes, code: int) -> HttpAnswer | None:
    """None if gh got no answer."""
    status = _STATUS.match(out)
    if status is None:
        return None
    headers: dict[str, str] = {}
    start = status.end()
    for _ in range(MAX_HEADERS):
        end = _BREAK.search(out, start)
        if end is None:
            return HttpAnswer(int(status[1]), headers, b"", is_whole=False)
        line, start = out[start : end.start()], end.end()
        if not line:
            break
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    return HttpAnswer(int(status[1]), headers, out[start:], is_whole=code == 0)


MAX_WAIT = 3600.0  # upper bound: GitHub's limits reset within the hour
MAX_REASON = 200  # characters of an answer that a message quotes
DEFAULT_WAIT = 60.0  # GitHub's advice if no time is given

_BY_STATUS = {
    **dict.fromkeys((401,), ForgeErrorKind.LOGIN),
    **dict.fromkeys((403, 451), ForgeErrorKind.DENIED),
    **dict.fromkeys((301, 302, 307, 308, 404, 410), ForgeErrorKind.MISSING),
    **dict.fromkeys((405, 409, 412, 422, 423), ForgeErrorKind.REFUSED),
    **dict.fromkeys((408,), ForgeErrorKind.UNAVAILABLE),
    **dict.fromkeys((429,), ForgeErrorKind.LIMIT),
}
_BY_TYPE = {
    "NOT_FOUND": ForgeErrorKind.MISSING,
    "FORBIDDEN": ForgeErrorKind.DENIED,
    "INSUFFICIENT_SCOPES": ForgeErrorKind.DENIED,
    "RATE_LIMITED": ForgeErrorKind.LIMIT,
    "RATE_LIMIT": ForgeErrorKind.LIMIT,
    "UNPROCESSABLE": ForgeErrorKind.REFUSED,
    "STALE_DATA": ForgeErrorKind.REFUSED,
    "SERVICE_UNAVAILABLE": ForgeErrorKind.UNAVAILABLE,
    "INTERNAL": ForgeErrorKind.UNAVAILABLE,
    "INTERNAL_ERROR": ForgeErrorKind.UNAVAILABLE,
}
_LIMIT = re.compile(r"rate limit|abuse detection|submitted too quickly", re.IGNORECASE)
_PASSING = re.compile(r"something went wrong|timedout|timed out|try again|loading", re.IGNORECASE)
_SSO = re.compile(r"SAML|single sign-on|\bSSO\b", re.IGNORECASE)
_SCOPES = re.compile(r"\[((?:'[\w:]+'(?:, )?)+)\]")


class ApiRequest(NamedTuple):
    """The request, described for a message."""

    what: str  # `GET repos/acme/widgets/pulls/7`, or a query's name
    host: str


def gh_missing_error() -> ForgeError:
    where = "https://cli.github.com (Debian: apt install gh; macOS: brew install gh)"
    hint = f"install it from {where}, then: gh auth login"
    return ForgeError(ForgeErrorKind.LOGIN, "gh, GitHub's own program, is not installed", hint=hint)


def no_answer_error(request: ApiRequest, code: int | None, reason: str) -> ForgeError:
    """gh ended without an answer."""
    if code == 4 or "gh auth login" in reason:
        return _login(request, f"gh is not logged in to {request.host}")
    if code == 1 or code is None:
        return ForgeError(
            ForgeErrorKind.UNAVAILABLE,
            f"{request.host} cannot be reached ({request.what}): {one_line(reason, MAX_REASON) or 'no answer'}",
            hint=f"gh auth status --hostname {request.host}",
        )
    return ForgeError(
        ForgeErrorKind.UNRECOGNIZED,
        f"gh ended with {code} ({request.what}): {one_line(reason, MAX_REASON)}",
        hint="gh --version",
    )


def http_error(request: ApiRequest, answer: HttpAnswer, now: float) -> ForgeError:
    """An answer with an error status."""
    status, reason = answer.status, _error_reason(answer)
    trouble = ForgeErrorKind.UNAVAILABLE if status >= 500 else _BY_STATUS.get(status, ForgeErrorKind.UNRECOGNIZED)
    message = f"{reason or 'no reason given'} (HTTP {status}, {request.what})"
    if trouble is ForgeErrorKind.LIMIT or (status == 403 and _is_limited(answer, reason)):
        return rate_limit_error(answer, message, now)
    if trouble is ForgeErrorKind.LOGIN:
        return _login(request, f"{request.host} does not take gh's login any more: {message}", status)
    hint, until = None, 0.0
    if trouble is ForgeErrorKind.DENIED:
        hint = _denied_hint(request, answer, reason)
    elif status in (301, 302, 307, 308):
        message = f"the repository has moved: {message}"
        hint = "git remote set-url origin with its new address"
    elif trouble is ForgeErrorKind.MISSING and "/pulls" not in request.what and "/git/" not in request.what:
        hint = f"is the name right, and may this login see it? gh auth status --hostname {request.host}"
    elif trouble is ForgeErrorKind.UNAVAILABLE:
        hint = "https://www.githubstatus.com"
        after = answer.number("retry-after")
        until = now + min(after, MAX_WAIT) if after else 0.0
    return ForgeError(trouble, message, until=until, status=status, hint=hint)


def graphql_error(request: ApiRequest, errors: list[Any], answer: HttpAnswer, now: float) -> ForgeError:
    """The most severe of several errors; transient ones come last."""
    found = [_graphql_error(request, error, answer, now) for error in errors[:100]]
    order = list(ForgeErrorKind)[::-1]  # from ODD up to AWAY
    return min(found, key=lambda error: order.index(error.kind))


def _graphql_error(request: ApiRequest, error: Any, answer: HttpAnswer, now: float) -> ForgeError:
    error = error if isinstance(error, dict) else {"message": str(error)}
    reason = one_line(str(error.get("message", "")), MAX_REASON)
    path = error.get("path")
    where = ".".join(str(part) for part in path[:8]) if isinstance(path, list) else ""
    message = f"{reason or 'no reason given'} ({request.what}{', ' if where else ''}{where})"
    trouble = _graphql_kind(error, reason)
    if trouble is ForgeErrorKind.LIMIT:
        return rate_limit_error(answer, message, now)
    hint = None
    if trouble is ForgeErrorKind.DENIED:
        hint = _denied_hint(request, answer, reason)
    elif trouble is ForgeErrorKind.MISSING and "Repository" in reason:
        hint = f"is the name right, and may this login see it? gh auth status --hostname {request.host}"
    return ForgeError(trouble, message, status=answer.status, hint=hint)


def _graphql_kind(error: dict[str, Any], reason: str) -> ForgeErrorKind:
    kind = error.get("type")
    if isinstance(kind, str) and kind in _BY_TYPE:
        return _BY_TYPE[kind]
    if _LIMIT.search(reason):
        return ForgeErrorKind.LIMIT
    # Untyped: GitHub's "Something went wrong while executing your query" after ten seconds of work.
    return ForgeErrorKind.UNAVAILABLE if kind is None and _PASSING.search(reason) else ForgeErrorKind.UNRECOGNIZED


def rate_limit_error(answer: HttpAnswer, message: str, now: float) -> ForgeError:
    """`until` from Retry-After, else the rate limit's reset if it is used up, else one minute."""
    after, reset = answer.number("retry-after"), answer.number("x-ratelimit-reset")
    until = now + DEFAULT_WAIT
    if after is not None:
        until = now + after
    elif reset is not None and answer.headers.get("x-ratelimit-remaining") == "0":
        until = reset
    until = min(max(until, now), now + MAX_WAIT)
    hint = f"it passes in {max(1, round(until - now))} s; gh api rate_limit shows what is left"
    return ForgeError(
        ForgeErrorKind.LIMIT, f"too many requests: {message}", until=until, status=answer.status, hint=hint
    )


def _is_limited(answer: HttpAnswer, reason: str) -> bool:
    return (
        answer.headers.get("x-ratelimit-remaining") == "0"
        or "retry-after" in answer.headers
        or bool(_LIMIT.search(reason))
    )


def _login(request: ApiRequest, message: str, status: int = 0) -> ForgeError:
    host = "" if request.host == "github.com" else f" --hostname {request.host}"
    return ForgeError(ForgeErrorKind.LOGIN, message, status=status, hint=f"gh auth login{host}")


def _denied_hint(request: ApiRequest, answer: HttpAnswer, reason: str) -> str:
    host = "" if request.host == "github.com" else f" --hostname {request.host}"
    sso = answer.headers.get("x-github-sso", "")
    if sso or _SSO.search(reason):
        url = re.search(r"https://[!-~]+", sso)
        where = f"open {url[0]}" if url else f"gh auth refresh{host}"
        return f"the organisation wants a single sign-on for this login: {where}"
    scopes = _SCOPES.findall(reason)
    if scopes:
        missing = ",".join(re.findall(r"[\w:]+", scopes[-1]))
        return f"gh auth refresh{host} --scopes {missing}"
    return f"whose login is it, and what may it do? gh auth status{host}"


def _error_reason(answer: HttpAnswer) -> str:
    """GitHub's message with its error details."""
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError):
        return one_line(answer.text, MAX_REASON)
    if not isinstance(found, dict):
        return one_line(answer.text, MAX_REASON)
    details = found.get("errors")
    parts = [found.get("message"), *(details[:5] if isinstance(details, list) else [])]
    words = (part.get("message") if isinstance(part, dict) else part for part in parts)
    return one_line(": ".join(str(word) for word in words if isinstance(word, str) and word), 400)

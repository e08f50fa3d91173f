"""From what gh and GitHub say to the trouble it is: what a user reads, and what they can type."""

import json
import re
from typing import Any, NamedTuple

from .forge import ForgeError, Trouble
from .gh_answers import HttpAnswer, shortened

MAX_WAIT = 3600.0  # whatever an answer says: a limit of GitHub's passes within the hour
UNNAMED_WAIT = 60.0  # GitHub's advice where a limit names no time

_BY_STATUS = {
    **dict.fromkeys((401,), Trouble.LOGIN),
    **dict.fromkeys((403, 451), Trouble.DENIED),
    **dict.fromkeys((301, 302, 307, 308, 404, 410), Trouble.MISSING),
    **dict.fromkeys((405, 409, 412, 422, 423), Trouble.REFUSED),
    **dict.fromkeys((408,), Trouble.AWAY),
    **dict.fromkeys((429,), Trouble.LIMIT),
}
_BY_TYPE = {
    "NOT_FOUND": Trouble.MISSING,
    "FORBIDDEN": Trouble.DENIED,
    "INSUFFICIENT_SCOPES": Trouble.DENIED,
    "RATE_LIMITED": Trouble.LIMIT,
    "RATE_LIMIT": Trouble.LIMIT,
    "UNPROCESSABLE": Trouble.REFUSED,
    "STALE_DATA": Trouble.REFUSED,
    "SERVICE_UNAVAILABLE": Trouble.AWAY,
    "INTERNAL": Trouble.AWAY,
    "INTERNAL_ERROR": Trouble.AWAY,
}
_LIMIT = re.compile(r"rate limit|abuse detection|submitted too quickly", re.IGNORECASE)
_PASSING = re.compile(r"something went wrong|timedout|timed out|try again|loading", re.IGNORECASE)
_SSO = re.compile(r"SAML|single sign-on|\bSSO\b", re.IGNORECASE)
_SCOPES = re.compile(r"\[((?:'[\w:]+'(?:, )?)+)\]")


class Asked(NamedTuple):
    """What was asked, in words for a message."""

    what: str  # `GET repos/acme/widgets/pulls/7`, or a query's name
    host: str


def missing_gh() -> ForgeError:
    where = "https://cli.github.com (Debian: apt install gh; macOS: brew install gh)"
    hint = f"install it from {where}, then: gh auth login"
    return ForgeError(Trouble.LOGIN, "gh, GitHub's own program, is not installed", hint=hint)


def silent_trouble(asked: Asked, code: int | None, said: str) -> ForgeError:
    """gh came to no answer."""
    if code == 4 or "gh auth login" in said:
        return _login(asked, f"gh is not logged in to {asked.host}")
    if code == 1 or code is None:
        return ForgeError(
            Trouble.AWAY,
            f"{asked.host} cannot be reached ({asked.what}): {shortened(said) or 'no answer'}",
            hint=f"gh auth status --hostname {asked.host}",
        )
    return ForgeError(Trouble.ODD, f"gh ended with {code} ({asked.what}): {shortened(said)}", hint="gh --version")


def http_trouble(asked: Asked, answer: HttpAnswer, now: float) -> ForgeError:
    """An answer that is no success."""
    status, said = answer.status, _said(answer)
    trouble = Trouble.AWAY if status >= 500 else _BY_STATUS.get(status, Trouble.ODD)
    message = f"{said or 'no reason given'} (HTTP {status}, {asked.what})"
    if trouble is Trouble.LIMIT or (status == 403 and _is_limited(answer, said)):
        return limit(answer, message, now)
    if trouble is Trouble.LOGIN:
        return _login(asked, f"{asked.host} does not take gh's login any more: {message}", status)
    hint, until = None, 0.0
    if trouble is Trouble.DENIED:
        hint = _denied_hint(asked, answer, said)
    elif status in (301, 302, 307, 308):
        message = f"the repository has moved: {message}"
        hint = "git remote set-url origin with its new address"
    elif trouble is Trouble.MISSING and "/pulls" not in asked.what and "/git/" not in asked.what:
        hint = f"is the name right, and may this login see it? gh auth status --hostname {asked.host}"
    elif trouble is Trouble.AWAY:
        hint = "https://www.githubstatus.com"
        after = answer.number("retry-after")
        until = now + min(after, MAX_WAIT) if after else 0.0
    return ForgeError(trouble, message, until=until, status=status, hint=hint)


def graphql_trouble(asked: Asked, errors: list[Any], answer: HttpAnswer, now: float) -> ForgeError:
    """The worst of several: what passes by itself comes last."""
    found = [_graphql_error(asked, error, answer, now) for error in errors[:100]]
    order = list(Trouble)[::-1]  # from ODD up to AWAY
    return min(found, key=lambda error: order.index(error.trouble))


def _graphql_error(asked: Asked, error: Any, answer: HttpAnswer, now: float) -> ForgeError:
    error = error if isinstance(error, dict) else {"message": str(error)}
    said = shortened(str(error.get("message", "")))
    path = error.get("path")
    where = ".".join(str(part) for part in path[:8]) if isinstance(path, list) else ""
    message = f"{said or 'no reason given'} ({asked.what}{', ' if where else ''}{where})"
    trouble = _graphql_kind(error, said)
    if trouble is Trouble.LIMIT:
        return limit(answer, message, now)
    hint = None
    if trouble is Trouble.DENIED:
        hint = _denied_hint(asked, answer, said)
    elif trouble is Trouble.MISSING and "Repository" in said:
        hint = f"is the name right, and may this login see it? gh auth status --hostname {asked.host}"
    return ForgeError(trouble, message, status=answer.status, hint=hint)


def _graphql_kind(error: dict[str, Any], said: str) -> Trouble:
    kind = error.get("type")
    if isinstance(kind, str) and kind in _BY_TYPE:
        return _BY_TYPE[kind]
    if _LIMIT.search(said):
        return Trouble.LIMIT
    # Without a type: GitHub's "Something went wrong while executing your query" after ten seconds of work.
    return Trouble.AWAY if kind is None and _PASSING.search(said) else Trouble.ODD


def limit(answer: HttpAnswer, message: str, now: float) -> ForgeError:
    """`until` from Retry-After, else from the hour's reset where nothing is left of it, else a minute."""
    after, reset = answer.number("retry-after"), answer.number("x-ratelimit-reset")
    until = now + UNNAMED_WAIT
    if after is not None:
        until = now + after
    elif reset is not None and answer.headers.get("x-ratelimit-remaining") == "0":
        until = reset
    until = min(max(until, now), now + MAX_WAIT)
    hint = f"it passes in {max(1, round(until - now))} s; gh api rate_limit shows what is left"
    return ForgeError(Trouble.LIMIT, f"too many requests: {message}", until=until, status=answer.status, hint=hint)


def _is_limited(answer: HttpAnswer, said: str) -> bool:
    return (
        answer.headers.get("x-ratelimit-remaining") == "0"
        or "retry-after" in answer.headers
        or bool(_LIMIT.search(said))
    )


def _login(asked: Asked, message: str, status: int = 0) -> ForgeError:
    host = "" if asked.host == "github.com" else f" --hostname {asked.host}"
    return ForgeError(Trouble.LOGIN, message, status=status, hint=f"gh auth login{host}")


def _denied_hint(asked: Asked, answer: HttpAnswer, said: str) -> str:
    host = "" if asked.host == "github.com" else f" --hostname {asked.host}"
    sso = answer.headers.get("x-github-sso", "")
    if sso or _SSO.search(said):
        url = re.search(r"https://[!-~]+", sso)
        where = f"open {url[0]}" if url else f"gh auth refresh{host}"
        return f"the organisation wants a single sign-on for this login: {where}"
    scopes = _SCOPES.findall(said)
    if scopes:
        missing = ",".join(re.findall(r"[\w:]+", scopes[-1]))
        return f"gh auth refresh{host} --scopes {missing}"
    return f"whose login is it, and what may it do? gh auth status{host}"


def _said(answer: HttpAnswer) -> str:
    """GitHub's own reason, with the details that stand beside it."""
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError):
        return shortened(answer.text)
    if not isinstance(found, dict):
        return shortened(answer.text)
    details = found.get("errors")
    parts = [found.get("message"), *(details[:5] if isinstance(details, list) else [])]
    words = (part.get("message") if isinstance(part, dict) else part for part in parts)
    return shortened(": ".join(str(word) for word in words if isinstance(word, str) and word), 400)

"""GitHub's REST on the simulator: the few endpoints that are used, each by its path."""

import re
from urllib.parse import unquote

from ..records import refuse
from . import rest_branches, rest_pulls
from . import rest_shapes as shapes
from .asks import Ask, Reply
from .rest_branches import blob


def _user(ask: Ask) -> Reply:
    return Reply(200, shapes.user(ask.model.person(ask.viewer)))


def _repository(ask: Ask) -> Reply:
    return Reply(200, shapes.repository(ask.model, ask.viewer))


def route(method: str, path: str, ask: Ask) -> Reply:
    """The path as it was sent, with `%2F` still in it."""
    kept = ask.model.repository
    if method == "GET" and path == "/user":
        return _user(ask)
    found = re.fullmatch(r"/jobs/(\d+)", path)
    if found:
        return blob(ask._replace(parts=found.groups()))
    place = re.fullmatch(r"/repos/([^/]+)/([^/]+)(?:/(.*))?", path)
    if place is None:
        refuse(404, f"SIMULATOR: unmodelled {method} {path}")
    if (place[1].lower(), place[2].lower()) != (kept.owner.lower(), kept.name.lower()):
        refuse(404, "Not Found", "NOT_FOUND")
    if not place[3]:
        return _repository(ask)
    for known, pattern, handler in (*rest_pulls.ROUTES, *rest_branches.ROUTES):
        found = re.fullmatch(pattern, place[3])
        if known == method and found:
            return handler(ask._replace(parts=tuple(map(unquote, found.groups()))))
    return Reply(404, {"message": f"SIMULATOR: unmodelled {method} {path}"})

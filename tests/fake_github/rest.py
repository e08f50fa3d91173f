"""Routes REST requests to the few endpoints that we use."""

import re
from urllib.parse import unquote

from bmad_autopilot.sim.github.records import refuse
from tests.fake_github import rest_branches, rest_pulls
from tests.fake_github import rest_shapes as shapes
from tests.fake_github.rest_branches import blob
from tests.fake_github.rest_request import RestReply, RestRequest


def _user(request: RestRequest) -> RestReply:
    return RestReply(200, shapes.user(request.model.person(request.viewer)))


def _repository(request: RestRequest) -> RestReply:
    return RestReply(200, shapes.repository(request.model, request.viewer))


def route(method: str, path: str, request: RestRequest) -> RestReply:
    """`path` as sent, with `%2F` not decoded."""
    repository = request.model.repository
    if method == "GET" and path == "/user":
        return _user(request)
    found = re.fullmatch(r"/jobs/(\d+)", path)
    if found:
        return blob(request._replace(parts=found.groups()))
    repository_path = re.fullmatch(r"/repos/([^/]+)/([^/]+)(?:/(.*))?", path)
    if repository_path is None:
        refuse(404, f"SIMULATOR: unmodelled {method} {path}")
    if (repository_path[1].lower(), repository_path[2].lower()) != (
        repository.owner.lower(),
        repository.name.lower(),
    ):
        refuse(404, "Not Found", "NOT_FOUND")
    if not repository_path[3]:
        return _repository(request)
    for known, pattern, handler in (*rest_pulls.ROUTES, *rest_branches.ROUTES):
        found = re.fullmatch(pattern, repository_path[3])
        if known == method and found:
            return handler(request._replace(parts=tuple(map(unquote, found.groups()))))
    return RestReply(404, {"message": f"SIMULATOR: unmodelled {method} {path}"})

"""REST endpoints for pull requests."""

from bmad_autopilot.github.forge import COPILOT, NewPull, ReviewState
from bmad_autopilot.sim.github import merge, reviews
from tests.fake_github import rest_shapes as shapes
from tests.fake_github.rest_request import RestReply, RestRequest, Routes

_EVENTS = {
    "APPROVE": ReviewState.APPROVED,
    "REQUEST_CHANGES": ReviewState.CHANGES,
    "COMMENT": ReviewState.COMMENTED,
}


def _list_pulls(request: RestRequest) -> RestReply:
    state, head = request.query.get("state", "open"), request.query.get("head", "").partition(":")[2]
    chosen = [
        one
        for one in sorted(request.model.pulls.values(), key=lambda one: -one.number)
        if state in ("all", "open" if one.is_open else "closed")
        and head in ("", one.head_ref)
        and request.query.get("base") in (None, one.base_ref)
    ]
    return RestReply(200, [shapes.pull(request.model, one) for one in chosen])


def _open_pull(request: RestRequest) -> RestReply:
    head = request.body["head"].rpartition(":")[2]
    order = NewPull(head, request.body["base"], request.body["title"], request.body.get("body") or "")
    made = request.model.open_pull(order._replace(is_draft=bool(request.body.get("draft"))), by=request.viewer)
    return RestReply(201, shapes.pull(request.model, made))


def _pull(request: RestRequest) -> RestReply:
    return RestReply(200, shapes.pull(request.model, request.model.pull(request.number)))


def _edit_pull(request: RestRequest) -> RestReply:
    if request.body.get("state") == "closed":
        request.model.close_pull(request.number, by=request.viewer)
    elif request.body.get("state") == "open":
        request.model.reopen_pull(request.number, by=request.viewer)
    title, text, base = (request.body.get(name) for name in ("title", "body", "base"))
    if (title, text, base) != (None, None, None):
        request.model.edit_pull(request.number, title=title, body=text, base_ref=base, by=request.viewer)
    return _pull(request)


def _merge(request: RestRequest) -> RestReply:
    subject, body = request.body.get("commit_title") or "", request.body.get("commit_message") or ""
    method = request.body.get("merge_method") or "merge"
    head = request.body.get("sha") or ""
    message = {"subject": subject, "body": body, "method": method, "by": request.viewer}
    sha = merge.merge(request.model, request.number, head, **message)
    return RestReply(200, {"sha": sha, "merged": True, "message": "Pull Request successfully merged"})


def _files(request: RestRequest) -> RestReply:
    pull = request.model.pull(request.number)
    base = pull.merged_base or request.model.refs.head_of(pull.base_ref)
    return RestReply(200, shapes.files(request.model, base, pull.head))


def _compare(request: RestRequest) -> RestReply:
    return RestReply(200, {"files": shapes.files(request.model, *request.parts)})


def _request(request: RestRequest) -> RestReply:
    logins = [login.removesuffix("[bot]") for login in request.body.get("reviewers", [])]
    named = [COPILOT if login.lower() == "copilot" else login for login in logins]
    reviews.request_reviews(request.model, request.number, named, by=request.viewer)
    return RestReply(201, shapes.pull(request.model, request.model.pull(request.number)))


def _list_reviews(request: RestRequest) -> RestReply:
    return RestReply(200, [shapes.review(one) for one in request.model.pull(request.number).reviews])


def _review(request: RestRequest) -> RestReply:
    state = _EVENTS[request.body.get("event", "COMMENT")]
    head, body = request.body.get("commit_id") or "", request.body.get("body") or ""
    return RestReply(
        200,
        shapes.review(
            reviews.review(request.model, request.number, state, by=request.viewer, body=body, head=head)
        ),
    )


def _dismiss(request: RestRequest) -> RestReply:
    reviews.dismiss(
        request.model, request.number, int(request.parts[1]), request.body["message"], by=request.viewer
    )
    return RestReply(200, {"id": int(request.parts[1]), "state": "DISMISSED"})


def _labels(request: RestRequest) -> RestReply:
    request.model.add_labels(request.number, list(request.body["labels"]), by=request.viewer)
    return RestReply(200, [{"name": label} for label in request.model.pull(request.number).labels])


def _comment(request: RestRequest) -> RestReply:
    made = reviews.comment(request.model, request.number, request.body["body"], by=request.viewer)
    return RestReply(201, shapes.comment(made))


def _comments(request: RestRequest) -> RestReply:
    return RestReply(200, [shapes.comment(one) for one in request.model.pull(request.number).comments])


ROUTES: Routes = [
    ("GET", "pulls", _list_pulls),
    ("POST", "pulls", _open_pull),
    ("GET", r"pulls/(\d+)", _pull),
    ("PATCH", r"pulls/(\d+)", _edit_pull),
    ("PUT", r"pulls/(\d+)/merge", _merge),
    ("GET", r"pulls/(\d+)/files", _files),
    ("POST", r"pulls/(\d+)/requested_reviewers", _request),
    ("GET", r"pulls/(\d+)/reviews", _list_reviews),
    ("POST", r"pulls/(\d+)/reviews", _review),
    ("PUT", r"pulls/(\d+)/reviews/(\d+)/dismissals", _dismiss),
    ("POST", r"issues/(\d+)/labels", _labels),
    ("POST", r"issues/(\d+)/comments", _comment),
    ("GET", r"issues/(\d+)/comments", _comments),
    ("GET", r"compare/(.+)\.\.\.(.+)", _compare),
]

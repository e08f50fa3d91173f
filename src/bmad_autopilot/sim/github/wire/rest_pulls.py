"""Pull requests by REST."""

from ....github.forge import COPILOT
from ....github.pulls import PullOrder, ReviewState
from .. import joining, reviewing
from . import rest_shapes as shapes
from .asks import Ask, Reply, Routes

_EVENTS = {
    "APPROVE": ReviewState.APPROVED,
    "REQUEST_CHANGES": ReviewState.CHANGES,
    "COMMENT": ReviewState.COMMENTED,
}


def _list_pulls(ask: Ask) -> Reply:
    state, head = ask.query.get("state", "open"), ask.query.get("head", "").partition(":")[2]
    chosen = [
        one
        for one in sorted(ask.model.pulls.values(), key=lambda one: -one.number)
        if state in ("all", "open" if one.is_open else "closed")
        and head in ("", one.head_ref)
        and ask.query.get("base") in (None, one.base_ref)
    ]
    return Reply(200, [shapes.pull(ask.model, one) for one in chosen])


def _open_pull(ask: Ask) -> Reply:
    head = ask.body["head"].rpartition(":")[2]
    order = PullOrder(head, ask.body["base"], ask.body["title"], ask.body.get("body") or "")
    made = ask.model.open_pull(order._replace(is_draft=bool(ask.body.get("draft"))), by=ask.viewer)
    return Reply(201, shapes.pull(ask.model, made))


def _pull(ask: Ask) -> Reply:
    return Reply(200, shapes.pull(ask.model, ask.model.pull(ask.number)))


def _edit_pull(ask: Ask) -> Reply:
    if ask.body.get("state") == "closed":
        ask.model.close_pull(ask.number, by=ask.viewer)
    elif ask.body.get("state") == "open":
        ask.model.reopen_pull(ask.number, by=ask.viewer)
    title, text, base = (ask.body.get(name) for name in ("title", "body", "base"))
    if (title, text, base) != (None, None, None):
        ask.model.edit_pull(ask.number, title=title, body=text, base_ref=base, by=ask.viewer)
    return _pull(ask)


def _merge(ask: Ask) -> Reply:
    subject, body = ask.body.get("commit_title") or "", ask.body.get("commit_message") or ""
    method = ask.body.get("merge_method") or "merge"
    head = ask.body.get("sha") or ""
    told = {"subject": subject, "body": body, "method": method, "by": ask.viewer}
    sha = joining.merge(ask.model, ask.number, head, **told)
    return Reply(200, {"sha": sha, "merged": True, "message": "Pull Request successfully merged"})


def _files(ask: Ask) -> Reply:
    pull = ask.model.pull(ask.number)
    base = pull.merged_base or ask.model.refs.head_of(pull.base_ref)
    return Reply(200, shapes.files(ask.model, base, pull.head))


def _compare(ask: Ask) -> Reply:
    return Reply(200, {"files": shapes.files(ask.model, *ask.parts)})


def _request(ask: Ask) -> Reply:
    logins = [login.removesuffix("[bot]") for login in ask.body.get("reviewers", [])]
    named = [COPILOT if login.lower() == "copilot" else login for login in logins]
    reviewing.request(ask.model, ask.number, named, by=ask.viewer)
    return Reply(201, shapes.pull(ask.model, ask.model.pull(ask.number)))


def _list_reviews(ask: Ask) -> Reply:
    return Reply(200, [shapes.review(one) for one in ask.model.pull(ask.number).reviews])


def _review(ask: Ask) -> Reply:
    state = _EVENTS[ask.body.get("event", "COMMENT")]
    head, body = ask.body.get("commit_id") or "", ask.body.get("body") or ""
    return Reply(
        200, shapes.review(reviewing.review(ask.model, ask.number, state, by=ask.viewer, body=body, head=head))
    )


def _dismiss(ask: Ask) -> Reply:
    reviewing.dismiss(ask.model, ask.number, int(ask.parts[1]), ask.body["message"], by=ask.viewer)
    return Reply(200, {"id": int(ask.parts[1]), "state": "DISMISSED"})


def _labels(ask: Ask) -> Reply:
    ask.model.add_labels(ask.number, list(ask.body["labels"]), by=ask.viewer)
    return Reply(200, [{"name": label} for label in ask.model.pull(ask.number).labels])


def _comment(ask: Ask) -> Reply:
    made = reviewing.comment(ask.model, ask.number, ask.body["body"], by=ask.viewer)
    return Reply(201, shapes.comment(made))


def _comments(ask: Ask) -> Reply:
    return Reply(200, [shapes.comment(one) for one in ask.model.pull(ask.number).comments])


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

"""Branches, files and jobs by REST."""

import base64

from .. import checking
from ..records import Protection, refuse
from .asks import Ask, Reply, Routes
from .values import stamp

BLOBS = "https://blobs.actions.example"


def _ref(ask: Ask) -> Reply:
    sha = ask.model.refs.head_of(ask.parts[0])
    if not sha:
        refuse(404, "Not Found", "NOT_FOUND")
    return Reply(200, {"ref": f"refs/heads/{ask.parts[0]}", "object": {"sha": sha, "type": "commit"}})


def _delete_ref(ask: Ask) -> Reply:
    ask.model.delete_branch(ask.parts[0], by=ask.viewer)
    return Reply(204)


def _protection(ask: Ask) -> Reply:
    rules = ask.model.repository.protection(ask.parts[0])
    if rules == Protection():
        refuse(404, "Branch not protected", "NOT_FOUND")
    return Reply(
        200,
        {
            "required_status_checks": {"strict": rules.strict, "contexts": list(rules.checks)},
            "required_pull_request_reviews": {
                "required_approving_review_count": rules.approvals,
                "dismiss_stale_reviews": rules.dismiss_stale,
            },
            "required_linear_history": {"enabled": rules.linear},
            "required_conversation_resolution": {"enabled": rules.conversations},
        },
    )


def _contents(ask: Ask) -> Reply:
    branch = ask.query.get("ref") or ask.model.repository.default_branch
    data = ask.model.refs.read(ask.model.refs.head_of(branch) or branch, ask.parts[0])
    if data is None:
        refuse(404, "Not Found", "NOT_FOUND")
    if "raw" in ask.accept:
        return Reply(200, data)
    return Reply(200, {"path": ask.parts[0], "encoding": "base64", "content": base64.b64encode(data).decode()})


def _activity(ask: Ask) -> Reply:
    branch = ask.query.get("ref", "").removeprefix("refs/heads/")
    pushes = [one for one in ask.model.effects.of("push") if one.data["branch"] == branch]
    return Reply(
        200,
        [
            {"before": one.data["before"], "after": one.data["after"], "timestamp": stamp(one.at), "ref": branch}
            for one in reversed(pushes)
        ],
    )


# actions


def _log(ask: Ask) -> Reply:
    check = checking.job(ask.model, ask.number)
    if check.status != "completed":
        refuse(404, "Not Found", "NOT_FOUND")
    return Reply(302, headers={"Location": f"{BLOBS}/jobs/{check.id}"})


def blob(ask: Ask) -> Reply:
    return Reply(200, checking.job(ask.model, ask.number).log)


def _rerun_failed(ask: Ask) -> Reply:
    checking.rerun(ask.model, ask.number, by=ask.viewer)
    return Reply(201, {})


def _permissions(ask: Ask) -> Reply:
    allowed = ask.model.repository.actions_approve
    return Reply(200, {"default_workflow_permissions": "read", "can_approve_pull_request_reviews": allowed})


def _dispatch(ask: Ask) -> Reply:
    inputs = {str(name): str(value) for name, value in dict(ask.body.get("inputs") or {}).items()}
    ask.model.dispatch(ask.parts[0], inputs, by=ask.viewer)
    return Reply(204)


ROUTES: Routes = [
    ("GET", r"git/refs?/heads/(.+)", _ref),
    ("DELETE", r"git/refs?/heads/(.+)", _delete_ref),
    ("GET", r"branches/(.+)/protection", _protection),
    ("GET", r"contents/(.+)", _contents),
    ("GET", "activity", _activity),
    ("GET", r"actions/jobs/(\d+)/logs", _log),
    ("POST", r"actions/runs/(\d+)/rerun-failed-jobs", _rerun_failed),
    ("GET", "actions/permissions/workflow", _permissions),
    ("POST", r"actions/workflows/([^/]+)/dispatches", _dispatch),
]

"""REST endpoints for branches, files and Actions jobs."""

import base64

from bmad_autopilot.sim.github import checks
from bmad_autopilot.sim.github.records import Protection, refuse
from tests.fake_github.graphql_values import format_time
from tests.fake_github.rest_request import RestReply, RestRequest, Routes

BLOBS = "https://blobs.actions.example"


def _ref(request: RestRequest) -> RestReply:
    sha = request.model.refs.head_of(request.parts[0])
    if not sha:
        refuse(404, "Not Found", "NOT_FOUND")
    return RestReply(200, {"ref": f"refs/heads/{request.parts[0]}", "object": {"sha": sha, "type": "commit"}})


def _delete_ref(request: RestRequest) -> RestReply:
    request.model.delete_branch(request.parts[0], by=request.viewer)
    return RestReply(204)


def _protection(request: RestRequest) -> RestReply:
    rules = request.model.repository.protection(request.parts[0])
    if rules == Protection():
        refuse(404, "Branch not protected", "NOT_FOUND")
    return RestReply(
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


def _contents(request: RestRequest) -> RestReply:
    branch = request.query.get("ref") or request.model.repository.default_branch
    data = request.model.refs.read(request.model.refs.head_of(branch) or branch, request.parts[0])
    if data is None:
        refuse(404, "Not Found", "NOT_FOUND")
    if "raw" in request.accept:
        return RestReply(200, data)
    return RestReply(
        200, {"path": request.parts[0], "encoding": "base64", "content": base64.b64encode(data).decode()}
    )


def _activity(request: RestRequest) -> RestReply:
    branch = request.query.get("ref", "").removeprefix("refs/heads/")
    pushes = [one for one in request.model.effects.select("push") if one.data["branch"] == branch]
    return RestReply(
        200,
        [
            {
                "before": one.data["before"],
                "after": one.data["after"],
                "timestamp": format_time(one.at),
                "ref": branch,
            }
            for one in reversed(pushes)
        ],
    )


# actions


def _log(request: RestRequest) -> RestReply:
    check = checks.find_job(request.model, request.number)
    if check.status != "completed":
        refuse(404, "Not Found", "NOT_FOUND")
    return RestReply(302, headers={"Location": f"{BLOBS}/jobs/{check.id}"})


def blob(request: RestRequest) -> RestReply:
    return RestReply(200, checks.find_job(request.model, request.number).log)


def _rerun_failed(request: RestRequest) -> RestReply:
    checks.rerun_failed(request.model, request.number, by=request.viewer)
    return RestReply(201, {})


def _permissions(request: RestRequest) -> RestReply:
    allowed = request.model.repository.actions_approve
    return RestReply(200, {"default_workflow_permissions": "read", "can_approve_pull_request_reviews": allowed})


def _dispatch(request: RestRequest) -> RestReply:
    inputs = {str(name): str(value) for name, value in dict(request.body.get("inputs") or {}).items()}
    request.model.dispatch(request.parts[0], inputs, by=request.viewer)
    return RestReply(204)


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

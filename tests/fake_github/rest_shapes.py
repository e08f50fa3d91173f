"""Renders the simulator's records as GitHub's REST objects, with the fields that we and gh read."""

import difflib
from typing import Any

from bmad_autopilot.github.forge import ForgeActor
from bmad_autopilot.sim.github import merge
from bmad_autopilot.sim.github.forge_view import url_of
from bmad_autopilot.sim.github.model import SimGitHub
from bmad_autopilot.sim.github.records import SimComment, SimPull, SimReview
from tests.fake_github.graphql_values import format_time


def user(actor: ForgeActor) -> dict[str, Any]:
    login = f"{actor.login}[bot]" if actor.is_bot else actor.login
    return {"login": login, "type": "Bot" if actor.is_bot else "User"}


def repository(model: SimGitHub, viewer: str) -> dict[str, Any]:
    kept = model.repository
    can_push = viewer in model.writers
    return {
        "id": 1,
        "node_id": "R_1",
        "name": kept.name,
        "full_name": kept.full_name,
        "owner": {"login": kept.owner},
        "default_branch": kept.default_branch,
        "archived": kept.is_archived,
        "fork": bool(kept.parent),
        "parent": {"full_name": kept.parent} if kept.parent else None,
        "permissions": {"pull": True, "push": can_push, "admin": False},
        "allow_squash_merge": kept.squash_allowed,
        "delete_branch_on_merge": kept.deletes_branches,
    }


def pull(model: SimGitHub, one: SimPull) -> dict[str, Any]:
    can = merge.mergeable_state(model, one)
    return {
        "number": one.number,
        "node_id": one.id,
        "html_url": url_of(model, one),
        "state": "open" if one.is_open else "closed",
        "merged": bool(one.merged_at),
        "merged_at": format_time(one.merged_at),
        "merge_commit_sha": one.merged_as or None,
        "draft": one.is_draft,
        "title": one.title,
        "body": one.body,
        "user": user(one.author),
        "author_association": one.author.association,
        "created_at": format_time(one.created),
        "updated_at": format_time(one.updated),
        "mergeable": {"MERGEABLE": True, "CONFLICTING": False}.get(can),
        "mergeable_state": merge.merge_state(model, one).lower(),
        "labels": [{"name": label} for label in one.labels],
        "requested_reviewers": [user(model.person(login)) for login in one.requested],
        "head": {"ref": one.head_ref, "sha": one.head, "label": f"{model.repository.owner}:{one.head_ref}"},
        "base": {"ref": one.base_ref, "sha": model.refs.head_of(one.base_ref)},
    }


def review(one: SimReview) -> dict[str, Any]:
    return {
        "id": one.number,
        "node_id": one.id,
        "user": user(one.author),
        "state": str(one.state),
        "body": one.body,
        "commit_id": one.commit,
        "submitted_at": format_time(one.at),
        "author_association": one.author.association,
    }


def comment(one: SimComment) -> dict[str, Any]:
    return {
        "id": one.number,
        "node_id": one.id,
        "user": user(one.author),
        "body": one.body,
        "created_at": format_time(one.at),
        "author_association": one.author.association,
    }


def files(model: SimGitHub, base: str, head: str) -> list[dict[str, Any]]:
    """Renames appear as a removal and an addition."""
    start = model.refs.merge_base(base, head)
    found = []
    for path in model.refs.changed(base, head):
        old, new = model.refs.read(start, path) if start else None, model.refs.read(head, path)
        status = "added" if old is None else "removed" if new is None else "modified"
        found.append({"filename": path, "status": status, "patch": _patch(old or b"", new or b"")})
    return found


def _patch(old: bytes, new: bytes) -> str:
    before, after = (text.decode(errors="replace").splitlines() for text in (old, new))
    return "\n".join(list(difflib.unified_diff(before, after, lineterm=""))[2:])

"""The simulated GitHub's records as pulls.py words them."""

from hashlib import sha256

from ...github.pulls import Comment, Pull, PullMark, RemoteCheck, Repository, Review, Thread
from . import checking, joining, reviewing
from .model import VIEWER, SimGitHub
from .records import SimComment, SimPull, SimReview, SimThread

LAST_COMMENTS = 100


def show_repository(model: SimGitHub, viewer: str = VIEWER) -> Repository:
    kept = model.repository
    return Repository(
        kept.owner,
        kept.name,
        "R_1",
        kept.default_branch,
        viewer in model.writers,
        is_archived=kept.is_archived,
        is_fork=bool(kept.parent),
        parent=kept.parent,
        squash_allowed=kept.squash_allowed,
        deletes_branches=kept.deletes_branches,
        viewer=viewer,
    )


def url_of(model: SimGitHub, pull: SimPull) -> str:
    return f"https://github.com/{model.repository.full_name}/pull/{pull.number}"


def show_mark(model: SimGitHub, pull: SimPull) -> PullMark:
    return PullMark(
        pull.number,
        pull.state,
        pull.head_ref,
        pull.base_ref,
        pull.head,
        fingerprint(model, pull),
        pull.title,
        url_of(model, pull),
        pull.is_draft,
        pull.is_foreign,
    )


def fingerprint(model: SimGitHub, pull: SimPull) -> str:
    parts = (
        (pull.head, pull.base_ref, model.refs.head_of(pull.base_ref), pull.state, pull.is_draft, pull.is_queued),
        tuple((check.id, check.status, check.conclusion) for check in checking.of_head(model, pull.head)),
        tuple((review.id, review.state) for review in pull.reviews),
        tuple((thread.id, thread.is_resolved, len(thread.comments)) for thread in pull.threads),
        (tuple(pull.labels), tuple(pull.requested), len(pull.comments), joining.mergeable(model, pull)),
    )
    return sha256(repr(parts).encode()).hexdigest()[:16]


def show_pull(model: SimGitHub, pull: SimPull) -> Pull:
    return Pull(
        pull.number,
        pull.id,
        url_of(model, pull),
        pull.state,
        pull.title,
        pull.head_ref,
        pull.head,
        pull.base_ref,
        model.refs.head_of(pull.base_ref),
        pull.author,
        pull.created,
        pull.pushed,
        is_draft=pull.is_draft,
        is_foreign=pull.is_foreign,
        mergeable=joining.mergeable(model, pull),
        merge_state=joining.merge_state(model, pull),
        decision=reviewing.decision(model, pull),
        merged_as=pull.merged_as,
        merged_at=pull.merged_at,
        is_queued=pull.is_queued,
        needs_queue=model.repository.protection(pull.base_ref).queue,
        body=pull.body,
        labels=tuple(pull.labels),
        requested=tuple(pull.requested),
        reviews=tuple(map(_review, pull.reviews)),
        threads=tuple(map(_thread, pull.threads)),
        checks=show_checks(model, pull),
        comments=tuple(map(_comment, pull.comments[-LAST_COMMENTS:])),
        fingerprint=fingerprint(model, pull),
    )


def show_checks(model: SimGitHub, pull: SimPull) -> tuple[RemoteCheck, ...]:
    required = model.repository.protection(pull.base_ref).checks
    return tuple(
        RemoteCheck(
            check.name,
            checking.state_of(check),
            required=check.name in required,
            workflow=check.workflow,
            app=check.app,
            job=0 if check.is_status else check.id,
            run=check.run,
            started=check.started,
            ended=check.ended,
        )
        for check in checking.of_head(model, pull.head)
    )


def _review(review: SimReview) -> Review:
    return Review(review.id, review.author, review.state, review.commit, review.at, review.body, review.number)


def _thread(thread: SimThread) -> Thread:
    comments = tuple(map(_comment, thread.comments))
    place = (thread.id, thread.path, thread.line, thread.hunk, comments)
    return Thread(*place, thread.is_resolved, thread.is_outdated, thread.anchor)


def _comment(comment: SimComment) -> Comment:
    return Comment(comment.id, comment.author, comment.body, comment.at)

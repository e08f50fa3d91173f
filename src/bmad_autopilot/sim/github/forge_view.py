"""Converts the simulated GitHub's records into those of github/forge.py."""

from hashlib import sha256

from ...github.forge import Pull, PullComment, PullReview, PullSummary, RemoteCheck, Repository, ReviewThread
from . import checks, merge, reviews
from .model import VIEWER, SimGitHub
from .records import SimComment, SimPull, SimReview, SimThread

LAST_COMMENTS = 100


def show_repository(model: SimGitHub, viewer: str = VIEWER) -> Repository:
    repository = model.repository
    return Repository(
        repository.owner,
        repository.name,
        "R_1",
        repository.default_branch,
        viewer in model.writers,
        is_archived=repository.is_archived,
        is_fork=bool(repository.parent),
        parent=repository.parent,
        squash_allowed=repository.squash_allowed,
        deletes_branches=repository.deletes_branches,
        viewer=viewer,
    )


def url_of(model: SimGitHub, pull: SimPull) -> str:
    return f"https://github.com/{model.repository.full_name}/pull/{pull.number}"


def show_mark(model: SimGitHub, pull: SimPull) -> PullSummary:
    return PullSummary(
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
        tuple((check.id, check.status, check.conclusion) for check in checks.latest_checks(model, pull.head)),
        tuple((review.id, review.state) for review in pull.reviews),
        tuple((thread.id, thread.is_resolved, len(thread.comments)) for thread in pull.threads),
        (tuple(pull.labels), tuple(pull.requested), len(pull.comments), merge.mergeable_state(model, pull)),
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
        is_from_fork=pull.is_foreign,
        mergeable=merge.mergeable_state(model, pull),
        merge_state=merge.merge_state(model, pull),
        decision=reviews.decision(model, pull),
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
            checks.state_of(check),
            required=check.name in required,
            workflow=check.workflow,
            app=check.app,
            job=0 if check.is_status else check.id,
            run=check.run,
            started=check.started,
            ended=check.ended,
        )
        for check in checks.latest_checks(model, pull.head)
    )


def _review(review: SimReview) -> PullReview:
    return PullReview(review.id, review.author, review.state, review.commit, review.at, review.body, review.number)


def _thread(thread: SimThread) -> ReviewThread:
    comments = tuple(map(_comment, thread.comments))
    fields = (thread.id, thread.path, thread.line, thread.hunk, comments)
    return ReviewThread(*fields, thread.is_resolved, thread.is_outdated, thread.anchor)


def _comment(comment: SimComment) -> PullComment:
    return PullComment(comment.id, comment.author, comment.body, comment.at)

"""A pull request as the forge's door tells it, put before the rules that the auto-approve workflow has too."""

from collections.abc import Sequence

from .approval import GATE_WORKFLOW, CheckFact, ReviewFact, Situation
from .pulls import Pull, RemoteCheck, Review


def evaluate(
    pull: Pull, now: float, files: Sequence[str], *, content: Sequence[str] = (), pushed: float = 0.0
) -> Situation:
    """`content`: earlier heads that differ from this one by clean merges of the base alone, which git can tell;
    `pushed`: when the first of them came. Without them every push is content."""
    return Situation(
        now=now,
        head=pull.head,
        pushed=pushed or pull.pushed,
        arrived=pull.pushed,
        head_ref=pull.head_ref,
        state=pull.state.value,
        is_draft=pull.is_draft,
        is_foreign=pull.is_foreign,
        unresolved=sum(not thread.is_resolved for thread in pull.threads),
        content=(pull.head, *content),
        checks=tuple(map(check_fact, pull.checks)),
        reviews=tuple(map(review_fact, pull.reviews)),
        files=tuple(files),
    )


def check_fact(check: RemoteCheck) -> CheckFact:
    return CheckFact(check.name, check.state.value, check.required, is_own=check.workflow == GATE_WORKFLOW)


def review_fact(review: Review) -> ReviewFact:
    author = review.author
    return ReviewFact(
        author.login,
        author.is_bot,
        author.association,
        review.state.value,
        review.commit,
        review.at,
        review.number,
    )

"""What a push does to what was said before it."""

from ...github.pulls import ReviewState
from .merging import moved_line
from .records import SimPull
from .refs import Refs


def follow(refs: Refs, pull: SimPull) -> None:
    """Threads go where their lines go; one whose line was changed is outdated, for good."""
    for thread in pull.threads:
        if thread.line is None:
            continue
        before, after = refs.read(thread.anchor, thread.path), refs.read(pull.head, thread.path)
        line = None if before is None or after is None else moved_line(before, after, thread.original_line)
        thread.line, thread.is_outdated = line, line is None


def dismiss_approvals(pull: SimPull) -> None:
    for review in pull.reviews:
        if review.state is ReviewState.APPROVED:
            review.state = ReviewState.DISMISSED

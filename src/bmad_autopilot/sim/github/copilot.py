"""Copilot on the simulated GitHub: it comments, some time after it was asked, and never approves."""

from collections.abc import Callable, Sequence

from ...github.forge import COPILOT
from ...github.pulls import ReviewState
from . import reviewing
from .model import SimGitHub
from .records import SimPull
from .reviewing import Remark

# What it says in its nth review (from 0) of this pull request; None: it stays silent.
Plan = Callable[[SimPull, int], Sequence[Remark] | None]


def nothing_to_say(pull: SimPull, review: int) -> Sequence[Remark]:
    return ()


def silent(pull: SimPull, review: int) -> None:
    return None


def says(*reviews: Sequence[Remark] | None) -> Plan:
    """By script; after its end there is nothing to say."""
    return lambda pull, review: reviews[review] if review < len(reviews) else ()


class SimCopilot:
    def __init__(
        self,
        model: SimGitHub,
        plan: Plan = nothing_to_say,
        *,
        takes: float = 90.0,
        on_open: bool = False,
        on_push: bool = False,
    ) -> None:
        self._model = model
        self._plan = plan
        self._takes = takes
        self._on_open = on_open  # without being asked, as a ruleset may say
        self._on_push = on_push
        self._asked: dict[int, int] = {}
        model.listeners.append(self._hear)

    def _hear(self, event: str, pull: SimPull) -> None:
        unasked = (event == "opened" and self._on_open) or (event == "pushed" and self._on_push)
        if event == f"review-requested:{COPILOT}" or (unasked and not pull.is_draft):
            number = self._asked[pull.number] = self._asked.get(pull.number, -1) + 1
            head = pull.head
            self._model.later(self._takes, lambda: self._review(pull, number, head))

    def _review(self, pull: SimPull, number: int, head: str) -> None:
        """Of the head that it began with, which may be an older one by now."""
        remarks = self._plan(pull, number)
        if remarks is None or not pull.is_open:
            return
        known = [remark for remark in remarks if self._model.refs.read(pull.head, remark.path) is not None]
        files = len(self._model.refs.changed(self._model.refs.head_of(pull.base_ref), head))
        body = f"Copilot reviewed {files} changed files and generated {len(known) or 'no'} comments."
        reviewing.review(
            self._model, pull.number, ReviewState.COMMENTED, by=COPILOT, body=body, head=head, remarks=known
        )

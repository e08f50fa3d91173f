"""A person who merges by hand, on the simulated GitHub."""

from . import checking
from .model import SimGitHub
from .people import SimHuman
from .records import GitHubRefusal, SimPull


class SimMerger(SimHuman):
    """Looks some time after anything happened, and merges what is green, answered and goes to the base branch."""

    def __init__(self, model: SimGitHub, login: str = "nina", *, looks_after: float = 300.0) -> None:
        super().__init__(model, login)
        self._looks_after = looks_after
        self._looking: set[int] = set()
        model.listeners.append(self._hear)

    def _hear(self, event: str, pull: SimPull) -> None:
        if pull.is_open and pull.number not in self._looking:
            self._looking.add(pull.number)
            self._model.later(self._looks_after, lambda: self._look(pull))

    def _look(self, pull: SimPull) -> None:
        self._looking.discard(pull.number)
        is_base = pull.base_ref == self._model.repository.default_branch
        if not pull.is_open or pull.unresolved or not is_base:
            return
        if checking.rollup(self._model, pull.head) not in ("SUCCESS", ""):
            return
        try:
            if pull.is_draft:
                self._model.mark_ready(pull.number, by=self.login)
            self.merge(pull.number)
        except GitHubRefusal:
            return

"""A person who merges by hand, on the simulated GitHub."""

from . import checking
from .model import SimGitHub
from .people import SimOnlooker
from .records import GitHubRefusal, SimPull


class SimMerger(SimOnlooker):
    """Merges what is green, answered and goes to the base branch."""

    def __init__(self, model: SimGitHub, login: str = "nina", *, looks_after: float = 300.0) -> None:
        super().__init__(model, login, looks_after=looks_after)

    def _look(self, pull: SimPull) -> None:
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

"""The auto-approve workflow on the simulated GitHub: it judges by the rules that the real one is made from."""

from ...github.approval import APPROVE, WAIT, Rules, judge
from ...github.approving import evaluate
from ...github.forge import COPILOT
from ...github.gate_running import WORKFLOW_FILE
from ...github.pulls import ReviewState
from . import reviewing
from .model import ACTIONS, SimGitHub
from .records import GitHubRefusal, SimPull
from .showing import show_pull

POLL = 30.0
LOOKS = 60


class SimAutoApprove:
    """Woken by Copilot's review, and looking for half an hour. Every push is content to it."""

    def __init__(self, model: SimGitHub, rules: Rules | None = None) -> None:
        self._model = model
        self._rules = rules or Rules()
        self._reviews: dict[int, int] = {}
        model.listeners.append(self._hear)
        model.on_dispatch.append(self._started)

    def _hear(self, event: str, pull: SimPull) -> None:
        if event != "reviewed" or pull.reviews[-1].author.login != COPILOT:
            return
        self._reviews[pull.number] = turn = len(pull.reviews)
        self._model.later(POLL, lambda: self._look(pull, turn, LOOKS))

    def _started(self, workflow: str, inputs: dict[str, str]) -> None:
        pull = self._model.pulls.get(int(inputs.get("pr_number", "0")))
        if workflow == WORKFLOW_FILE and pull is not None and pull.is_open:
            self._reviews[pull.number] = turn = len(pull.reviews)
            self._model.later(POLL, lambda: self._look(pull, turn, LOOKS))

    def _look(self, pull: SimPull, turn: int, looks: int) -> None:
        """A newer review of Copilot's takes over: one run per pull request at a time."""
        if not pull.is_open or self._reviews[pull.number] != turn:
            return
        files = self._model.refs.changed(self._model.refs.head_of(pull.base_ref), pull.head)
        ruling = judge(evaluate(show_pull(self._model, pull), self._model.now, files), self._rules)
        try:
            for number in ruling.dismissals:
                reviewing.dismiss(self._model, pull.number, number, "; ".join(ruling.reasons), by=ACTIONS)
            if ruling.word == APPROVE and not ruling.is_standing:
                reviewing.review(self._model, pull.number, ReviewState.APPROVED, by=ACTIONS, head=pull.head)
        except GitHubRefusal:
            return  # the repository's setting forbids it
        if (ruling.word == WAIT or ruling.dismissals) and looks:
            self._model.later(POLL, lambda: self._look(pull, turn, looks - 1))

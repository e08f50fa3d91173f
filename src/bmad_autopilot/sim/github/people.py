"""People on the simulated GitHub: each act by script, at any time."""

from ...github.pulls import ReviewState
from . import checking, joining, reviewing
from .model import SimGitHub
from .records import SimPull, SimReview
from .reviewing import Remark


class SimHuman:
    """What a person does in the browser or pushes from somewhere else."""

    def __init__(self, model: SimGitHub, login: str = "maria", association: str = "COLLABORATOR") -> None:
        self._model = model
        self.login = login
        model.join(login, association, can_push=association != "NONE")

    # reviewing

    def approve(self, number: int, body: str = "") -> SimReview:
        return reviewing.review(self._model, number, ReviewState.APPROVED, by=self.login, body=body)

    def object_to(self, number: int, *remarks: Remark, body: str = "Please change this.") -> SimReview:
        state = ReviewState.CHANGES
        return reviewing.review(self._model, number, state, by=self.login, body=body, remarks=remarks)

    def remark(self, number: int, *remarks: Remark) -> SimReview:
        return reviewing.review(self._model, number, ReviewState.COMMENTED, by=self.login, remarks=remarks)

    def comment(self, number: int, body: str) -> None:
        reviewing.comment(self._model, number, body, by=self.login)

    def answer(self, thread: str, body: str) -> None:
        reviewing.reply(self._model, thread, body, by=self.login)

    def resolve(self, thread: str) -> None:
        reviewing.resolve(self._model, thread, by=self.login)

    def unresolve(self, thread: str) -> None:
        reviewing.resolve(self._model, thread, by=self.login, is_resolved=False)

    # branches

    def push(self, branch: str, edits: dict[str, bytes | None], message: str = "A change of mine") -> str:
        """A foreign commit on top of the branch; on the base branch: the base moves."""
        head = self._model.refs.head_of(branch)
        sha = self._model.refs.commit(head, edits, message, self.login)
        self._model.push(branch, sha, head, by=self.login)
        return sha

    def force_push(self, branch: str, onto: str, edits: dict[str, bytes | None]) -> str:
        """What the branch held since `onto` is no longer in it."""
        sha = self._model.refs.commit(onto, edits, "Made anew", self.login)
        self._model.push(branch, sha, by=self.login)
        return sha

    def delete_branch(self, branch: str) -> None:
        self._model.delete_branch(branch, by=self.login)

    # the pull request

    def close(self, number: int) -> None:
        self._model.close_pull(number, by=self.login)

    def reopen(self, number: int) -> None:
        self._model.reopen_pull(number, by=self.login)

    def merge(self, number: int) -> str:
        return joining.merge(self._model, number, by=self.login)

    def retarget(self, number: int, base_ref: str) -> None:
        self._model.edit_pull(number, base_ref=base_ref, by=self.login)


class SimOnlooker(SimHuman):
    """Looks at a pull request some time after anything happened to it."""

    def __init__(self, model: SimGitHub, login: str, *, looks_after: float) -> None:
        super().__init__(model, login)
        self._looks_after = looks_after
        self._looking: set[int] = set()
        model.listeners.append(self._hear)

    def _hear(self, event: str, pull: SimPull) -> None:
        if pull.is_open and pull.number not in self._looking:
            self._looking.add(pull.number)
            self._model.later(self._looks_after, lambda: self._come(pull))

    def _come(self, pull: SimPull) -> None:
        self._looking.discard(pull.number)
        self._look(pull)

    def _look(self, pull: SimPull) -> None:
        raise NotImplementedError


class SimMaintainer(SimOnlooker):
    """Approves what is green and has no open thread."""

    def __init__(self, model: SimGitHub, login: str = "maria", *, looks_after: float = 120.0) -> None:
        super().__init__(model, login, looks_after=looks_after)

    def _look(self, pull: SimPull) -> None:
        is_ready = pull.is_open and not pull.is_draft and not pull.unresolved
        approved = any(
            one.author.login == self.login and one.state is ReviewState.APPROVED and one.commit == pull.head
            for one in pull.reviews
        )
        if is_ready and not approved and checking.rollup(self._model, pull.head) == "SUCCESS":
            self.approve(pull.number)

"""People and bots on the simulated GitHub: maintainers, Copilot, the auto-approve workflow, and random actions."""

from collections.abc import Callable, Sequence
from random import Random

from ...github.approval import APPROVE, WAIT, Rules, judge
from ...github.auto_approve import build_situation
from ...github.forge import COPILOT, ReviewState
from ...github.gate_runner import WORKFLOW_FILE
from . import checks, merge, reviews
from .forge_view import show_pull
from .model import ACTIONS, SimGitHub
from .records import GitHubRefusal, SimPull, SimReview
from .refs import RefMoved
from .reviews import Remark


class SimHuman:
    """A person who acts in the browser or pushes from another machine."""

    def __init__(self, model: SimGitHub, login: str = "maria", association: str = "COLLABORATOR") -> None:
        self._model = model
        self.login = login
        model.add_person(login, association, can_push=association != "NONE")

    # reviewing

    def approve(self, number: int, body: str = "") -> SimReview:
        return reviews.review(self._model, number, ReviewState.APPROVED, by=self.login, body=body)

    def request_changes(self, number: int, *remarks: Remark, body: str = "Please change this.") -> SimReview:
        state = ReviewState.CHANGES
        return reviews.review(self._model, number, state, by=self.login, body=body, remarks=remarks)

    def remark(self, number: int, *remarks: Remark) -> SimReview:
        return reviews.review(self._model, number, ReviewState.COMMENTED, by=self.login, remarks=remarks)

    def comment(self, number: int, body: str) -> None:
        reviews.comment(self._model, number, body, by=self.login)

    def reply(self, thread: str, body: str) -> None:
        reviews.reply(self._model, thread, body, by=self.login)

    def resolve(self, thread: str) -> None:
        reviews.resolve(self._model, thread, by=self.login)

    def unresolve(self, thread: str) -> None:
        reviews.resolve(self._model, thread, by=self.login, is_resolved=False)

    # branches

    def push(self, branch: str, edits: dict[str, bytes | None], message: str = "A change of mine") -> str:
        """Push a foreign commit to the branch, which may be the base."""
        head = self._model.refs.head_of(branch)
        sha = self._model.refs.commit(head, edits, message, self.login)
        self._model.push(branch, sha, head, by=self.login)
        return sha

    def force_push(self, branch: str, onto: str, edits: dict[str, bytes | None]) -> str:
        """Replace everything after `onto`."""
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
        return merge.merge(self._model, number, by=self.login)

    def retarget(self, number: int, base_ref: str) -> None:
        self._model.edit_pull(number, base_ref=base_ref, by=self.login)


class SimObserver(SimHuman):
    """Looks at a pull request some time after each event."""

    def __init__(self, model: SimGitHub, login: str, *, delay: float) -> None:
        super().__init__(model, login)
        self._delay = delay
        self._scheduled: set[int] = set()
        model.listeners.append(self._hear)

    def _hear(self, event: str, pull: SimPull) -> None:
        if pull.is_open and pull.number not in self._scheduled:
            self._scheduled.add(pull.number)
            self._model.call_later(self._delay, lambda: self._visit(pull))

    def _visit(self, pull: SimPull) -> None:
        self._scheduled.discard(pull.number)
        self._review_pull(pull)

    def _review_pull(self, pull: SimPull) -> None:
        raise NotImplementedError


class SimMaintainer(SimObserver):
    """Approves a pull request that is green and has no open thread."""

    def __init__(self, model: SimGitHub, login: str = "maria", *, delay: float = 120.0) -> None:
        super().__init__(model, login, delay=delay)

    def _review_pull(self, pull: SimPull) -> None:
        is_ready = pull.is_open and not pull.is_draft and not pull.unresolved
        approved = any(
            one.author.login == self.login and one.state is ReviewState.APPROVED and one.commit == pull.head
            for one in pull.reviews
        )
        if is_ready and not approved and checks.rollup(self._model, pull.head) == "SUCCESS":
            self.approve(pull.number)


# Copilot: comments some time after the request, and never approves.

# Its remarks in the nth review (from 0) of a pull request; None: no review at all.
ReviewScript = Callable[[SimPull, int], Sequence[Remark] | None]


def no_remarks(pull: SimPull, review: int) -> Sequence[Remark]:
    return ()


def no_review(pull: SimPull, review: int) -> None:
    return None


def scripted_reviews(*reviews: Sequence[Remark] | None) -> ReviewScript:
    """The given remarks, one list per review; then none."""
    return lambda pull, review: reviews[review] if review < len(reviews) else ()


class SimCopilot:
    def __init__(
        self,
        model: SimGitHub,
        script: ReviewScript = no_remarks,
        *,
        duration: float = 90.0,
        on_open: bool = False,
        on_push: bool = False,
    ) -> None:
        self._model = model
        self._script = script
        self._duration = duration
        self._on_open = on_open  # without a request, as a ruleset may configure
        self._on_push = on_push
        self._requests: dict[int, int] = {}
        model.listeners.append(self._on_event)

    def _on_event(self, event: str, pull: SimPull) -> None:
        unasked = (event == "opened" and self._on_open) or (event == "pushed" and self._on_push)
        if event == f"review-requested:{COPILOT}" or (unasked and not pull.is_draft):
            number = self._requests[pull.number] = self._requests.get(pull.number, -1) + 1
            head = pull.head
            self._model.call_later(self._duration, lambda: self._review(pull, number, head))

    def _review(self, pull: SimPull, number: int, head: str) -> None:
        """Reviews the head at the time of the request, which may be outdated by now."""
        remarks = self._script(pull, number)
        if remarks is None or not pull.is_open:
            return
        known = [remark for remark in remarks if self._model.refs.read(pull.head, remark.path) is not None]
        files = len(self._model.refs.changed(self._model.refs.head_of(pull.base_ref), head))
        body = f"Copilot reviewed {files} changed files and generated {len(known) or 'no'} comments."
        reviews.review(
            self._model, pull.number, ReviewState.COMMENTED, by=COPILOT, body=body, head=head, remarks=known
        )


# The auto-approve workflow, with the rules of the real one.

POLL_SECONDS = 30.0
MAX_POLLS = 60


class SimAutoApprove:
    """Starts with Copilot's review or a dispatch and polls for half an hour. Counts every push as new content."""

    def __init__(self, model: SimGitHub, rules: Rules | None = None) -> None:
        self._model = model
        self._rules = rules or Rules()
        self._reviews: dict[int, int] = {}
        model.listeners.append(self._on_event)
        model.on_dispatch.append(self._on_dispatch)

    def _on_event(self, event: str, pull: SimPull) -> None:
        if event != "reviewed" or pull.reviews[-1].author.login != COPILOT:
            return
        self._reviews[pull.number] = turn = len(pull.reviews)
        self._model.call_later(POLL_SECONDS, lambda: self._poll(pull, turn, MAX_POLLS))

    def _on_dispatch(self, workflow: str, inputs: dict[str, str]) -> None:
        pull = self._model.pulls.get(int(inputs.get("pr_number", "0")))
        if workflow == WORKFLOW_FILE and pull is not None and pull.is_open:
            self._reviews[pull.number] = turn = len(pull.reviews)
            self._model.call_later(POLL_SECONDS, lambda: self._poll(pull, turn, MAX_POLLS))

    def _poll(self, pull: SimPull, turn: int, polls_left: int) -> None:
        """One run per pull request at a time: a newer review replaces this one."""
        if not pull.is_open or self._reviews[pull.number] != turn:
            return
        files = self._model.refs.changed(self._model.refs.head_of(pull.base_ref), pull.head)
        ruling = judge(build_situation(show_pull(self._model, pull), self._model.now, files), self._rules)
        try:
            for number in ruling.dismissals:
                reviews.dismiss(self._model, pull.number, number, "; ".join(ruling.reasons), by=ACTIONS)
            if ruling.word == APPROVE and not ruling.is_standing:
                reviews.review(self._model, pull.number, ReviewState.APPROVED, by=ACTIONS, head=pull.head)
        except GitHubRefusal:
            return  # the repository's setting forbids it
        if (ruling.word == WAIT or ruling.dismissals) and polls_left:
            self._model.call_later(POLL_SECONDS, lambda: self._poll(pull, turn, polls_left - 1))


# A person who merges by hand.


class SimMerger(SimObserver):
    """Merges a pull request into the base branch once it is green and has no open thread."""

    def __init__(self, model: SimGitHub, login: str = "nina", *, delay: float = 300.0) -> None:
        super().__init__(model, login, delay=delay)

    def _review_pull(self, pull: SimPull) -> None:
        is_base = pull.base_ref == self._model.repository.default_branch
        if not pull.is_open or pull.unresolved or not is_base:
            return
        if checks.rollup(self._model, pull.head) not in ("SUCCESS", ""):
            return
        try:
            if pull.is_draft:
                self._model.mark_ready(pull.number, by=self.login)
            self.merge(pull.number)
        except GitHubRefusal:
            return


# Unexpected actions of people, drawn from a seed.

OBJECTION_SECONDS = 900.0  # until a person withdraws an objection or resolves a reopened thread

HumanAction = Callable[[SimGitHub, SimHuman, SimPull, Random], None]


def _push(model: SimGitHub, human: SimHuman, pull: SimPull, rng: Random) -> None:
    human.push(pull.head_ref, {f"theirs-{rng.randrange(99)}.txt": b"theirs\n"}, "A commit by hand")


def _force_push(model: SimGitHub, human: SimHuman, pull: SimPull, rng: Random) -> None:
    base = model.refs.merge_base(model.refs.head_of(pull.base_ref), pull.head)
    human.force_push(pull.head_ref, base, {"anew.txt": b"made anew\n"})


def _move_base(model: SimGitHub, human: SimHuman, pull: SimPull, rng: Random) -> None:
    name = f"base-{rng.randrange(9999)}.txt"
    human.push(model.repository.default_branch, {name: b"moved\n"}, "Meanwhile on the base")


def _remark(model: SimGitHub, human: SimHuman, pull: SimPull, rng: Random) -> None:
    changed = model.refs.changed(model.refs.head_of(pull.base_ref), pull.head)
    if changed:
        human.remark(pull.number, Remark(rng.choice(changed), 1, "Is this right?"))


def _object(model: SimGitHub, human: SimHuman, pull: SimPull, rng: Random) -> None:
    human.request_changes(pull.number)
    model.call_later(OBJECTION_SECONDS, lambda: _ignore_refusal(lambda: human.approve(pull.number)))


def _resolve(model: SimGitHub, human: SimHuman, pull: SimPull, rng: Random) -> None:
    unresolved = [thread for thread in pull.threads if not thread.is_resolved]
    if unresolved:
        human.resolve(rng.choice(unresolved).id)


def _unresolve(model: SimGitHub, human: SimHuman, pull: SimPull, rng: Random) -> None:
    resolved = [thread for thread in pull.threads if thread.is_resolved]
    if resolved:
        thread = rng.choice(resolved)
        human.unresolve(thread.id)
        model.call_later(OBJECTION_SECONDS, lambda: _ignore_refusal(lambda: human.resolve(thread.id)))


HUMAN_ACTIONS: dict[str, HumanAction] = {
    "approve": lambda model, human, pull, rng: _discard(human.approve(pull.number)),
    "object": _object,
    "remark": _remark,
    "comment": lambda model, human, pull, rng: human.comment(pull.number, "Nice."),
    "resolve": _resolve,
    "unresolve": _unresolve,
    "push": _push,
    "force-push": _force_push,
    "move-base": _move_base,
    "close": lambda model, human, pull, rng: human.close(pull.number),
    "merge": lambda model, human, pull, rng: _discard(human.merge(pull.number)),
    "delete-branch": lambda model, human, pull, rng: human.delete_branch(pull.head_ref),
}


def _discard(answer: object) -> None:
    return None


def schedule_actions(
    model: SimGitHub, human: SimHuman, actions: Sequence[str], rng: Random, *, within: float
) -> None:
    """Schedule each action once within `within` seconds, on a pull request that is open at that time."""

    def go(name: str) -> None:
        chosen = [pull for pull in model.pulls.values() if pull.is_open]
        if chosen:
            _ignore_refusal(lambda: HUMAN_ACTIONS[name](model, human, rng.choice(chosen), rng))

    for act in actions:
        model.call_later(rng.uniform(0.0, within), lambda act=act: go(act))  # type: ignore[misc]


def _ignore_refusal(act: Callable[[], object]) -> None:
    """Ignore a refusal: in the browser the button would be disabled."""
    try:
        act()
    except (GitHubRefusal, RefMoved):
        return

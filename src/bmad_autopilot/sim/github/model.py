"""One repository on the simulated GitHub: its branches and pull requests, and who is told of what happens.

What belongs to reviews, checks and merging stands in a file of its own; each works on the same model."""

from collections.abc import Callable
from random import Random
from typing import Any

from ...github.forge import COPILOT
from ...github.pulls import Actor, PullOrder, PullState
from .clock import Clock
from .effects import Effects
from .following import dismiss_approvals, follow
from .records import SimCheck, SimPull, SimRepository, refuse
from .refs import Refs, Squash

VIEWER = "dev"
ACTIONS = "github-actions"

Listener = Callable[[str, SimPull], None]


class SimGitHub:
    def __init__(self, clock: Clock, refs: Refs, rng: Random, repository: SimRepository | None = None) -> None:
        self.clock = clock
        self.refs = refs
        self.rng = rng
        self.repository = repository or SimRepository()
        self.effects = Effects()
        self.pulls: dict[int, SimPull] = {}
        self.checks: dict[str, list[SimCheck]] = {}  # by the commit
        self.listeners: list[Listener] = []
        self.on_branch: list[Callable[[str, str], None]] = []  # a branch, and what it holds now
        self.on_dispatch: list[Callable[[str, dict[str, str]], None]] = []  # a workflow, and its inputs
        self.on_rerun: list[Callable[[SimCheck], None]] = []
        self.restarting: set[int] = set()  # runs that were started again, and whose jobs are not there yet
        self.trials: dict[tuple[str, str], Squash] = {}  # what merging a head into a base came to
        self.people: dict[str, Actor] = {
            VIEWER: Actor(VIEWER, association="OWNER"),
            COPILOT: Actor(COPILOT, is_bot=True),
            ACTIONS: Actor(ACTIONS, is_bot=True),
        }
        self.writers = {VIEWER, ACTIONS}  # whose approval counts, and who may push
        self.admins: set[str] = set()  # who may merge although a rule of the branch is not met
        self._seen = refs.branches()
        self._ids = 0

    @property
    def now(self) -> float:
        return self.clock.now

    def later(self, seconds: float, event: Callable[[], None]) -> None:
        self.clock.schedule(self.now + seconds, event)

    def next_id(self) -> int:
        self._ids += 1
        return self._ids

    def person(self, login: str) -> Actor:
        return self.people.get(login, Actor(login))

    def join(self, login: str, association: str = "COLLABORATOR", *, can_push: bool = True) -> Actor:
        self.people[login] = Actor(login, association=association)
        if can_push:
            self.writers.add(login)
        return self.people[login]

    def did(self, by: str, kind: str, **data: Any) -> None:
        self.effects.add(self.now, by, kind, **data)

    def tell(self, event: str, pull: SimPull) -> None:
        pull.updated = self.now
        for listener in list(self.listeners):
            listener(event, pull)

    # branches

    def push(self, branch: str, sha: str, expect: str | None = None, *, by: str = VIEWER) -> None:
        """RefMoved where the branch holds something else than `expect`. Whether it may overwrite is git's affair:
        the one who pushes says so by giving what he overwrites."""
        self.allow(by)
        self.refs.set(branch, sha, expect)
        self.look_at_branches(by)

    def delete_branch(self, branch: str, *, by: str = VIEWER) -> None:
        self.allow(by)
        if not self.refs.head_of(branch):
            refuse(422, "Reference does not exist")
        self.refs.delete(branch)
        self.look_at_branches(by)

    def look_at_branches(self, by: str = VIEWER) -> None:
        """What was pushed reaches the pull requests: at once in memory; with real git when anybody looks."""
        now = self.refs.branches()
        before, self._seen = self._seen, now
        for branch in sorted(before.keys() | now.keys()):
            old, new = before.get(branch, ""), now.get(branch, "")
            if old != new:
                self._moved(branch, old, new, by)

    def _moved(self, branch: str, old: str, new: str, by: str) -> None:
        forced = bool(old and new) and not self.refs.contains(new, old)
        lost = self.refs.ahead(new, old) if forced else []
        kind = "push" if new else "delete-branch"
        overwritten = tuple((commit.sha, commit.committer) for commit in lost)
        self.did(by, kind, branch=branch, before=old, after=new, forced=forced, lost=overwritten)
        for pull in [pull for pull in self.pulls.values() if pull.is_open]:
            if pull.head_ref == branch and not pull.is_foreign:
                self._head_moved(pull, old, new, forced)
            elif pull.base_ref == branch:
                self._base_moved(pull, new)
        for listener in list(self.on_branch):
            listener(branch, new)

    def _head_moved(self, pull: SimPull, old: str, new: str, forced: bool) -> None:
        if not new:
            self._close(pull)
            return
        pull.head, pull.pushed, pull.is_queued = new, self.now, False
        pull.heads.append((self.now, new))
        if forced:
            pull.force_pushes.append((self.now, old, new))
        follow(self.refs, pull)
        if self.repository.protection(pull.base_ref).dismiss_stale:
            dismiss_approvals(pull)
        self.tell("pushed", pull)

    def _base_moved(self, pull: SimPull, new: str) -> None:
        if not new:
            self._lose_base(pull)
        elif self.refs.contains(new, pull.head):
            pull.state, pull.merged_as, pull.merged_at = PullState.MERGED, new, self.now
            self.did("", "merged-by-push", number=pull.number)
            self.tell("merged", pull)
        else:
            self.tell("base-moved", pull)

    def _lose_base(self, pull: SimPull) -> None:
        """GitHub moves it onto the base of the merged pull request that the branch was of; else closes it."""
        above = [one for one in self.pulls.values() if one.head_ref == pull.base_ref and one.merged_at]
        if above:
            pull.base_ref = max(above, key=lambda one: one.merged_at).base_ref
            self.did("", "retarget", number=pull.number, base=pull.base_ref)
            self.tell("base-moved", pull)
        else:
            self._close(pull)

    def _close(self, pull: SimPull) -> None:
        pull.state, pull.is_queued = PullState.CLOSED, False
        self.did("", "closed-by-github", number=pull.number)
        self.tell("closed", pull)

    # who may

    def allow(self, by: str) -> None:
        if self.repository.is_archived:
            refuse(403, "Repository was archived so is read-only.", "FORBIDDEN")
        if by not in self.writers:
            refuse(403, "Resource not accessible by personal access token", "FORBIDDEN")

    def pull(self, number: int) -> SimPull:
        found = self.pulls.get(number)
        if found is None:
            refuse(404, "Not Found", "NOT_FOUND")
        return found

    # pull requests

    def open_pull(self, order: PullOrder, *, by: str = VIEWER) -> SimPull:
        self.allow(by)
        self._openable(order.head_ref, order.base_ref)
        number = max(self.pulls, default=0) + 1
        head = self.refs.head_of(order.head_ref)
        parts = (order.title, order.body, order.head_ref, order.base_ref, head, self.person(by))
        pull = SimPull(number, f"PR_{number}", *parts, self.now, self.now, is_draft=order.is_draft)
        pull.heads.append((self.now, head))
        self.pulls[number] = pull
        self.did(by, "open-pull", number=number, head_ref=order.head_ref, base_ref=order.base_ref, head=head)
        self.tell("opened", pull)
        return pull

    def _openable(self, head_ref: str, base_ref: str, than: SimPull | None = None) -> None:
        head, base = self.refs.head_of(head_ref), self.refs.head_of(base_ref)
        if not base:
            refuse(422, "Validation Failed: PullRequest base invalid")
        if not head:
            refuse(422, "Validation Failed: PullRequest head invalid")
        for one in self.pulls.values():
            if one.is_open and one is not than and (one.head_ref, one.base_ref) == (head_ref, base_ref):
                owner = self.repository.owner
                refuse(422, f"Validation Failed: A pull request already exists for {owner}:{head_ref}.")
        if self.refs.contains(base, head):
            refuse(422, f"Validation Failed: No commits between {base_ref} and {head_ref}")

    def edit_pull(
        self,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
        base_ref: str | None = None,
        by: str = VIEWER,
    ) -> None:
        self.allow(by)
        pull = self.pull(number)
        if base_ref is not None and base_ref != pull.base_ref:
            if not pull.is_open:
                refuse(422, "Validation Failed: Cannot change the base branch of a closed pull request.")
            self._openable(pull.head_ref, base_ref, pull)
            pull.base_ref = base_ref
            pull.is_queued = False
        pull.title = pull.title if title is None else title
        pull.body = pull.body if body is None else body
        self.did(by, "edit-pull", number=number, base=base_ref)
        self.tell("edited" if base_ref is None else "base-moved", pull)

    def close_pull(self, number: int, *, by: str = VIEWER) -> None:
        self.allow(by)
        pull = self.pull(number)
        if pull.is_open:
            pull.state, pull.is_queued = PullState.CLOSED, False
            self.did(by, "close", number=number)
            self.tell("closed", pull)

    def reopen_pull(self, number: int, *, by: str = VIEWER) -> None:
        self.allow(by)
        pull = self.pull(number)
        if pull.is_open:
            return
        if pull.state is PullState.MERGED:
            refuse(422, "Validation Failed: The pull request cannot be reopened. It was merged.")
        self._openable(pull.head_ref, pull.base_ref)
        head = self.refs.head_of(pull.head_ref)
        if not self.refs.contains(head, pull.head):
            refuse(422, f"Validation Failed: The {pull.head_ref} branch was force-pushed or recreated.")
        pull.state, moved = PullState.OPEN, head != pull.head
        self.did(by, "reopen", number=number)
        if moved:
            self._head_moved(pull, pull.head, head, False)
        self.tell("reopened", pull)

    def dispatch(self, workflow: str, inputs: dict[str, str], *, by: str = VIEWER) -> None:
        self.allow(by)
        self.did(by, "dispatch", workflow=workflow, inputs=inputs)
        for listener in list(self.on_dispatch):
            listener(workflow, inputs)

    def mark_ready(self, number: int, *, by: str = VIEWER) -> None:
        self.allow(by)
        pull = self.pull(number)
        if pull.is_draft:
            pull.is_draft = False
            self.did(by, "ready", number=number)
            self.tell("ready", pull)

    def add_labels(self, number: int, labels: list[str], *, by: str = VIEWER) -> None:
        self.allow(by)
        pull = self.pull(number)
        pull.labels += [label for label in labels if label not in pull.labels]
        self.did(by, "label", number=number, labels=tuple(labels))
        self.tell("labeled", pull)

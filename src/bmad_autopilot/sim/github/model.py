"""One repository on the simulated GitHub: its branches and pull requests, and the listeners for their events.

reviews.py, checks.py and merge.py work on the same model."""

from collections.abc import Callable
from random import Random
from typing import Any

from ...github.forge import COPILOT, ForgeActor, NewPull, PullState, ReviewState
from .records import Clock, GitHubEffectLog, SimCheck, SimPull, SimRepository, refuse
from .refs import Refs, SquashResult, moved_line

# Effects of a push on threads and approvals.


def track_threads(refs: Refs, pull: SimPull) -> None:
    """Move each thread with its line; a thread whose line was changed becomes outdated for good."""
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


VIEWER = "dev"
ACTIONS = "github-actions"

Listener = Callable[[str, SimPull], None]


class SimGitHub:
    def __init__(self, clock: Clock, refs: Refs, rng: Random, repository: SimRepository | None = None) -> None:
        self.clock = clock
        self.refs = refs
        self.rng = rng
        self.repository = repository or SimRepository()
        self.effects = GitHubEffectLog()
        self.pulls: dict[int, SimPull] = {}
        self.checks: dict[str, list[SimCheck]] = {}  # by commit
        self.listeners: list[Listener] = []
        self.on_branch: list[Callable[[str, str], None]] = []  # branch, new head
        self.on_dispatch: list[Callable[[str, dict[str, str]], None]] = []  # workflow, inputs
        self.on_rerun: list[Callable[[SimCheck], None]] = []
        self.restarting_runs: set[int] = set()  # rerun requested, new jobs not visible yet
        self.trial_merges: dict[tuple[str, str], SquashResult] = {}  # by (head, base)
        self.people: dict[str, ForgeActor] = {
            VIEWER: ForgeActor(VIEWER, association="OWNER"),
            COPILOT: ForgeActor(COPILOT, is_bot=True),
            ACTIONS: ForgeActor(ACTIONS, is_bot=True),
        }
        self.writers = {VIEWER, ACTIONS}  # may push, and their approvals count
        self.admins: set[str] = set()  # may merge although a branch rule is not met
        self._known_branches = refs.branches()
        self._ids = 0

    @property
    def now(self) -> float:
        return self.clock.now

    def call_later(self, seconds: float, event: Callable[[], None]) -> None:
        self.clock.schedule(self.now + seconds, event)

    def next_id(self) -> int:
        self._ids += 1
        return self._ids

    def person(self, login: str) -> ForgeActor:
        return self.people.get(login, ForgeActor(login))

    def add_person(self, login: str, association: str = "COLLABORATOR", *, can_push: bool = True) -> ForgeActor:
        self.people[login] = ForgeActor(login, association=association)
        if can_push:
            self.writers.add(login)
        return self.people[login]

    def record(self, by: str, kind: str, **data: Any) -> None:
        self.effects.add(self.now, by, kind, **data)

    def notify(self, event: str, pull: SimPull) -> None:
        pull.updated = self.now
        for listener in list(self.listeners):
            listener(event, pull)

    # branches

    def push(self, branch: str, sha: str, expect: str | None = None, *, by: str = VIEWER) -> None:
        """RefMoved if the branch is not at `expect`. Like git with a lease: the pusher may overwrite what it
        expects."""
        self.require_write_access(by)
        self.refs.set(branch, sha, expect)
        self.sync_branches(by)

    def delete_branch(self, branch: str, *, by: str = VIEWER) -> None:
        self.require_write_access(by)
        if not self.refs.head_of(branch):
            refuse(422, "Reference does not exist")
        self.refs.delete(branch)
        self.sync_branches(by)

    def sync_branches(self, by: str = VIEWER) -> None:
        """Apply pushes to the pull requests: at once in memory, at the next request with real git."""
        now = self.refs.branches()
        before, self._known_branches = self._known_branches, now
        for branch in sorted(before.keys() | now.keys()):
            old, new = before.get(branch, ""), now.get(branch, "")
            if old != new:
                self._branch_moved(branch, old, new, by)

    def _branch_moved(self, branch: str, old: str, new: str, by: str) -> None:
        forced = bool(old and new) and not self.refs.contains(new, old)
        lost = self.refs.ahead(new, old) if forced else []
        kind = "push" if new else "delete-branch"
        overwritten = tuple((commit.sha, commit.committer) for commit in lost)
        self.record(by, kind, branch=branch, before=old, after=new, forced=forced, lost=overwritten)
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
        track_threads(self.refs, pull)
        if self.repository.protection(pull.base_ref).dismiss_stale:
            dismiss_approvals(pull)
        self.notify("pushed", pull)

    def _base_moved(self, pull: SimPull, new: str) -> None:
        if not new:
            self._base_deleted(pull)
        elif self.refs.contains(new, pull.head):
            pull.state, pull.merged_as, pull.merged_at = PullState.MERGED, new, self.now
            self.record("", "merged-by-push", number=pull.number)
            self.notify("merged", pull)
        else:
            self.notify("base-moved", pull)

    def _base_deleted(self, pull: SimPull) -> None:
        """GitHub retargets it to the base of the merged pull request whose branch was deleted, or closes it."""
        above = [one for one in self.pulls.values() if one.head_ref == pull.base_ref and one.merged_at]
        if above:
            pull.base_ref = max(above, key=lambda one: one.merged_at).base_ref
            self.record("", "retarget", number=pull.number, base=pull.base_ref)
            self.notify("base-moved", pull)
        else:
            self._close(pull)

    def _close(self, pull: SimPull) -> None:
        pull.state, pull.is_queued = PullState.CLOSED, False
        self.record("", "closed-by-github", number=pull.number)
        self.notify("closed", pull)

    # access

    def require_write_access(self, by: str) -> None:
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

    def open_pull(self, order: NewPull, *, by: str = VIEWER) -> SimPull:
        self.require_write_access(by)
        self._openable(order.head_ref, order.base_ref)
        number = max(self.pulls, default=0) + 1
        head = self.refs.head_of(order.head_ref)
        parts = (order.title, order.body, order.head_ref, order.base_ref, head, self.person(by))
        pull = SimPull(number, f"PR_{number}", *parts, self.now, self.now, is_draft=order.is_draft)
        pull.heads.append((self.now, head))
        self.pulls[number] = pull
        self.record(by, "open-pull", number=number, head_ref=order.head_ref, base_ref=order.base_ref, head=head)
        self.notify("opened", pull)
        return pull

    def _openable(self, head_ref: str, base_ref: str, ignoring: SimPull | None = None) -> None:
        head, base = self.refs.head_of(head_ref), self.refs.head_of(base_ref)
        if not base:
            refuse(422, "Validation Failed: PullRequest base invalid")
        if not head:
            refuse(422, "Validation Failed: PullRequest head invalid")
        for one in self.pulls.values():
            if one.is_open and one is not ignoring and (one.head_ref, one.base_ref) == (head_ref, base_ref):
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
        self.require_write_access(by)
        pull = self.pull(number)
        if base_ref is not None and base_ref != pull.base_ref:
            if not pull.is_open:
                refuse(422, "Validation Failed: Cannot change the base branch of a closed pull request.")
            self._openable(pull.head_ref, base_ref, pull)
            pull.base_ref = base_ref
            pull.is_queued = False
        pull.title = pull.title if title is None else title
        pull.body = pull.body if body is None else body
        self.record(by, "edit-pull", number=number, base=base_ref)
        self.notify("edited" if base_ref is None else "base-moved", pull)

    def close_pull(self, number: int, *, by: str = VIEWER) -> None:
        self.require_write_access(by)
        pull = self.pull(number)
        if pull.is_open:
            pull.state, pull.is_queued = PullState.CLOSED, False
            self.record(by, "close", number=number)
            self.notify("closed", pull)

    def reopen_pull(self, number: int, *, by: str = VIEWER) -> None:
        self.require_write_access(by)
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
        self.record(by, "reopen", number=number)
        if moved:
            self._head_moved(pull, pull.head, head, False)
        self.notify("reopened", pull)

    def dispatch(self, workflow: str, inputs: dict[str, str], *, by: str = VIEWER) -> None:
        self.require_write_access(by)
        self.record(by, "dispatch", workflow=workflow, inputs=inputs)
        for listener in list(self.on_dispatch):
            listener(workflow, inputs)

    def mark_ready(self, number: int, *, by: str = VIEWER) -> None:
        self.require_write_access(by)
        pull = self.pull(number)
        if pull.is_draft:
            pull.is_draft = False
            self.record(by, "ready", number=number)
            self.notify("ready", pull)

    def add_labels(self, number: int, labels: list[str], *, by: str = VIEWER) -> None:
        self.require_write_access(by)
        pull = self.pull(number)
        pull.labels += [label for label in labels if label not in pull.labels]
        self.record(by, "label", number=number, labels=tuple(labels))
        self.notify("labeled", pull)

"""Git's door, and the project's checks on what stands in the work tree."""

import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property

from ...agents.attempts import Result
from ...agents.shim import work
from ...board.sprint import board_from_text
from ...core.errors import AutopilotError, ConflictError
from ...core.records import Check
from ...core.statuses import DONE
from ...files import ODD, Text, kind_of, not_regular, refuse_links, write_atomic
from ...github.commits import commit, move_ref
from ...github.git import MovedError
from ...github.ground import is_unchanged, look_at_ground, refusal
from ...github.history import branch_of, find_commit, head_of, is_ancestor
from ...github.holding import hold, let_go
from ...github.identities import OURS
from ...github.putting_back import put_back
from ...github.saving import SAVED, save, save_all
from ...github.trees import changes, fingerprint, read_file
from ...project.traces import CONFIG_NAME
from ..doors import CallId, CallOrder, CommitOrder, Tree
from ..observing import RETRO
from ..plain_environment import plain_environment
from ..snapshots import read_kept
from ..touching import UsersFiles, paths_by_hand, touched_paths
from .ground import Ground

STEP_TRAILER, RUN_TRAILER = "Autopilot-Step", "Autopilot-Run"
_TRIES = 3  # to commit, while somebody else moves the branch
_LAST = ("done", "skipped", RETRO)  # labels of commits after which nothing of a story is judged any more


class RepositoryDoors(Ground):
    _stood_here = False  # git was asked, and had nothing against it

    def ground(self, branch: str) -> str:
        if self._stood_here and branch and is_unchanged(self.git, branch):
            return ""
        problem = refusal(look_at_ground(self.git), branch=branch or None)
        self._stood_here = problem is None
        return str(problem) if problem is not None else ""

    def tree(self, story: str) -> Tree:
        looked, tree = self._look()
        self.hold(tree)
        return Tree(looked.head, looked.branch, tree, self._code(tree, story))

    def _refuse_odd_files(self) -> None:
        """Git stops at a pipe, a socket or a device where it knows a file, and does not say so."""
        for name in self.git.ask("ls-files", "-z").fields:
            path = os.path.join(self.git.top, name)
            kind = kind_of(path)
            if kind in ODD:
                raise not_regular(path, "cannot be read by git", kind)

    def hold(self, tree: str | None) -> None:
        """What calls are judged by is in no commit yet: it must outlast a `git gc` of an agent's."""
        if tree is not None and tree not in self._held:
            hold(self.git, os.path.basename(self.run), tree)
            self._held.add(tree)

    @cached_property
    def _held(self) -> set[str]:
        return set()

    def _let_go(self) -> None:
        let_go(self.git, os.path.basename(self.run))
        self._held.clear()

    def _look(self) -> tuple[work.Work, str]:
        """The work tree as it is, and its hash. Not the whole of it is an error."""
        looked = work.look(self.git.top, self._plain, os.path.join(self.run, "index"))
        if looked.tree is None or looked.problem:
            self._refuse_odd_files()
            raise AutopilotError(
                looked.problem or "git could not read the work tree", hint="git status; is the disk full?"
            )
        return looked, looked.tree

    def tree_of(self, result: Result, story: str) -> Tree:
        """As a call left it, by its supervisor's own look."""
        if result.tree is None:
            return self.tree(story)
        self.hold(result.tree)
        return Tree(result.head, result.branch, result.tree, self._code(result.tree, story))

    def _code(self, tree: str, story: str) -> str:
        return fingerprint(self.git, tree, {*self.dirty, *map(self._from_top, self.books(story).kept_apart)})

    def _from_top(self, path: str) -> str:
        return os.path.relpath(os.path.realpath(path), self.git.top)

    @cached_property
    def _plain(self) -> dict[str, str]:
        return plain_environment(self.project.config, self.run, self.project.root)

    def changed(self, before: str, after: str) -> tuple[str, ...]:
        return tuple(one.path for one in changes(self.git, before, after)) if before != after else ()

    def is_tidy(self) -> bool:
        """Nothing lies about but what did before we began."""
        ground = look_at_ground(self.git)
        return {*ground.dirty, *ground.untracked} <= self.dirty

    def is_committed_done(self, key: str, since: str | None) -> bool:
        head = head_of(self.git)
        if self.is_apart() or head is None or since is None or head == since:
            return False  # in a work tree of the lane's own nobody but its agents commits
        if not is_ancestor(self.git, since, head):
            return False
        board, output = (
            self._from_top(path) for path in (self.project.require_board(), self.project.folders.output)
        )
        if all(one.path.startswith(f"{output}/") or one.path == board for one in changes(self.git, since, head)):
            return False  # there is no work in it
        before, now = (self._committed_status(commit, board, key) for commit in (since, head))
        return now == DONE != before

    def _committed_status(self, commit: str, board: str, key: str) -> str:
        """What the row says in a commit; empty where the board is not in git, or cannot be read there."""
        try:
            raw = read_file(self.git, commit, board)
            row = board_from_text(Text(board, raw)).rows.get(key) if raw is not None else None
        except AutopilotError:
            return ""
        return row.meaning if row else ""

    def commit(self, order: CommitOrder) -> str:
        made = find_commit(self.git, order.key, order.since) or self._commit(order)
        if order.label in _LAST:
            self._let_go()
        return made

    def _commit(self, order: CommitOrder) -> str:
        identity = look_at_ground(self.git).identity or OURS
        message = f"{order.subject}\n\n{order.body}".strip()
        trailers = {STEP_TRAILER: order.key, RUN_TRAILER: os.path.basename(self.run)}
        for _ in range(_TRIES):
            with suppress(MovedError):  # a person has committed meanwhile: ours goes on top of that
                return commit(self.git, self._paths(order), message, trailers, identity=identity)
        return commit(self.git, self._paths(order), message, trailers, identity=identity)

    def _paths(self, order: CommitOrder) -> list[str]:
        """What was done for the story, and its books. A person's other edits are theirs to commit."""
        paths = set() if order.story else {self._from_top(self.project.require_board())}
        if order.story:
            paths |= {self._from_top(path) for path in self.books(order.story).kept_apart}
            paths |= self.paths_of(order, order.calls)
        if order.label == RETRO:  # it looks back: code that it changed is nobody's to commit unreviewed
            output = self._from_top(self.project.folders.output)
            paths = {path for path in paths if path.startswith(f"{output}/")}
        return sorted(path for path in paths if path not in self.users)

    @cached_property
    def users(self) -> UsersFiles:
        """What was the user's before the run began: never staged or committed by us."""
        return UsersFiles(self.dirty)

    def paths_of(
        self, order: CommitOrder | CallOrder, calls: Iterable[CallId], now: str | None = None
    ) -> set[str]:
        """What these calls changed, and what a person left who took the story over. Settings are nobody's work:
        whoever changed those commits them."""
        folders = [self.folder(call) for call in calls]
        found = touched_paths(self.git, folders, lambda: (order.tree, now or self._look()[1]))
        if order.handed_over:
            handed_over = set(map(self.folder, order.handed_over))
            settings = self._from_top(os.path.join(self.project.root.path, CONFIG_NAME))
            found |= paths_by_hand(self.git, folders, handed_over, now or self._look()[1]) - {settings}
        return found

    def set_aside(self, story: str, calls: tuple[CallId, ...], head: str | None) -> str:
        ref = f"{SAVED}{os.path.basename(self.run)}/{story}"
        saved = save_all(self.git, ref, f"Work on {story}, set aside")
        touched = touched_paths(self.git, map(self.folder, calls), lambda: (None, None))
        kept = {*self.dirty, *map(self._from_top, self.books(story).kept_apart)}
        head = self._put_history_back(head)
        differing = (
            {path for one in changes(self.git, head, saved) for path in (one.path, one.old_path)}
            if head
            else set()
        )
        if head and (paths := sorted((touched & differing) - kept)):
            put_back(self.git, head, paths, saved=ref)
        self._let_go()
        return ref

    def _put_history_back(self, head: str | None) -> str | None:
        """HEAD, moved forward again to what it held before where a call has taken commits from the branch."""
        now = head_of(self.git)
        if head is None or now is None or head == now or is_ancestor(self.git, head, now):
            return now
        if not self.lane.branch or branch_of(self.git) != self.lane.branch:
            return now
        move_ref(self.git, f"refs/heads/{self.lane.branch}", head, now)
        self.git.ask("read-tree", head)
        self.git.ask("update-index", "-q", "--refresh", codes=(0, 1))
        return head

    def check(self, code: str) -> Check:
        from ...gates.checks import run_checks

        folder = self.check_folder(code)
        refuse_links(self.run, folder)
        seconds = self.project.config.check_timeout * 60.0
        root = self.project.root.checkout
        wrote: list[list[str]] = []
        head_before, before = head_of(self.git) or "", self._tree_now()

        def after(command: str) -> None:
            nonlocal before
            paths, before = self._written(command, before)
            wrote.extend([command, path] for path in paths)

        write_atomic(self._under_check, before.encode(), durable=False)
        report = run_checks(self.lane.checks, root, self._plain, folder, seconds=seconds, after=after)
        self._forget_check()
        write_atomic(os.path.join(folder, "report.json"), report.to_json().encode(), durable=False)
        ran = [[check.command, check.exit, check.seconds] for check in report.checks]
        return Check(
            code,
            report.passed,
            report.is_environment,
            report.signature,
            report.told,
            ran=ran,
            wrote=wrote,
            put_back=bool(wrote) and self.is_apart(),
            head_before=head_before,
            head=head_of(self.git) or "",
        )

    @property
    def _under_check(self) -> str:
        """Holds the tree that is being checked, as long as it is."""
        return os.path.join(self.run, "under-check")

    def end_check(self) -> None:
        """After a kill during the checks: put back what they had written by then."""
        before = read_kept(self._under_check)
        if before is not None:
            if self.is_apart():
                self._written("checks that were cut short", before.decode("ascii", "replace"))
            self._forget_check()

    def _forget_check(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._under_check)

    def _tree_now(self) -> str:
        """Held, so that it can be put back; empty where git cannot read all of it: the next look says so."""
        try:
            tree = self._look()[1]
        except AutopilotError:
            return ""
        self.hold(tree)
        return tree

    def _written(self, command: str, before: str) -> tuple[list[str], str]:
        """The tracked files that a check has changed, and the work tree now. Where nobody but our lane works they
        are put back, so that what is tested is what is committed; elsewhere a person may have changed them. The
        board is left to those who watch it: `bmad board` may write it at any time."""
        now = self._tree_now()
        if not before or not now or before == now:
            return [], now
        differing = {path for one in changes(self.git, before, now) for path in (one.path, one.old_path)}
        options = ("--cached", "-z", "--full-name", *(("--with-tree=HEAD",) if head_of(self.git) else ()))
        tracked = set(self.git.ask("ls-files", *options).fields)
        paths = sorted((differing & tracked) - self.dirty - {self._from_top(self.project.require_board())})
        if paths and self.is_apart():
            ref = f"{SAVED}{os.path.basename(self.run)}/checks"
            save(self.git, ref, now, head_of(self.git), f"What a check has written: {command[:200]}")
            with suppress(ConflictError):  # it is written to all the time: the next look finds it changed
                put_back(self.git, before, paths, saved=ref)
            now = self._tree_now()
        return paths, now

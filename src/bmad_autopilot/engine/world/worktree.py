"""The lane's work tree: git, and the project's checks."""

import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property

from ...agents.attempt import AttemptResult
from ...agents.shim import tree_snapshot
from ...board.sprint_status import board_from_text
from ...core.errors import AutopilotError, ConflictError
from ...core.run_record import CheckRecord
from ...core.statuses import DONE
from ...git.commits import commit_paths, move_ref
from ...git.git import MovedError
from ...git.history import AUTOPILOT_IDENTITY, current_branch, current_head, find_commit, is_ancestor
from ...git.refs import SAVED, pin_tree, restore_paths, save_tree, save_work_tree, unpin_trees
from ...git.trees import diff_trees, fingerprint, read_file
from ...git.worktree_state import is_on_branch, precondition_error, read_worktree_state
from ...io.files import SPECIAL_FILE_KINDS, TextFile, entry_kind, not_regular_error, refuse_links, write_atomic
from ...project.root import CONFIG_NAME
from ..collect import UsersFiles, manual_changes, paths_changed_by
from ..observe import RETRO
from ..ports import AgentCall, CallId, CommitOrder, WorktreeSnapshot
from ..start_agent import command_environment
from ..story_paths import read_or_none
from .site import LaneSite

STEP_TRAILER, RUN_TRAILER = "Autopilot-Step", "Autopilot-Run"
_TRIES = 3  # to commit, while another process moves the branch
_FINAL_LABELS = ("done", "skipped", RETRO)  # labels of commits that end the judging of a story


class GitWorktree:
    """`state_file`: of a flow, whose commits hold the paths of a step's calls and this file in any case.
    `any_branch`: the lane has no branch of its own to be on."""

    def __init__(self, site: LaneSite, *, state_file: str = "", any_branch: bool = False) -> None:
        self._site = site
        self._git = site.git
        self._dirty = site.dirty
        self._state_file = state_file
        self._any_branch = any_branch
        self._was_usable = False  # the last full check found the work tree usable
        self._pinned: set[str] = set()
        # Paths that were the user's before the run began: never staged or committed by us.
        self.users_files = UsersFiles(site.dirty)

    def problem(self, branch: str) -> str:
        if self._any_branch:
            return ""
        if self._was_usable and branch and is_on_branch(self._git, branch):
            return ""
        problem = precondition_error(read_worktree_state(self._git), branch=branch or None)
        self._was_usable = problem is None
        return str(problem) if problem is not None else ""

    def snapshot(self, story: str) -> WorktreeSnapshot:
        snapshot, tree = self._take_snapshot()
        self.pin_tree(tree)
        return WorktreeSnapshot(snapshot.head, snapshot.branch, tree, self.code_hash(tree, story))

    def _refuse_odd_files(self) -> None:
        """Git stops without a message at a pipe, socket or device in the place of a tracked file."""
        for name in self._git.ask("ls-files", "-z").fields:
            path = os.path.join(self._git.top, name)
            kind = entry_kind(path)
            if kind in SPECIAL_FILE_KINDS:
                raise not_regular_error(path, "cannot be read by git", kind)

    def pin_tree(self, tree: str | None) -> None:
        """Pin a tree with a ref: calls are judged by trees that no commit holds, and an agent may run `git gc`."""
        if tree is not None and tree not in self._pinned:
            pin_tree(self._git, os.path.basename(self._site.run), tree)
            self._pinned.add(tree)

    def _unpin_trees(self) -> None:
        unpin_trees(self._git, os.path.basename(self._site.run))
        self._pinned.clear()

    def _take_snapshot(self) -> tuple[tree_snapshot.TreeSnapshot, str]:
        """The work tree and its hash. A partial snapshot is an error."""
        snapshot = tree_snapshot.look(self._git.top, self._environment, os.path.join(self._site.run, "index"))
        if snapshot.tree is None or snapshot.problem:
            self._refuse_odd_files()
            raise AutopilotError(
                snapshot.problem or "git could not read the work tree", hint="git status; is the disk full?"
            )
        return snapshot, snapshot.tree

    def snapshot_after(self, result: AttemptResult, story: str) -> WorktreeSnapshot:
        """The work tree after a call, from its supervisor's own snapshot."""
        if result.tree is None:
            return self.snapshot(story)
        self.pin_tree(result.tree)
        return WorktreeSnapshot(result.head, result.branch, result.tree, self.code_hash(result.tree, story))

    def code_hash(self, tree: str, story: str) -> str:
        return fingerprint(
            self._git, tree, {*self._dirty, *map(self._site.from_top, self._site.story_paths(story).bookkeeping)}
        )

    @cached_property
    def _environment(self) -> dict[str, str]:
        return command_environment(self._site.project.config, self._site.run, self._site.project.root)

    def changed_paths(self, before: str, after: str) -> tuple[str, ...]:
        return tuple(one.path for one in diff_trees(self._git, before, after)) if before != after else ()

    def is_own(self) -> bool:
        return self._site.has_own_worktree

    def is_clean(self) -> bool:
        """Whether nothing is changed or untracked but the paths that were so before the run."""
        worktree_state = read_worktree_state(self._git)
        return {*worktree_state.dirty, *worktree_state.untracked} <= self._dirty

    def is_committed_done(self, key: str, since: str | None) -> bool:
        head = current_head(self._git)
        if self.is_own() or head is None or since is None or head == since:
            return False  # in the lane's own work tree only its agents commit
        if not is_ancestor(self._git, since, head):
            return False
        board, output = (
            self._site.from_top(path)
            for path in (self._site.project.require_board(), self._site.project.folders.output)
        )
        if all(
            one.path.startswith(f"{output}/") or one.path == board for one in diff_trees(self._git, since, head)
        ):
            return False  # the commits contain no work
        before, now = (self._committed_status(commit, board, key) for commit in (since, head))
        return now == DONE != before

    def _committed_status(self, commit: str, board: str, key: str) -> str:
        """The row's meaning in a commit; empty if the board is not in git or cannot be read there."""
        try:
            raw = read_file(self._git, commit, board)
            row = board_from_text(TextFile(board, raw)).rows.get(key) if raw is not None else None
        except AutopilotError:
            return ""
        return row.meaning if row else ""

    def commit(self, order: CommitOrder) -> str:
        made = find_commit(self._git, order.key, order.since) or self._commit(order)
        if order.label in _FINAL_LABELS:
            self._unpin_trees()
        return made

    def _commit(self, order: CommitOrder) -> str:
        identity = read_worktree_state(self._git).identity or AUTOPILOT_IDENTITY
        message = f"{order.subject}\n\n{order.body}".strip()
        trailers = {STEP_TRAILER: order.key, RUN_TRAILER: os.path.basename(self._site.run)}
        for _ in range(_TRIES):
            with suppress(MovedError):  # a person has committed meanwhile: ours goes on top
                return commit_paths(self._git, self._paths_to_commit(order), message, trailers, identity=identity)
        return commit_paths(self._git, self._paths_to_commit(order), message, trailers, identity=identity)

    def _paths_to_commit(self, order: CommitOrder) -> list[str]:
        """The story's work and its own files. A person's other edits are not committed."""
        if self._state_file:
            touched = {path for path in self.story_changes(order, order.calls) if path not in self.users_files}
            return sorted(touched | {self._site.from_top(self._state_file)})
        paths = set() if order.story else {self._site.from_top(self._site.project.require_board())}
        if order.story:
            paths |= {self._site.from_top(path) for path in self._site.story_paths(order.story).bookkeeping}
            paths |= self.story_changes(order, order.calls)
        if order.label == RETRO:  # code that a retrospective changed is not reviewed: do not commit it
            output = self._site.from_top(self._site.project.folders.output)
            paths = {path for path in paths if path.startswith(f"{output}/")}
        return sorted(path for path in paths if path not in self.users_files)

    def story_changes(
        self, order: CommitOrder | AgentCall, calls: Iterable[CallId], now: str | None = None
    ) -> set[str]:
        """Paths changed by these calls, and by a person who took the story over. The settings file is excluded:
        the user who changed it commits it."""
        folders = [self._site.folder(call) for call in calls]
        found = paths_changed_by(self._git, folders, lambda: (order.tree, now or self._take_snapshot()[1]))
        if order.handed_over:
            handed_over = set(map(self._site.folder, order.handed_over))
            settings = self._site.from_top(os.path.join(self._site.project.root.path, CONFIG_NAME))
            found |= manual_changes(self._git, folders, handed_over, now or self._take_snapshot()[1]) - {settings}
        return found

    def stash(self, story: str, calls: tuple[CallId, ...], head: str | None) -> str:
        ref = f"{SAVED}{os.path.basename(self._site.run)}/{story}"
        saved = save_work_tree(self._git, ref, f"Work on {story}, set aside")
        touched = paths_changed_by(self._git, map(self._site.folder, calls), lambda: (None, None))
        kept = {*self._dirty, *map(self._site.from_top, self._site.story_paths(story).bookkeeping)}
        head = self._restore_history(head)
        differing = (
            {path for one in diff_trees(self._git, head, saved) for path in (one.path, one.old_path)}
            if head
            else set()
        )
        if head and (paths := sorted((touched & differing) - kept)):
            restore_paths(self._git, head, paths, saved_ref=ref)
        self._unpin_trees()
        return ref

    def _restore_history(self, head: str | None) -> str | None:
        """HEAD, after moving the branch back to `head` if a call has removed commits from it."""
        now = current_head(self._git)
        if head is None or now is None or head == now or is_ancestor(self._git, head, now):
            return now
        if not self._site.lane.branch or current_branch(self._git) != self._site.lane.branch:
            return now
        move_ref(self._git, f"refs/heads/{self._site.lane.branch}", head, now)
        self._git.ask("read-tree", head)
        self._git.ask("update-index", "-q", "--refresh", codes=(0, 1))
        return head

    def check(self, code: str) -> CheckRecord:
        from ...gates.checks import run_checks

        folder = self._site.check_folder(code)
        refuse_links(self._site.run, folder)
        seconds = self._site.project.config.check_timeout * 60.0
        root = self._site.project.root.checkout
        wrote: list[list[str]] = []
        head_before, before = current_head(self._git) or "", self._current_tree()

        def after(command: str) -> None:
            nonlocal before
            paths, before = self._revert_check_writes(command, before)
            wrote.extend([command, path] for path in paths)

        write_atomic(self._check_marker, before.encode(), durable=False)
        report = run_checks(
            self._site.lane.checks, root, self._environment, folder, seconds=seconds, on_command_end=after
        )
        self._remove_check_marker()
        write_atomic(os.path.join(folder, "report.json"), report.to_json().encode(), durable=False)
        ran = [[check.command, check.exit, check.seconds] for check in report.checks]
        return CheckRecord(
            code,
            report.passed,
            report.is_environment,
            report.signature,
            report.failure_text,
            ran=ran,
            wrote=wrote,
            put_back=bool(wrote) and self.is_own(),
            head_before=head_before,
            head=current_head(self._git) or "",
        )

    def check_logs(self, code: str) -> str:
        return self._site.display_path(self._site.check_folder(code))

    @property
    def _check_marker(self) -> str:
        """Marker file with the hash of the tree being checked; exists only while checks run."""
        return os.path.join(self._site.run, "under-check")

    def recover_check(self) -> None:
        """After a kill during the checks: revert the files they had written."""
        before = read_or_none(self._check_marker)
        if before is not None:
            if self.is_own():
                self._revert_check_writes("checks that were cut short", before.decode("ascii", "replace"))
            self._remove_check_marker()

    def _remove_check_marker(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._check_marker)

    def _current_tree(self) -> str:
        """Pinned, so that it can be restored. Empty if git cannot read all of it: the next snapshot raises."""
        try:
            tree = self._take_snapshot()[1]
        except AutopilotError:
            return ""
        self.pin_tree(tree)
        return tree

    def _revert_check_writes(self, command: str, before: str) -> tuple[list[str], str]:
        """The tracked files that a check has changed, and the work tree now. In the lane's own work tree they are
        reverted, so that the tested tree is the committed one; elsewhere a person may have changed them. The board
        is not touched: `bmad board` may write it at any time."""
        now = self._current_tree()
        if not before or not now or before == now:
            return [], now
        differing = {path for one in diff_trees(self._git, before, now) for path in (one.path, one.old_path)}
        options = ("--cached", "-z", "--full-name", *(("--with-tree=HEAD",) if current_head(self._git) else ()))
        tracked = set(self._git.ask("ls-files", *options).fields)
        paths = sorted(
            (differing & tracked) - self._dirty - {self._site.from_top(self._site.project.require_board())}
        )
        if paths and self.is_own():
            ref = f"{SAVED}{os.path.basename(self._site.run)}/checks"
            save_tree(self._git, ref, now, current_head(self._git), f"What a check has written: {command[:200]}")
            with suppress(ConflictError):  # written to continuously: the next observation finds it changed
                restore_paths(self._git, before, paths, saved_ref=ref)
            now = self._current_tree()
        return paths, now

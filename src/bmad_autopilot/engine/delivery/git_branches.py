"""The branch port implemented with git."""

import os
import shlex
from collections.abc import Callable, Mapping, Set
from contextlib import suppress

from ...board.merge_files import MergeKind, merge_deferred
from ...core.errors import AutopilotError
from ...git.branches import Branches
from ...git.commits import move_ref
from ...git.git import Git, GitError
from ...git.history import AUTOPILOT_IDENTITY, STEP_TRAILER, commits_between, current_head
from ...git.merge import FileMerger, merge_semantically
from ...git.refs import REFS
from ...git.trees import read_file
from ...git.worktree_state import is_on_branch, precondition_error, read_worktree_state
from ..story_paths import DEFERRED
from .branch_port import BranchMerge

DELIVERED = f"{REFS}delivered/"
MAX_SHOWN = 5


class GitBranches:
    """`board`: its path from git's top; `code`: a tree's key for check results; `preexisting`: paths with
    uncommitted changes from before the run."""

    def __init__(
        self, git: Git, remote: str, board: str, code: Callable[[str], str], preexisting: Set[str]
    ) -> None:
        self._git = git
        self._branches = Branches(git, remote)
        self._code = code
        self._preexisting = preexisting
        self._board = board
        self._deferred = os.path.join(os.path.dirname(board), DEFERRED)

    def remote_heads(self, *branches: str) -> dict[str, str]:
        return self._branches.fetch(*branches)

    def head(self, branch: str) -> str:
        return self._branches.branch_head(branch)

    def contains(self, newer: str, older: str) -> bool:
        try:
            return newer == older or self._branches.contains(newer, older)
        except GitError:
            if self._has_commit(newer):
                raise
            return False

    def fork_point(self, one: str, other: str) -> str:
        if not self._has_commit(other):
            return ""
        return self._git.ask("merge-base", one, other, codes=(0, 1)).text

    def _has_commit(self, commit: str) -> bool:
        """The branch of a head that the forge reports may have been deleted before we fetched it."""
        return self._git.ask("cat-file", "-e", f"{commit}^{{commit}}", codes=(0, 1, 128)).code == 0

    def tree(self, commit: str) -> str:
        return self._branches.tree_of(commit)

    def code(self, commit: str) -> str:
        return self._code(self.tree(commit))

    def has_file(self, commit: str, path: str) -> bool:
        return self._git.ask("cat-file", "-e", f"{commit}:{path}", codes=(0, 1, 128)).code == 0

    def push(self, branch: str, commit: str, expect: str) -> None:
        self._branches.push(branch, commit, expect)

    def merge_commits(
        self, head: str, other: str, since: str, key: str, message: str, resolved: tuple[str, ...] = ()
    ) -> BranchMerge:
        meant = {self._board: self._merge_boards(head, other), self._deferred: merge_deferred}
        merges: dict[str, FileMerger] = {**dict.fromkeys(resolved, _ours), **meant}
        trailers = {STEP_TRAILER: f"base/{key}"}
        result = self._branches.merge_base_into(
            head, other, message=message, trailers=trailers, merges=merges, since=since or None
        )
        return BranchMerge(*result)

    def _merge_boards(self, *heads: str) -> FileMerger:
        """A row set by a person's own commit wins. Both heads are searched: neither need be on our branch."""

        def merge(base: bytes | None, ours: bytes, theirs: bytes) -> bytes | None:
            merged = merge_semantically(
                self._git, self._board, MergeKind.BOARD, base or b"", ours, theirs, extra_revisions=heads
            )
            return merged.data if merged is not None else None

        return merge

    def conflict_texts(self, head: str, other: str, result: BranchMerge) -> dict[str, str]:
        options = ("--write-tree", "-z", "--name-only", "--no-messages", "--allow-unrelated-histories")
        merged = self._git.ask("merge-tree", *options, head, result.instead or other, codes=(0, 1)).fields
        return {path: _text(read_file(self._git, merged[0], path)) for path in result.conflicts}

    def move(self, branch: str, new: str, old: str) -> None:
        self._branches.move_branch(branch, new, old)

    def checkout_problem(self, branch: str, commit: str) -> str:
        if not is_on_branch(self._git, branch) or current_head(self._git) != commit:
            return f"{branch} is not checked out"
        dirty = [path for path in read_worktree_state(self._git).dirty if path not in self._preexisting]
        shown = ", ".join(dirty[:MAX_SHOWN]) + (" …" if len(dirty) > MAX_SHOWN else "")
        return f"files are changed and not committed: {shown}" if dirty else ""

    def check_out(self, branch: str) -> None:
        ground = read_worktree_state(self._git)
        problem = precondition_error(ground)
        if problem is not None:
            raise problem
        self._branches.switch(branch)

    def describe_check_writes(self, wrote: Mapping[str, str]) -> str:
        changed = [path for path in read_worktree_state(self._git).dirty if path in wrote]
        if not changed:
            return ""
        shown = ", ".join(changed[:MAX_SHOWN]) + (" …" if len(changed) > MAX_SHOWN else "")
        commands = ", ".join(f"`{command}`" for command in sorted({wrote[path] for path in changed}))
        files = " ".join(map(shlex.quote, changed))
        return (
            f"the check {commands} changed files that git tracks: {shown}\n"
            f"put them back: git -C {shlex.quote(self._git.top)} checkout HEAD -- {files}\n"
            "let the check only look at them, or commit what it writes; else this happens again"
        )

    def squash(self, base: str, head: str, message: str) -> str:
        author = read_worktree_state(self._git).identity or AUTOPILOT_IDENTITY
        return self._branches.squash(base, head, message, author)

    def merge_instructions(self, branch: str, base: str, result: BranchMerge) -> str:
        return self._branches.conflict_steps(branch, base, result.conflicts, result.instead)

    def trailers(self, older: str, newer: str) -> list[tuple[str, str]]:
        ours = [one for one in commits_between(self._git, older, newer) if one.committer == AUTOPILOT_IDENTITY]
        return [pair for one in reversed(ours) for pair in one.trailers]

    def delete_merged(self, branch: str, base: str) -> None:
        """A ref of ours keeps the commits: after a squash no branch contains them."""
        head = self.head(branch)
        if not head:
            return
        with suppress(AutopilotError):  # a local base with commits of its own is left to the user
            self._fast_forward(base)
        if is_on_branch(self._git, branch):
            self._leave_branch(base, head)
        ref = f"{DELIVERED}{branch}"
        kept = self._git.ask("rev-parse", "--verify", "--quiet", ref, codes=(0, 1)).text
        move_ref(self._git, ref, head, kept)
        self._git.ask("update-ref", "-d", f"refs/heads/{branch}", head)

    def _leave_branch(self, base: str, head: str) -> None:
        """Detach a linked worktree, which is removed with its epic; switch the main checkout to the base."""
        tree = self._git.work_tree
        if tree is not None and tree.is_linked:
            self._git.ask("update-ref", "--no-deref", "HEAD", head)
        else:
            self._branches.switch(base)

    def _fast_forward(self, base: str) -> None:
        """Fast-forward the local base branch to the remote's."""
        if not self._branches.remote_url():
            return
        there, here = self._branches.fetch(base)[base], self.head(base)
        if there and not here:
            move_ref(self._git, f"refs/heads/{base}", there, "")
        elif there and here != there and self.contains(there, here):
            self._branches.move_branch(base, there, here)


def _ours(base: bytes | None, ours: bytes, theirs: bytes) -> bytes:
    return ours


def _text(data: bytes | None) -> str:
    """Empty: one side has deleted it, or it is not text."""
    return "" if data is None or b"\0" in data else data.decode("utf-8", "replace")

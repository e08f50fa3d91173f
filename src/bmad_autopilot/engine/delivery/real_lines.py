"""The branches' door, with real git behind it."""

import os
import shlex
from collections.abc import Callable, Mapping, Set
from contextlib import suppress

from ...board.meanings import Meaning
from ...board.merging_deferred import merge_deferred
from ...core.errors import AutopilotError
from ...github.branches import Branches
from ...github.commits import move_ref
from ...github.git import Git, GitError
from ...github.ground import is_unchanged, look_at_ground, refusal
from ...github.hands import merge_as_meant
from ...github.history import commits_between, head_of
from ...github.identities import OURS
from ...github.messages import STEP
from ...github.saving import REFS
from ...github.taking_in import Merge
from ...github.trees import read_file
from ..books import DEFERRED
from .lines import TakenIn

DELIVERED = f"{REFS}delivered/"
MAX_SHOWN = 5


class RealLines:
    """`board`: its path from git's top; `code`: what checks are kept by, of a tree; `left_out`: paths that
    somebody had changed before the run began."""

    def __init__(self, git: Git, remote: str, board: str, code: Callable[[str], str], left_out: Set[str]) -> None:
        self._git = git
        self._branches = Branches(git, remote)
        self._code = code
        self._left_out = left_out
        self._board = board
        self._deferred = os.path.join(os.path.dirname(board), DEFERRED)

    def remote_heads(self, *branches: str) -> dict[str, str]:
        return self._branches.fetch(*branches)

    def head(self, branch: str) -> str:
        return self._branches.head_of(branch)

    def contains(self, newer: str, older: str) -> bool:
        try:
            return newer == older or self._branches.contains(newer, older)
        except GitError:
            if self._is_here(newer):
                raise
            return False

    def fork_point(self, one: str, other: str) -> str:
        if not self._is_here(other):
            return ""
        return self._git.ask("merge-base", one, other, codes=(0, 1)).text

    def _is_here(self, commit: str) -> bool:
        """A head that the forge names may be of a branch that was deleted before we fetched it."""
        return self._git.ask("cat-file", "-e", f"{commit}^{{commit}}", codes=(0, 1, 128)).code == 0

    def tree(self, commit: str) -> str:
        return self._branches.tree_of(commit)

    def code(self, commit: str) -> str:
        return self._code(self.tree(commit))

    def holds(self, commit: str, path: str) -> bool:
        return self._git.ask("cat-file", "-e", f"{commit}:{path}", codes=(0, 1, 128)).code == 0

    def push(self, branch: str, commit: str, expect: str) -> None:
        self._branches.push(branch, commit, expect)

    def take_in(
        self, head: str, other: str, since: str, key: str, message: str, settled: tuple[str, ...] = ()
    ) -> TakenIn:
        meant = {self._board: self._merge_boards(head, other), self._deferred: merge_deferred}
        merges: dict[str, Merge] = {**dict.fromkeys(settled, _ours), **meant}
        trailers = {STEP: f"base/{key}"}
        taken = self._branches.take_in(
            head, other, message=message, trailers=trailers, merges=merges, since=since or None
        )
        return TakenIn(*taken)

    def _merge_boards(self, *heads: str) -> Merge:
        """What a person set in a commit of their own stands: neither head need be on a branch of ours."""

        def merge(base: bytes | None, ours: bytes, theirs: bytes) -> bytes | None:
            merged = merge_as_meant(self._git, self._board, Meaning.BOARD, base or b"", ours, theirs, among=heads)
            return merged.data if merged is not None else None

        return merge

    def conflict_texts(self, head: str, other: str, taken: TakenIn) -> dict[str, str]:
        options = ("--write-tree", "-z", "--name-only", "--no-messages", "--allow-unrelated-histories")
        merged = self._git.ask("merge-tree", *options, head, taken.instead or other, codes=(0, 1)).fields
        return {path: _text(read_file(self._git, merged[0], path)) for path in taken.conflicts}

    def move(self, branch: str, new: str, old: str) -> None:
        self._branches.move(branch, new, old)

    def stands(self, branch: str, commit: str) -> str:
        if not is_unchanged(self._git, branch) or head_of(self._git) != commit:
            return f"{branch} is not checked out"
        dirty = [path for path in look_at_ground(self._git).dirty if path not in self._left_out]
        shown = ", ".join(dirty[:MAX_SHOWN]) + (" …" if len(dirty) > MAX_SHOWN else "")
        return f"files are changed and not committed: {shown}" if dirty else ""

    def stand(self, branch: str) -> None:
        ground = look_at_ground(self._git)
        problem = refusal(ground)
        if problem is not None:
            raise problem
        self._branches.switch(branch)

    def written(self, wrote: Mapping[str, str]) -> str:
        changed = [path for path in look_at_ground(self._git).dirty if path in wrote]
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
        author = look_at_ground(self._git).identity or OURS
        return self._branches.squash(base, head, message, author)

    def steps_for(self, branch: str, base: str, taken: TakenIn) -> str:
        return self._branches.conflict_steps(branch, base, taken.conflicts, taken.instead)

    def trailers(self, older: str, newer: str) -> list[tuple[str, str]]:
        ours = [one for one in commits_between(self._git, older, newer) if one.committer == OURS]
        return [pair for one in reversed(ours) for pair in one.trailers]

    def forget(self, branch: str, base: str) -> None:
        """What it held stays under a ref of ours: a squash leaves its commits in no branch."""
        head = self.head(branch)
        if not head:
            return
        with suppress(AutopilotError):  # a local base that went its own way is its owner's
            self._forward(base)
        if is_unchanged(self._git, branch):
            self._leave(base, head)
        ref = f"{DELIVERED}{branch}"
        kept = self._git.ask("rev-parse", "--verify", "--quiet", ref, codes=(0, 1)).text
        move_ref(self._git, ref, head, kept)
        self._git.ask("update-ref", "-d", f"refs/heads/{branch}", head)

    def _leave(self, base: str, head: str) -> None:
        """A worktree goes with its epic: it stays where it is, on no branch."""
        tree = self._git.work_tree
        if tree is not None and tree.is_linked:
            self._git.ask("update-ref", "--no-deref", "HEAD", head)
        else:
            self._branches.switch(base)

    def _forward(self, base: str) -> None:
        """The base branch here, to what the remote has."""
        if not self._branches.remote_url():
            return
        there, here = self._branches.fetch(base)[base], self.head(base)
        if there and not here:
            move_ref(self._git, f"refs/heads/{base}", there, "")
        elif there and here != there and self.contains(there, here):
            self._branches.move(base, there, here)


def _ours(base: bytes | None, ours: bytes, theirs: bytes) -> bytes:
    return ours


def _text(data: bytes | None) -> str:
    """Empty: one side has deleted it, or it is no text."""
    return "" if data is None or b"\0" in data else data.decode("utf-8", "replace")

"""The branch port in memory: local branches, those of the simulated GitHub, and one work tree."""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from ...board.merge import merge_boards
from ...board.merge_files import merge_deferred
from ...core.errors import ConflictError
from ...core.forge_errors import ForgeError, ForgeErrorKind
from ...engine.delivery.branch_port import BranchMerge
from ...engine.story_paths import DEFERRED
from ...git.history import STEP_TRAILER
from ..effect_log import EffectActor
from ..faults import CrashPhase
from ..github.refs import RefMoved, merge_files
from .git import Files, MemoryGit

if TYPE_CHECKING:
    from .world import Hub, MemoryWorld

MergeFile = Callable[[bytes | None, bytes, bytes], bytes | None]


class MemoryBranches:
    """`key`: the lane's fix round, whose story paths are excluded from the code hash; `left_out`: paths that were
    dirty before the run."""

    def __init__(self, world: "MemoryWorld", hub: "Hub", run: str, key: str, preexisting: Collection[str]) -> None:
        self._world = world
        self._site = world.site_of(run)
        self._hub = hub
        self._refs = hub.refs
        self._run = run
        self._key = key
        self._preexisting = frozenset(preexisting)
        folder = self._site.story_paths.folder
        self._semantic_merges: dict[str, MergeFile] = {
            self._site.story_paths.board: _merge_boards,
            f"{folder}/{DEFERRED}": merge_deferred,
        }

    @property
    def _git(self) -> MemoryGit:
        return self._site.git

    # reading

    def remote_heads(self, *branches: str) -> dict[str, str]:
        self._hub.inject_fault("fetch", is_effect=False)
        return {branch: self._refs.head_of(branch) for branch in branches}

    def head(self, branch: str) -> str:
        return self._git.head_of(branch)

    def contains(self, newer: str, older: str) -> bool:
        return self._refs.contains(newer, older)

    def fork_point(self, one: str, other: str) -> str:
        return self._refs.merge_base(one, other)

    def tree(self, commit: str) -> str:
        return self._refs.tree_of(commit)

    def code(self, commit: str) -> str:
        """The code hash of a commit, comparable with the work tree's: check results are stored under it."""
        known = self._hub.code_hashes.get(commit)
        if known is None:
            known = MemoryGit(self._refs.files(commit)).code_hash(self._site.story_paths.non_code_paths(self._key))
            self._hub.code_hashes[commit] = known
        return known

    def has_file(self, commit: str, path: str) -> bool:
        return self._refs.read(commit, path) is not None

    def trailers(self, older: str, newer: str) -> list[tuple[str, str]]:
        keys = (self._git.commits[one.sha].key for one in self._refs.ahead(older, newer))
        return [(STEP_TRAILER, key) for key in keys if key]

    def checkout_problem(self, branch: str, commit: str) -> str:
        if (self._git.branch, self._git.head) != (branch, commit):
            return f"{branch} is not checked out"
        dirty = self._dirty()
        return f"files are changed and not committed: {', '.join(dirty[:5])}" if dirty else ""

    def describe_check_writes(self, wrote: Mapping[str, str]) -> str:
        return ""  # simulated checks write no files

    def _dirty(self) -> list[str]:
        return [path for path in self._git.dirty() if path not in self._preexisting]

    def merge_instructions(self, branch: str, base: str, result: BranchMerge) -> str:
        return f"git switch {branch}; git merge {result.instead or base}  # {', '.join(result.conflicts)}"

    # the remote

    def push(self, branch: str, commit: str, expect: str) -> None:
        """Like the real port: never overwrites commits that ours does not contain."""
        if expect and not self.contains(commit, expect):
            raise ConflictError(f"{branch} holds commits that ours does not", found=expect, expected=commit)
        is_lost = self._hub.inject_fault("push", is_effect=True)
        if self._refs.head_of(branch) != commit:
            try:
                self._hub.model.push(branch, commit, expect)
            except RefMoved:
                raise ForgeError(ForgeErrorKind.REFUSED, f"{branch} is not where it was") from None
        self._effect("push", branch=branch, sha=commit)
        if is_lost:
            raise ForgeError(ForgeErrorKind.UNAVAILABLE, "the answer was lost")

    # merging

    def merge_commits(
        self, head: str, other: str, since: str, key: str, message: str, resolved: tuple[str, ...] = ()
    ) -> BranchMerge:
        if self.contains(head, other):
            return BranchMerge(head)
        if self.contains(other, head):
            return BranchMerge(other)
        named = (head, other, since)
        if named not in self._hub.merge_results:
            self._hub.merge_results[named] = self._merge(head, other, since, key, message, resolved)
        return self._hub.merge_results[named]

    def conflict_texts(self, head: str, other: str, result: BranchMerge) -> dict[str, str]:
        sides = [self._refs.files(one) for one in (head, other)]
        marks = ("<<<<<<< ours\n", ">>>>>>> theirs\n")
        return {
            path: "".join(mark + side.get(path, b"").decode() for mark, side in zip(marks, sides, strict=True))
            for path in result.conflicts
        }

    def _merge(
        self, head: str, other: str, since: str, key: str, message: str, resolved: tuple[str, ...]
    ) -> BranchMerge:
        bases = [self._refs.merge_base(head, one) for one in (other, since) if one]
        base = max(bases, key=lambda one: len(self._git.history(one)))
        was, ours, theirs = (self._refs.files(one) for one in (base, head, other))
        merged, conflicts = merge_files(was, ours, theirs)
        contents: dict[str, bytes | None] = {
            path: ours[path] for path in resolved if path in ours and path in conflicts
        }
        contents |= {
            path: merge(was.get(path), ours[path], theirs[path])
            for path, merge in self._changed_on_both_sides(was, ours, theirs)
        }
        unresolved = tuple(path for path in {*conflicts, *contents} if contents.get(path) is None)
        if unresolved:
            return BranchMerge("", tuple(sorted(unresolved)))
        written = {path: data for path, data in contents.items() if data is not None}
        sha = self._refs.make_commit({**merged, **written}, (head, other), message, key=f"base/{key}")
        return BranchMerge(sha, semantic=tuple(sorted(written)))

    def _changed_on_both_sides(self, was: Files, ours: Files, theirs: Files) -> list[tuple[str, MergeFile]]:
        """Files changed on both sides that have a semantic merge."""
        return [
            (path, merge)
            for path, merge in self._semantic_merges.items()
            if path in ours and path in theirs and len({was.get(path), ours[path], theirs[path]}) == 3
        ]

    def squash(self, base: str, head: str, message: str) -> str:
        return self._refs.make_commit(self._refs.files(head), (base,), message)

    # the work tree

    def move(self, branch: str, new: str, old: str) -> None:
        if self.head(branch) != old or (old and not self.contains(new, old)):
            raise ConflictError(f"{branch} has moved meanwhile", found=self.head(branch), expected=old)
        tree = self._git.work_tree_of(branch)
        if tree is not None:
            self._refuse_dirty(tree)
            tree.check_out(branch, new)
        else:
            self._git.heads[branch] = new
        self._effect("move", branch=branch, sha=new)

    def check_out(self, branch: str) -> None:
        self.switch(branch, self.head(branch))

    def switch(self, branch: str, start: str) -> None:
        """Check out a branch; a new one starts at `start`."""
        if branch == self._git.branch:
            return
        self._refuse_dirty(self._git)
        if self._git.work_tree_of(branch) is not None:
            raise ConflictError(f"{branch} is checked out in another work tree")
        commit = self.head(branch) or start
        if not commit:
            raise ConflictError(f"there is no branch {branch}")
        self._git.check_out(branch, commit)
        self._effect("switch", branch=branch)

    def delete_merged(self, branch: str, base: str) -> None:
        """Delete a merged branch after moving to the base, like the real port."""
        if not self.head(branch):
            return
        there, here = self._refs.head_of(base), self.head(base)
        with suppress(ConflictError):  # left to the user
            if there and here != there and self.contains(there, here):
                self.move(base, there, here)
        if self._site.is_own:
            self._git.detach()
        else:
            self.switch(base, there)
        self._git.heads.pop(branch, None)
        self._effect("forget", branch=branch)

    def _refuse_dirty(self, tree: MemoryGit) -> None:
        dirty = [path for path in tree.dirty() if path not in self._preexisting]
        if dirty:
            raise ConflictError("files have changes that are not committed", found=", ".join(dirty[:5]))

    def _effect(self, kind: str, **data: str) -> None:
        self._world.record(EffectActor.US, kind, self._run, **data)
        self._world.crash_point(kind, CrashPhase.AFTER_EFFECT)


def _merge_boards(base: bytes | None, ours: bytes, theirs: bytes) -> bytes | None:
    merged = merge_boards(base, ours, theirs)
    return merged.data if merged is not None else None

"""The branches' door in memory: local branches beside those of the simulated GitHub, and one work tree."""

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from ..board.merging import merge_boards
from ..board.merging_deferred import merge_deferred
from ..core.errors import ConflictError
from ..engine.books import DEFERRED
from ..engine.delivery.lines import TakenIn
from ..github.forge import ForgeError, Trouble
from ..github.messages import STEP
from .faults import Phase
from .github.merging import merge_files
from .github.refs import RefMoved
from .log import Actor
from .memory_git import Files, MemoryGit

if TYPE_CHECKING:
    from .memory import World
    from .memory_hub import Hub

Merge = Callable[[bytes | None, bytes, bytes], bytes | None]


class MemoryLines:
    """`key`: of the lane's rounds, by whose books its code is known; `left_out`: paths that somebody had changed
    before the run began."""

    def __init__(self, world: "World", hub: "Hub", run: str, key: str, left_out: Collection[str]) -> None:
        self._world = world
        self._hub = hub
        self._refs = hub.refs
        self._run = run
        self._key = key
        self._left_out = frozenset(left_out)
        folder = world.books.folder
        self._merges: dict[str, Merge] = {world.books.board: _boards, f"{folder}/{DEFERRED}": merge_deferred}

    @property
    def _git(self) -> MemoryGit:
        return self._world.git

    # looking

    def remote_heads(self, *branches: str) -> dict[str, str]:
        self._hub.stumble("fetch", is_effect=False)
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
        """As the work tree's: checks are kept by it."""
        known = self._hub.codes.get(commit)
        if known is None:
            known = MemoryGit(self._refs.files(commit)).code(self._world.books.apart(self._key))
            self._hub.codes[commit] = known
        return known

    def holds(self, commit: str, path: str) -> bool:
        return self._refs.read(commit, path) is not None

    def trailers(self, older: str, newer: str) -> list[tuple[str, str]]:
        keys = (self._git.commits[one.sha].key for one in self._refs.ahead(older, newer))
        return [(STEP, key) for key in keys if key]

    def stands(self, branch: str, commit: str) -> str:
        if (self._git.branch, self._git.head) != (branch, commit):
            return f"{branch} is not checked out"
        dirty = self._dirty()
        return f"files are changed and not committed: {', '.join(dirty[:5])}" if dirty else ""

    def written(self, wrote: Mapping[str, str]) -> str:
        return ""  # checks write nothing here

    def _dirty(self) -> list[str]:
        return [path for path in self._git.dirty() if path not in self._left_out]

    def steps_for(self, branch: str, base: str, taken: TakenIn) -> str:
        return f"git switch {branch}; git merge {taken.instead or base}  # {', '.join(taken.conflicts)}"

    # the remote

    def push(self, branch: str, commit: str, expect: str) -> None:
        """As the real one: never over commits that ours does not hold."""
        if expect and not self.contains(commit, expect):
            raise ConflictError(f"{branch} holds commits that ours does not", found=expect, expected=commit)
        is_lost = self._hub.stumble("push", is_effect=True)
        if self._refs.head_of(branch) != commit:
            try:
                self._hub.model.push(branch, commit, expect)
            except RefMoved:
                raise ForgeError(Trouble.REFUSED, f"{branch} is not where it was") from None
        self._did("push", branch=branch, sha=commit)
        if is_lost:
            raise ForgeError(Trouble.AWAY, "the answer was lost")

    # merging

    def take_in(
        self, head: str, other: str, since: str, key: str, message: str, settled: tuple[str, ...] = ()
    ) -> TakenIn:
        if self.contains(head, other):
            return TakenIn(head)
        if self.contains(other, head):
            return TakenIn(other)
        named = (head, other, since)
        if named not in self._hub.merges:
            self._hub.merges[named] = self._merge(head, other, since, key, message, settled)
        return self._hub.merges[named]

    def conflict_texts(self, head: str, other: str, taken: TakenIn) -> dict[str, str]:
        sides = [self._refs.files(one) for one in (head, other)]
        marks = ("<<<<<<< ours\n", ">>>>>>> theirs\n")
        return {
            path: "".join(mark + side.get(path, b"").decode() for mark, side in zip(marks, sides, strict=True))
            for path in taken.conflicts
        }

    def _merge(
        self, head: str, other: str, since: str, key: str, message: str, settled: tuple[str, ...]
    ) -> TakenIn:
        bases = [self._refs.merge_base(head, one) for one in (other, since) if one]
        base = max(bases, key=lambda one: len(self._git.history(one)))
        was, ours, theirs = (self._refs.files(one) for one in (base, head, other))
        merged, conflicts = merge_files(was, ours, theirs)
        meant: dict[str, bytes | None] = {
            path: ours[path] for path in settled if path in ours and path in conflicts
        }
        meant |= {
            path: merge(was.get(path), ours[path], theirs[path]) for path, merge in self._both(was, ours, theirs)
        }
        left = tuple(path for path in {*conflicts, *meant} if meant.get(path) is None)
        if left:
            return TakenIn("", tuple(sorted(left)))
        written = {path: data for path, data in meant.items() if data is not None}
        sha = self._refs.make({**merged, **written}, (head, other), message, key=f"base/{key}")
        return TakenIn(sha, semantic=tuple(sorted(written)))

    def _both(self, was: Files, ours: Files, theirs: Files) -> list[tuple[str, Merge]]:
        """What both sides changed and is merged by what it means."""
        return [
            (path, merge)
            for path, merge in self._merges.items()
            if path in ours and path in theirs and len({was.get(path), ours[path], theirs[path]}) == 3
        ]

    def squash(self, base: str, head: str, message: str) -> str:
        return self._refs.make(self._refs.files(head), (base,), message)

    # the work tree

    def move(self, branch: str, new: str, old: str) -> None:
        if self.head(branch) != old or (old and not self.contains(new, old)):
            raise ConflictError(f"{branch} has moved meanwhile", found=self.head(branch), expected=old)
        if branch == self._git.branch:
            self._refuse_dirty()
            self._git.check_out(branch, new)
        else:
            self._git.heads[branch] = new
        self._did("move", branch=branch, sha=new)

    def stand(self, branch: str) -> None:
        self.switch(branch, self.head(branch))

    def switch(self, branch: str, start: str) -> None:
        """One that does not exist begins at `start`."""
        if branch == self._git.branch:
            return
        self._refuse_dirty()
        commit = self.head(branch) or start
        if not commit:
            raise ConflictError(f"there is no branch {branch}")
        self._git.check_out(branch, commit)
        self._did("switch", branch=branch)

    def forget(self, branch: str, base: str) -> None:
        """As the real one."""
        if not self.head(branch):
            return
        there, here = self._refs.head_of(base), self.head(base)
        if there and here != there and self.contains(there, here):
            self.move(base, there, here)
        self.switch(base, there)
        self._git.heads.pop(branch, None)
        self._did("forget", branch=branch)

    def _refuse_dirty(self) -> None:
        dirty = self._dirty()
        if dirty:
            raise ConflictError("files have changes that are not committed", found=", ".join(dirty[:5]))

    def _did(self, kind: str, **data: str) -> None:
        self._world.did(Actor.US, kind, self._run, **data)
        self._world.point(kind, Phase.AFTER_EFFECT)


def _boards(base: bytes | None, ours: bytes, theirs: bytes) -> bytes | None:
    merged = merge_boards(base, ours, theirs)
    return merged.data if merged is not None else None

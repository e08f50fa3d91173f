"""The branches of the simulated repository, and what they hold: commits in memory, or real git."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ..memory_git import Commit, Files, MemoryGit, changed_paths, sha_of
from .merging import merge_files

WEB_FLOW = "GitHub"  # who commits what is merged on the site


class RefMoved(Exception):
    """The branch does not hold what was expected."""


class Squash(NamedTuple):
    sha: str
    conflicts: tuple[str, ...] = ()  # then there is no sha


class CommitFact(NamedTuple):
    sha: str
    parents: tuple[str, ...]
    message: str
    committer: str


class Refs(Protocol):
    def branches(self) -> dict[str, str]: ...
    def head_of(self, branch: str) -> str:
        """Empty: there is no such branch."""

    def set(self, branch: str, sha: str, expect: str | None = None) -> None:
        """RefMoved where it holds something else than `expect` (empty: it must not exist)."""

    def delete(self, branch: str, expect: str | None = None) -> None: ...
    def parents(self, sha: str) -> tuple[str, ...]: ...
    def merge_base(self, one: str, other: str) -> str: ...
    def contains(self, newer: str, older: str) -> bool: ...
    def ahead(self, base: str, head: str) -> list[CommitFact]:
        """What the head has and the base has not, the oldest first."""

    def tree_of(self, sha: str) -> str: ...
    def changed(self, base: str, head: str) -> list[str]:
        """The files that differ between the head and where it left the base."""

    def read(self, sha: str, path: str) -> bytes | None: ...
    def squash(self, base: str, head: str, message: str) -> Squash:
        """One commit on the base with all that the head brings. No branch moves."""

    def commit(self, parent: str, edits: dict[str, bytes | None], message: str, committer: str) -> str:
        """On top of `parent`, with these files written or removed. No branch moves."""


class MemoryRefs:
    """A remote beside a work tree in memory: it shares the commits and has branches of its own."""

    def __init__(self, git: MemoryGit) -> None:
        self.git = git
        self.heads: dict[str, str] = {git.branch: git.head} if git.head else {}
        self.committers: dict[str, str] = {}
        self._second: dict[str, tuple[str, ...]] = {}
        self._ancestors: dict[str, frozenset[str]] = {}
        self._trees: dict[str, str] = {}

    def branches(self) -> dict[str, str]:
        return dict(self.heads)

    def head_of(self, branch: str) -> str:
        return self.heads.get(branch, "")

    def set(self, branch: str, sha: str, expect: str | None = None) -> None:
        self._expect(branch, expect)
        self.heads[branch] = sha

    def delete(self, branch: str, expect: str | None = None) -> None:
        self._expect(branch, expect)
        self.heads.pop(branch, None)

    def _expect(self, branch: str, expect: str | None) -> None:
        if expect is not None and self.head_of(branch) != expect:
            raise RefMoved(branch)

    # history

    def parents(self, sha: str) -> tuple[str, ...]:
        first = self.git.commits[sha].parent
        return ((first,) if first else ()) + self._second.get(sha, ())

    def _past(self, sha: str) -> frozenset[str]:
        known = self._ancestors.get(sha) if sha else frozenset()  # a branch that is gone holds nothing
        if known is None:
            found: set[str] = set()
            left = [sha]
            while left:
                one = left.pop()
                if one not in found:
                    found.add(one)
                    left += self.parents(one)
            known = self._ancestors[sha] = frozenset(found)
        return known

    def contains(self, newer: str, older: str) -> bool:
        return older in self._past(newer)

    def ahead(self, base: str, head: str) -> list[CommitFact]:
        new = sorted(self._past(head) - self._past(base), key=lambda sha: len(self._past(sha)))
        return [CommitFact(sha, self.parents(sha), self.git.commits[sha].message, self.by(sha)) for sha in new]

    def by(self, sha: str) -> str:
        return self.committers.get(sha, "")

    def merge_base(self, one: str, other: str) -> str:
        """Of several the one with the longest past."""
        shared = self._past(one) & self._past(other)
        return max(shared, key=lambda sha: (len(self._past(sha)), sha), default="")

    # what commits hold

    def files(self, sha: str) -> Files:
        return self.git.commits[sha].files if sha else {}

    def tree_of(self, sha: str) -> str:
        if sha not in self._trees:
            self._trees[sha] = MemoryGit(self.files(sha)).tree()
        return self._trees[sha]

    def changed(self, base: str, head: str) -> list[str]:
        return changed_paths(self.files(self.merge_base(base, head)), self.files(head))

    def read(self, sha: str, path: str) -> bytes | None:
        return self.files(sha).get(path)

    def squash(self, base: str, head: str, message: str) -> Squash:
        if self.contains(head, base):
            return Squash(self.make(self.files(head), [base], message, WEB_FLOW))
        start = self.files(self.merge_base(base, head))
        merged, conflicts = merge_files(start, self.files(base), self.files(head))
        return Squash("", conflicts) if conflicts else Squash(self.make(merged, [base], message, WEB_FLOW))

    def commit(self, parent: str, edits: dict[str, bytes | None], message: str, committer: str) -> str:
        files = dict(self.files(parent))
        for path, data in edits.items():
            if data is None:
                files.pop(path, None)
            else:
                files[path] = data
        return self.make(files, [parent] if parent else [], message, committer)

    def make(
        self, files: Files, parents: Sequence[str], message: str, committer: str = "", *, key: str = ""
    ) -> str:
        """A commit that no branch holds. `committer` empty: us."""
        commits = self.git.commits
        sha = sha_of(len(commits) + 1)
        commits[sha] = Commit(sha, parents[0] if parents else None, files, message, key)
        self.committers[sha] = committer
        self._second[sha] = tuple(parents[1:])
        return sha

"""Branches and commits of the simulated repository: the `Refs` port, in memory or on a real bare repository."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple, Protocol

from ..memory.git import Files, MemoryCommit, MemoryGit, changed_paths, sha_of

# Line-based three-way merges in memory, like git's but without renames.

TextLines = Sequence[bytes]


def merge_files(base: Files, ours: Files, theirs: Files) -> tuple[Files, tuple[str, ...]]:
    """The merged files, and the paths in conflict."""
    merged: dict[str, bytes] = dict(ours)
    conflicts = []
    for path in sorted({path for path, _ in base.items() ^ theirs.items()}):
        was, here, there = base.get(path), ours.get(path), theirs.get(path)
        if here == there:
            continue
        if here == was:
            _put(merged, path, there)
            continue
        both = None if was is None or here is None or there is None else merge_text(was, here, there)
        if both is None:
            conflicts.append(path)
        else:
            merged[path] = both
    return merged, tuple(conflicts)


def _put(files: dict[str, bytes], path: str, data: bytes | None) -> None:
    if data is None:
        files.pop(path, None)
    else:
        files[path] = data


def merge_text(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """None if they conflict."""
    lines, one, other = (text.splitlines(keepends=True) for text in (base, ours, theirs))
    merged: list[bytes] = []
    at = at_one = at_other = 0
    for start, start_one, start_other, length in _common_blocks(lines, one, other):
        part = _merge_part(lines[at:start], one[at_one:start_one], other[at_other:start_other])
        if part is None:
            return None
        merged += part
        merged += lines[start : start + length]
        at, at_one, at_other = start + length, start_one + length, start_other + length
    return b"".join(merged)


def _merge_part(was: TextLines, here: TextLines, there: TextLines) -> TextLines | None:
    if here in (there, was):
        return there
    return here if there == was else None


def _common_blocks(base: TextLines, one: TextLines, other: TextLines) -> Iterator[tuple[int, int, int, int]]:
    """Blocks of lines common to all three, in order, followed by an empty one at the end."""
    others = SequenceMatcher(None, base, other, autojunk=False).get_matching_blocks()
    for block in SequenceMatcher(None, base, one, autojunk=False).get_matching_blocks():
        for their in others:
            start, end = max(block.a, their.a), min(block.a + block.size, their.a + their.size)
            if start < end:
                yield start, block.b + start - block.a, their.b + start - their.a, end - start
    yield len(base), len(one), len(other), 0


def moved_line(before: bytes, after: bytes, line: int) -> int | None:
    """The new number of a line (from 1); None if it was changed or removed."""
    old, new = before.splitlines(), after.splitlines()
    for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        if block.a < line <= block.a + block.size:
            return block.b + line - block.a
    return None


WEB_FLOW = "GitHub"  # committer of merges made on the site


class RefMoved(Exception):
    """The branch is not at the expected commit."""


class SquashResult(NamedTuple):
    sha: str
    conflicts: tuple[str, ...] = ()  # if any, `sha` is empty


class CommitInfo(NamedTuple):
    sha: str
    parents: tuple[str, ...]
    message: str
    committer: str


class Refs(Protocol):
    def branches(self) -> dict[str, str]: ...
    def head_of(self, branch: str) -> str:
        """Empty if there is no such branch."""

    def set(self, branch: str, sha: str, expect: str | None = None) -> None:
        """RefMoved if the branch is not at `expect` (empty: it must not exist)."""

    def delete(self, branch: str, expect: str | None = None) -> None: ...
    def parents(self, sha: str) -> tuple[str, ...]: ...
    def merge_base(self, one: str, other: str) -> str: ...
    def contains(self, newer: str, older: str) -> bool: ...
    def ahead(self, base: str, head: str) -> list[CommitInfo]:
        """Commits of the head that the base does not contain, oldest first."""

    def tree_of(self, sha: str) -> str: ...
    def changed(self, base: str, head: str) -> list[str]:
        """Files that differ between the head and its merge base with the base."""

    def read(self, sha: str, path: str) -> bytes | None: ...
    def squash(self, base: str, head: str, message: str) -> SquashResult:
        """Squash the head onto the base as one commit, without moving a branch."""

    def commit(self, parent: str, edits: dict[str, bytes | None], message: str, committer: str) -> str:
        """A commit on `parent` with these files written or removed (None). No branch moves."""


class MemoryRefs:
    """A remote for a work tree in memory: shares its commits and has its own branches."""

    def __init__(self, git: MemoryGit) -> None:
        self.git = git
        self.heads: dict[str, str] = {git.branch: git.head} if git.head else {}
        self.committers: dict[str, str] = {}
        self._other_parents: dict[str, tuple[str, ...]] = {}
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
        return ((first,) if first else ()) + self._other_parents.get(sha, ())

    def _history(self, sha: str) -> frozenset[str]:
        known = self._ancestors.get(sha) if sha else frozenset()  # a deleted branch contains nothing
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
        return older in self._history(newer)

    def ahead(self, base: str, head: str) -> list[CommitInfo]:
        new = sorted(self._history(head) - self._history(base), key=lambda sha: len(self._history(sha)))
        return [
            CommitInfo(sha, self.parents(sha), self.git.commits[sha].message, self.committer_of(sha))
            for sha in new
        ]

    def committer_of(self, sha: str) -> str:
        return self.committers.get(sha, "")

    def merge_base(self, one: str, other: str) -> str:
        """Of several candidates, the one with the longest history."""
        shared = self._history(one) & self._history(other)
        return max(shared, key=lambda sha: (len(self._history(sha)), sha), default="")

    # contents of commits

    def files(self, sha: str) -> Files:
        return self.git.commits[sha].files if sha else {}

    def tree_of(self, sha: str) -> str:
        if sha not in self._trees:
            self._trees[sha] = MemoryGit(self.files(sha)).tree_hash()
        return self._trees[sha]

    def changed(self, base: str, head: str) -> list[str]:
        return changed_paths(self.files(self.merge_base(base, head)), self.files(head))

    def read(self, sha: str, path: str) -> bytes | None:
        return self.files(sha).get(path)

    def squash(self, base: str, head: str, message: str) -> SquashResult:
        if self.contains(head, base):
            return SquashResult(self.make_commit(self.files(head), [base], message, WEB_FLOW))
        start = self.files(self.merge_base(base, head))
        merged, conflicts = merge_files(start, self.files(base), self.files(head))
        return (
            SquashResult("", conflicts)
            if conflicts
            else SquashResult(self.make_commit(merged, [base], message, WEB_FLOW))
        )

    def commit(self, parent: str, edits: dict[str, bytes | None], message: str, committer: str) -> str:
        files = dict(self.files(parent))
        for path, data in edits.items():
            if data is None:
                files.pop(path, None)
            else:
                files[path] = data
        return self.make_commit(files, [parent] if parent else [], message, committer)

    def make_commit(
        self, files: Files, parents: Sequence[str], message: str, committer: str = "", *, key: str = ""
    ) -> str:
        """A commit that no branch contains. `committer` empty: us."""
        commits = self.git.commits
        sha = sha_of(len(commits) + 1)
        commits[sha] = MemoryCommit(sha, parents[0] if parents else None, files, message, key)
        self.committers[sha] = committer
        self._other_parents[sha] = tuple(parents[1:])
        return sha


# A real bare repository, so that real git can push to the simulated GitHub.

GIT_TIMEOUT = 60
_ZERO_SHA = "0" * 40


class BareRefs:
    def __init__(self, folder: Path, default_branch: str = "main") -> None:
        self.folder = folder
        self._contains_cache: dict[tuple[str, str], bool] = {}
        if not (folder / "HEAD").exists():
            folder.mkdir(parents=True, exist_ok=True)
            self._git("init", "--quiet", "--bare", f"--initial-branch={default_branch}", ".")

    def branches(self) -> dict[str, str]:
        lines = self._git("for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/heads").splitlines()
        return {name: sha for sha, _, name in (line.partition(" ") for line in lines)}

    def head_of(self, branch: str) -> str:
        return self._try("rev-parse", "--quiet", "--verify", f"refs/heads/{branch}")

    def set(self, branch: str, sha: str, expect: str | None = None) -> None:
        self._update("update-ref", f"refs/heads/{branch}", sha, *([] if expect is None else [expect or _ZERO_SHA]))

    def delete(self, branch: str, expect: str | None = None) -> None:
        self._update("update-ref", "-d", f"refs/heads/{branch}", *([] if expect is None else [expect]))

    def _update(self, *arguments: str) -> None:
        if self._run(*arguments).returncode:
            raise RefMoved(arguments[-1])

    # history; cached, because ancestry never changes

    def contains(self, newer: str, older: str) -> bool:
        if (newer, older) not in self._contains_cache:
            found = self._run("merge-base", "--is-ancestor", older, newer)
            self._contains_cache[newer, older] = not found.returncode
        return self._contains_cache[newer, older]

    def parents(self, sha: str) -> tuple[str, ...]:
        return tuple(self._git("rev-list", "--parents", "--max-count=1", sha).split()[1:])

    def merge_base(self, one: str, other: str) -> str:
        return self._try("merge-base", one, other)

    def ahead(self, base: str, head: str) -> list[CommitInfo]:
        form = "%H%x00%P%x00%cn%x00%B%x01"
        output = self._git("log", "--reverse", "--topo-order", f"--format={form}", f"{base}..{head}")
        rows = [row.strip("\n").split("\0") for row in output.split("\x01") if row.strip()]
        return [CommitInfo(sha, tuple(parents.split()), message, by) for sha, parents, by, message in rows]

    # contents of commits

    def tree_of(self, sha: str) -> str:
        return self._git("rev-parse", f"{sha}^{{tree}}")

    def changed(self, base: str, head: str) -> list[str]:
        return [path for path in self._git("diff", "--name-only", "-z", f"{base}...{head}").split("\0") if path]

    def read(self, sha: str, path: str) -> bytes | None:
        found = self._run("cat-file", "blob", f"{sha}:{path}")
        return None if found.returncode else found.stdout

    def squash(self, base: str, head: str, message: str) -> SquashResult:
        merged = self._run("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", base, head)
        tree, *conflicts = [part for part in merged.stdout.decode().split("\0") if part] or [""]
        if merged.returncode:
            return SquashResult("", tuple(conflicts) or ("?",))
        return SquashResult(self._commit_tree(tree, base, message, WEB_FLOW))

    def commit(self, parent: str, edits: dict[str, bytes | None], message: str, committer: str) -> str:
        index = {"GIT_INDEX_FILE": str(self.folder / f"index.sim.{os.getpid()}")}
        self._git("read-tree", parent or "--empty", extra=index)
        rows = [f"{self._entry(data)}\t{path}\0" for path, data in edits.items()]
        self._git("update-index", "-z", "--index-info", feed="".join(rows).encode(), extra=index)
        tree = self._git("write-tree", extra=index)
        os.unlink(index["GIT_INDEX_FILE"])
        return self._commit_tree(tree, parent, message, committer)

    def _entry(self, data: bytes | None) -> str:
        return (
            f"0 {_ZERO_SHA}" if data is None else f"100644 {self._git('hash-object', '-w', '--stdin', feed=data)}"
        )

    def _commit_tree(self, tree: str, parent: str, message: str, who: str) -> str:
        names = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in _identity(who)}
        above = ["-p", parent] if parent else []
        return self._git("commit-tree", tree, *above, feed=message.encode(), extra=names)

    # git

    def _git(self, *arguments: str, feed: bytes = b"", extra: dict[str, str] | None = None) -> str:
        done = self._run(*arguments, feed=feed, extra=extra)
        if done.returncode:
            raise RuntimeError(f"git {' '.join(arguments)}: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode(errors="surrogateescape").strip("\n")

    def _try(self, *arguments: str) -> str:
        done = self._run(*arguments)
        return "" if done.returncode else done.stdout.decode().strip()

    def _run(
        self, *arguments: str, feed: bytes = b"", extra: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        command = ["git", "-c", "core.hooksPath=/dev/null", "-C", str(self.folder), *arguments]
        environment = {**kept, "GIT_CONFIG_NOSYSTEM": "1", **(extra or {})}
        return subprocess.run(
            command, input=feed, capture_output=True, env=environment, timeout=GIT_TIMEOUT, check=False
        )


def _identity(who: str) -> list[tuple[str, str]]:
    name = who or "Somebody"
    return [("NAME", name), ("EMAIL", f"{name.lower().replace(' ', '-')}@users.noreply.example")]

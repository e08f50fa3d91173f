"""Merges the base into a branch using git objects only; no work tree is touched."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from ..board.merge import MergeResult as merge_MergeResult
from ..board.merge import merge_boards
from ..board.merge_files import MergeKind, merge_file
from ..board.sprint_status import board_from_text
from ..core.errors import AutopilotError, ConflictError, FileError
from ..io.files import TextFile
from .commits import commit_tree
from .git import Git, GitError, GitResult, check_revision, is_inside
from .history import AUTOPILOT_IDENTITY, STEP_TRAILER, GitIdentity, is_ancestor, write_message
from .index import TreeEntry, temporary_index, write_entries
from .trees import MAX_FILE, read_versions

# Merges one file: common base (None: no such file), ours, theirs. None: a person must resolve it.
FileMerger = Callable[[bytes | None, bytes, bytes], bytes | None]

_FILE = ("100644", "100755")
_USAGE = 129
# Replaces merge drivers from the repository's config, which agents can write, with git's plain text merge.
_PLAIN_DRIVER = "git merge-file %A %O %B"


class MergeResult(NamedTuple):
    sha: str  # a commit that no ref points to yet; empty: conflicts, no commit created
    conflicts: tuple[str, ...] = ()
    semantic: tuple[str, ...] = ()  # paths merged semantically
    merge_instead: str = (
        ""  # with conflicts: the revision to merge by hand instead of the base, to avoid further ones
    )


def merge_base_into(
    git: Git,
    head: str,
    base: str,
    *,
    message: str,
    trailers: Mapping[str, str],
    merges: Mapping[str, FileMerger],
    since: str | None = None,
) -> MergeResult:
    """Merges `base` into `head`. `since`: head of a lower stacked branch that was squashed into the base; its
    changes are the same on both sides, which git cannot detect."""
    check_revision(head, base, *([since] if since else []))
    if is_ancestor(git, base, head):
        return MergeResult(head)
    if is_ancestor(git, head, base):
        return MergeResult(base)
    other = base if since is None else _unsquash_base(git, base, since)
    common = _merge_base(git, head, other)
    tree, conflicts = _merge_trees(git, head, other)
    merged = _SemanticMerge(git, common, head, base).merge(merges)
    written = {path: entry for path, entry in merged.items() if entry is not None}
    left = tuple(sorted((conflicts | merged.keys()) - written.keys()))
    if left:
        return MergeResult("", left, tuple(sorted(written)), other if since is not None else "")
    tree = _with_entries(git, tree, written)
    made = commit_tree(git, tree, (head, base), write_message(message, trailers))
    return MergeResult(made, (), tuple(sorted(written)))


def _unsquash_base(git: Git, base: str, since: str) -> str:
    """The base as if merged rather than squashed, so that git finds the right merge base."""
    return commit_tree(git, f"{base}^{{tree}}", (since, base), "What a squash hides\n")


def _merge_trees(git: Git, ours: str, theirs: str) -> tuple[str, set[str]]:
    options = ("--write-tree", "-z", "--name-only", "--no-messages")
    answer = git.ask("merge-tree", *options, ours, theirs, codes=(0, 1, _USAGE), settings=_drivers(git))
    fields = answer.fields
    if answer.code == _USAGE or not fields:
        raise GitError("git is too old to merge without a work tree", expected="git 2.38 or newer")
    return fields[0], {path for path in fields[1:] if path}


def _drivers(git: Git) -> tuple[str, ...]:
    names: list[str] = []
    for scope in ("--local", "--worktree"):
        options = (scope, "-z", "--name-only", "--get-regexp", r"^merge\..*\.driver$")
        # 128: only one work tree, without its own settings
        answer: GitResult = git.ask("config", *options, codes=(0, 1, 128))
        names += answer.fields if answer.code == 0 else []
    return tuple(f"{name}={_PLAIN_DRIVER}" for name in dict.fromkeys(names))


def _merge_base(git: Git, ours: str, theirs: str) -> str:
    found = git.ask("merge-base", ours, theirs, codes=(0, 1)).text
    if not found:
        raise ConflictError(
            "the branch and its base have no commit in common",
            found=f"{ours[:12]} and {theirs[:12]}",
            hint="a shallow clone? git fetch --unshallow",
        )
    return found


class _SemanticMerge:
    """Merges files semantically: always, because git would merge their lines without reporting a conflict."""

    def __init__(self, git: Git, base: str, ours: str, theirs: str) -> None:
        self._git = git
        self._revisions = (base, ours, theirs)

    def merge(self, merges: Mapping[str, FileMerger]) -> dict[str, TreeEntry | None]:
        """Every file that both sides changed; None if a person must resolve it."""
        paths = [path for path in merges if is_inside(path)]
        base, ours, theirs = (self._entries(revision, paths) for revision in self._revisions)
        found: dict[str, TreeEntry | None] = {}
        for path in paths:
            before, mine, other = base.get(path), ours.get(path), theirs.get(path)
            if mine is None or other is None or mine.object == other.object:
                continue
            if before is not None and before.object in (mine.object, other.object):
                continue
            data = merges[path](self._read(before) if before else None, self._read(mine), self._read(other))
            found[path] = TreeEntry(mine.mode, self._write(data)) if data is not None else None
        return found

    def _entries(self, revision: str, paths: list[str]) -> dict[str, TreeEntry]:
        """Regular files only: git merges links and folders."""
        rows = self._git.ask("ls-tree", "-z", "-l", "--full-tree", revision, "--", *paths).fields if paths else []
        found = {}
        for row in rows:
            head, _, path = row.partition("\t")
            mode, _, blob, size = head.split()
            if mode in _FILE and int(size) <= MAX_FILE:
                found[path] = TreeEntry(mode, blob)
        return found

    def _read(self, entry: TreeEntry) -> bytes:
        return self._git.ask("cat-file", "blob", entry.object).out

    def _write(self, data: bytes) -> str:
        # Empty data means no standard input, which hashes the same.
        return self._git.ask("hash-object", "-w", "--no-filters", "--stdin", feed=data).text


def _with_entries(git: Git, tree: str, entries: Mapping[str, TreeEntry]) -> str:
    if not entries:
        return tree
    with temporary_index() as index:
        git.ask("read-tree", tree, index=index)
        write_entries(git, entries.items(), index=index)
        return git.ask("write-tree", index=index).text


# Authors of board rows, from the commits: a person's status takes precedence over an agent's.

MAX_COMMITS = 100  # newest commits that changed the board; older rows have no known author
_ENTRY = f"%H%x00%P%x00%cn%x00%ce%x00%(trailers:key={STEP_TRAILER},valueonly)"
_PARTS = 5

Statuses = dict[str, str]


class _Commit(NamedTuple):
    sha: str
    parents: list[str]  # only those that changed the board
    is_ours: bool


def merge_semantically(
    git: Git,
    path: str,
    meaning: MergeKind,
    base: bytes,
    ours: bytes,
    theirs: bytes,
    *,
    extra_revisions: tuple[str, ...] = (),
) -> merge_MergeResult | None:
    """Semantic merge; if both sides set a row, a person's status wins. `path`: relative to the top;
    `extra_revisions`: sides that may be on no branch."""
    merged = merge_file(meaning, base, ours, theirs)
    if merged is None or not merged.contested:
        return merged
    try:
        here, there = _RowAuthors(git, path, extra_revisions).human_rows(merged.contested, ours, theirs)
    except AutopilotError:  # no readable repository: authors are unknown
        return merged
    return merge_boards(base or None, ours, theirs, human_rows_theirs=there, human_rows_ours=here)


class _RowAuthors:
    def __init__(self, git: Git, path: str, extra_revisions: tuple[str, ...]) -> None:
        options = ("-z", "--parents", f"--max-count={MAX_COMMITS}", f"--format={_ENTRY}")
        fields = git.ask("log", *options, "--all", "HEAD", *extra_revisions, "--", path).fields
        rows = zip(*[iter(fields)] * _PARTS, strict=True)
        self._commits = {
            sha: _Commit(
                sha, parents.split(), GitIdentity(name, email) == AUTOPILOT_IDENTITY or bool(steps.strip())
            )
            for sha, parents, name, email, steps in rows
        }
        self._contents = read_versions(git, path, self._commits)
        self._read: dict[str, Statuses] = {}

    def human_rows(self, keys: Iterable[str], *versions: bytes) -> list[frozenset[str]]:
        """The rows set by a person, for each version of the board."""
        wanted = list(keys)
        return [frozenset(key for key in wanted if self._is_set_by_human(key, version)) for version in versions]

    def _is_set_by_human(self, key: str, version: bytes) -> bool:
        starts = [sha for sha, data in self._contents.items() if data == version]
        setters = [setter for sha in starts if (setter := self._setter(sha, key)) is not None]
        return bool(setters) and not any(setter.is_ours for setter in setters)

    def _setter(self, sha: str, key: str) -> _Commit | None:
        """The commit that gave the row its status in `sha`. None if it is older than MAX_COMMITS."""
        status = self._statuses(sha).get(key)
        for _ in range(MAX_COMMITS):
            known = [parent for parent in self._commits[sha].parents if parent in self._commits]
            if len(known) < len(self._commits[sha].parents):
                return None
            same = [parent for parent in known if self._statuses(parent).get(key) == status]
            if not same:
                return self._commits[sha]
            sha = same[0]
        return None

    def _statuses(self, sha: str) -> Statuses:
        if sha not in self._read:
            try:
                board = board_from_text(TextFile("board", self._contents.get(sha, b"")))
                self._read[sha] = {key: row.status.raw for key, row in board.rows.items()}
            except FileError:
                self._read[sha] = {}
        return self._read[sha]

"""The base taken into a branch: a merge made of objects alone, no work tree is touched."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..core.errors import ConflictError
from .commits import commit_tree
from .git import Answer, Git, GitError, check_revision
from .history import is_ancestor
from .index import Entry, empty_index, write_entries
from .messages import write_message
from .paths import is_inside
from .trees import MAX_FILE

# The base's bytes (None: it had no such file), ours, theirs. None: a person has to.
Merge = Callable[[bytes | None, bytes, bytes], bytes | None]

_FILE = ("100644", "100755")
_USAGE = 129
# A driver that the repository's own settings name is anybody's who can write there: text is merged as git does it.
_PLAIN_DRIVER = "git merge-file %A %O %B"


class Taken(NamedTuple):
    sha: str  # a commit that no ref holds yet; empty: there are conflicts, and nothing was made
    conflicts: tuple[str, ...] = ()
    semantic: tuple[str, ...] = ()  # paths that were merged by what they mean
    instead: str = (
        ""  # with conflicts: what a person has to merge in the base's place, so that git meets no others
    )


def take_in(
    git: Git,
    head: str,
    base: str,
    *,
    message: str,
    trailers: Mapping[str, str],
    merges: Mapping[str, Merge],
    since: str | None = None,
) -> Taken:
    """`head` with `base` in it. `since`: the head of a branch below ours that came into the base as one squashed
    commit; what it held is the same on both sides, although git cannot know."""
    check_revision(head, base, *([since] if since else []))
    if is_ancestor(git, base, head):
        return Taken(head)
    if is_ancestor(git, head, base):
        return Taken(base)
    other = base if since is None else _as_follower(git, base, since)
    common = _merge_base(git, head, other)
    tree, conflicts = _merge_trees(git, head, other)
    merged = _Meanings(git, common, head, base).merge(merges)
    written = {path: entry for path, entry in merged.items() if entry is not None}
    left = tuple(sorted((conflicts | merged.keys()) - written.keys()))
    if left:
        return Taken("", left, tuple(sorted(written)), other if since is not None else "")
    tree = _with_entries(git, tree, written)
    made = commit_tree(git, tree, (head, base), write_message(message, trailers))
    return Taken(made, (), tuple(sorted(written)))


def _as_follower(git: Git, base: str, since: str) -> str:
    """The base as if it had been merged and not squashed: with this, git finds what both sides began with."""
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
        # 128: there is one work tree, and no settings of its own
        answer: Answer = git.ask("config", *options, codes=(0, 1, 128))
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


class _Meanings:
    """Files that are merged by what they mean: always, because git would merge their lines without a word."""

    def __init__(self, git: Git, base: str, ours: str, theirs: str) -> None:
        self._git = git
        self._revisions = (base, ours, theirs)

    def merge(self, merges: Mapping[str, Merge]) -> dict[str, Entry | None]:
        """Each that both sides changed; None: a person has to."""
        paths = [path for path in merges if is_inside(path)]
        base, ours, theirs = (self._entries(revision, paths) for revision in self._revisions)
        found: dict[str, Entry | None] = {}
        for path in paths:
            before, mine, other = base.get(path), ours.get(path), theirs.get(path)
            if mine is None or other is None or mine.object == other.object:
                continue
            if before is not None and before.object in (mine.object, other.object):
                continue
            data = merges[path](self._read(before) if before else None, self._read(mine), self._read(other))
            found[path] = Entry(mine.mode, self._write(data)) if data is not None else None
        return found

    def _entries(self, revision: str, paths: list[str]) -> dict[str, Entry]:
        """Plain files only: what is a link or a folder on one side is git's to merge."""
        rows = self._git.ask("ls-tree", "-z", "-l", "--full-tree", revision, "--", *paths).fields if paths else []
        found = {}
        for row in rows:
            head, _, path = row.partition("\t")
            mode, _, blob, size = head.split()
            if mode in _FILE and int(size) <= MAX_FILE:
                found[path] = Entry(mode, blob)
        return found

    def _read(self, entry: Entry) -> bytes:
        return self._git.ask("cat-file", "blob", entry.object).out

    def _write(self, data: bytes) -> str:
        # An empty feed would be no standard input at all, which reads the same.
        return self._git.ask("hash-object", "-w", "--no-filters", "--stdin", feed=data).text


def _with_entries(git: Git, tree: str, entries: Mapping[str, Entry]) -> str:
    if not entries:
        return tree
    with empty_index() as index:
        git.ask("read-tree", tree, index=index)
        write_entries(git, entries.items(), index=index)
        return git.ask("write-tree", index=index).text

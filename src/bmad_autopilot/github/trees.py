"""What trees hold and how two differ, as git's objects have it: the work tree is not looked at."""

from collections.abc import Iterable, Iterator
from hashlib import sha1
from itertools import chain
from typing import NamedTuple

from ..core.changes import Change, Kind
from .git import Git, GitError, check_revision
from .index import empty_index
from .paths import is_inside, join

MAX_FILE = 1024 * 1024
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # the same in every repository
_KINDS = {"A": Kind.ADDED, "M": Kind.MODIFIED, "D": Kind.DELETED, "R": Kind.RENAMED, "T": Kind.RETYPED}


def changes(git: Git, before: str, after: str) -> list[Change]:
    """From one commit or tree to another, by path."""
    check_revision(before, after)
    options = ("-r", "-z", "-M", "--raw", "--numstat", "--no-abbrev", "--ignore-submodules=none")
    answer = git.ask("diff-tree", *options, "--no-ext-diff", "--no-textconv", before, after, "--")
    fields = iter(answer.fields)
    found: dict[str, Change] = {}
    for head in fields:
        if not head.startswith(":"):
            _count_lines(found, chain([head], fields))
            break
        _, mode, _, _, letter = head[1:].split(" ")
        kind = _KINDS[letter[0]]
        old = next(fields) if kind is Kind.RENAMED else ""
        path = next(fields)
        found[path] = Change(path, kind, old, "" if kind is Kind.DELETED else mode, 0, 0)
    return sorted(found.values())


def _count_lines(found: dict[str, Change], fields: Iterator[str]) -> None:
    """`added removed path`, or for a rename both paths in fields of their own; dashes for what is no text."""
    for field in fields:
        added, removed, path = field.split("\t", 2)
        if not path:
            next(fields)
            path = next(fields)
        lines = (None, None) if added == "-" else (int(added), int(removed))
        found[path] = found[path]._replace(added=lines[0], removed=lines[1])


def fingerprint(git: Git, tree: str, left_out: Iterable[str]) -> str:
    """Equal for two trees that differ in nothing but these files."""
    check_revision(tree)
    named = frozenset(left_out)
    rows = git.ask("ls-tree", "-r", "-z", "--full-tree", tree).fields
    kept = [row for row in rows if row.partition("\t")[2] not in named]
    return sha1("\0".join(kept).encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest()


def without(git: Git, tree: str, paths: Iterable[str]) -> str:
    """The hash of that tree with these files, or all below these folders, left out."""
    check_revision(tree)
    named = [path for path in paths if is_inside(path)]
    with empty_index() as index:
        git.ask("read-tree", tree, index=index)
        if named:
            options = ("-r", "-f", "-q", "--cached", "--ignore-unmatch")
            # A sparse checkout would have it keep what lies outside; this index is no checkout.
            settings = ("core.sparseCheckout=false",)
            listed = ("--pathspec-from-file=-", "--pathspec-file-nul")
            git.ask("rm", *options, *listed, feed=join(named), index=index, settings=settings)
        return git.ask("write-tree", index=index).text


class Blob(NamedTuple):
    object: str
    size: int


def find_blob(git: Git, revision: str, path: str) -> Blob | None:
    """The file of that name in a commit or tree."""
    check_revision(revision)
    if not is_inside(path):
        return None
    for row in git.ask("ls-tree", "-z", "-l", "--full-tree", revision, "--", path).fields:
        head, _, name = row.partition("\t")
        _, kind, blob, size = head.split()
        if name == path and kind == "blob":
            return Blob(blob, int(size))
    return None


def read_file(git: Git, revision: str, path: str) -> bytes | None:
    """What a file holds in a commit or tree; None: it holds no such file. One too large is an error, because
    whoever asks would else take it for missing."""
    blob = find_blob(git, revision, path)
    if blob is None:
        return None
    if blob.size > MAX_FILE:
        found, most = f"{blob.size / 1e6:.1f} MB", f"at most {MAX_FILE / 1e6:.0f} MB"
        raise GitError(f"{path} in {revision} is too large to be read", found=found, expected=most)
    return git.ask("cat-file", "blob", blob.object).out


def read_versions(git: Git, path: str, revisions: Iterable[str]) -> dict[str, bytes]:
    """One file as each of these has it, by one process for all. What is missing, or larger than any file of ours,
    is left out."""
    wanted = list(revisions)
    check_revision(*wanted)
    if not wanted or "\n" in path:
        return {}
    feed = "".join(f"{revision}:{path}\n" for revision in wanted).encode("utf-8", "surrogateescape")
    out = git.ask("cat-file", "--batch", feed=feed).out
    found = {}
    start = 0
    for revision in wanted:
        end = out.index(b"\n", start)
        words = out[start:end].split(b" ")
        start = end + 1
        if words[-1] == b"missing":
            continue
        size = int(words[-1])
        if words[-2] == b"blob" and size <= MAX_FILE:
            found[revision] = out[start : start + size]
        start += size + 1
    return found

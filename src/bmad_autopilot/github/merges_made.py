"""Which merges a git command has made: found in what it left behind, whatever it was and whoever typed it."""

import os
import re
from collections.abc import Iterable, Sequence
from typing import BinaryIO, NamedTuple

from .git import Git, GitError

INDEX = ":0"
WORK_TREE = ""
MAX_LOG = 4 * 1024 * 1024  # of HEAD's own log, written by one command; a rebase of 1,000 commits writes 200 kB
MAX_NOTE = 64 * 1024
MAX_COMMITS = 500  # that are looked at
MAX_ORIGINS = 5_000  # commits among which a picked one is looked for
_REBASING = ("rebase-merge", "rebase-apply")
_UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD")
_SQUASHED = re.compile(r"^commit ([0-9a-f]{40,64})$", re.MULTILINE)
_STASHED = re.compile(r"(?:stash@\{)?(\d{1,6})\}?")
_ENTRY = "%H%x00%P%x00%an%x00%ae%x00%at%x00%s"
_PARTS = 6


class Way(NamedTuple):
    """Three revisions that a merge may have been made of."""

    base: str  # empty: nothing in common
    ours: str
    theirs: str


class Made(NamedTuple):
    result: str  # a revision, INDEX or WORK_TREE
    ways: tuple[Way, ...]  # more than one: which it was cannot be told


class Standing(NamedTuple):
    """How things stood before the command."""

    head: str
    branch: str  # where the branch stood: HEAD, or what a rebase under way had found
    log: int
    refs: tuple[str, ...]
    staged: str  # for `stash` alone: the index's tree; HEAD's, where it holds conflicts
    stashes: tuple[str, ...]
    under_way: dict[str, str]


class _Commit(NamedTuple):
    sha: str
    parents: list[str]
    mark: tuple[str, ...]  # what a pick keeps of the commit it picks


def standing(git: Git, words: Sequence[str]) -> Standing:
    """`words`: the command without git's own options, its name first."""
    head = _resolve(git, "HEAD")
    refs = git.ask("for-each-ref", "--format=%(objectname)").text.split()
    branch = _kept(git, "rebase-merge/orig-head").strip() or head
    staged, stashes = _stashes(git, head) if words[0] == "stash" else ("", ())
    return Standing(head, branch, _log_size(git), tuple(refs), staged, stashes, _heads(git))


def _stashes(git: Git, head: str) -> tuple[str, tuple[str, ...]]:
    listed = git.ask("log", "-g", "--format=%H", "--max-count=100", "refs/stash", "--", codes=(0, 128))
    try:
        return git.ask("write-tree").text, tuple(listed.text.split())
    except GitError:
        return head, tuple(listed.text.split())


def _heads(git: Git) -> dict[str, str]:
    """What is being merged, by git's own notes of it; empty: nothing."""
    squashed = _SQUASHED.search(_kept(git, "SQUASH_MSG"))
    return {name: _kept(git, name).strip() for name in _UNDER_WAY} | {
        "SQUASH_MSG": squashed[1] if squashed else ""
    }


def merges_made(git: Git, before: Standing, words: Sequence[str], paths: Sequence[str]) -> list[Made]:
    found = [*_committed(git, before, paths), *_under_way(git, before), *_unstashed(before, words)]
    return found + (_dropped(git, before, paths) if _is_rebase(words) else [])


def merged_tree(git: Git, words: Sequence[str], said: str) -> list[Made]:
    """What `merge-tree` has said: the tree stands in its first line."""
    tree = re.match(r"[0-9a-f]{40,64}(?=[\n\0]|\Z)", said)
    sides = [_resolve(git, word) for word in words[-2:] if not word.startswith("-")]
    if tree is None or len(sides) != 2 or not all(sides):
        return []
    named = [word.partition("=")[2] for word in words if word.startswith("--merge-base=")]
    bases = [_resolve(git, named[-1])] if named else _bases(git, *sides)
    return [Made(tree[0], tuple(Way(base, *sides) for base in bases))]


def _committed(git: Git, before: Standing, paths: Sequence[str]) -> list[Made]:
    logged = _logged(git, before)
    if not logged:
        return []
    known = [before.head, _resolve(git, "FETCH_HEAD"), *before.refs]
    feed = "\n".join([*logged, *(f"^{sha}" for sha in known if sha)]).encode() + b"\n"
    new = set(git.ask("rev-list", "--ignore-missing", "--stdin", "--not", "--remotes", feed=feed).text.split())
    commits = _read(git, [sha for sha in logged if sha in new][:MAX_COMMITS])
    picked = [one.mark for one in commits if len(one.parents) == 1]
    origins = _origins(git, before, new, paths) if picked else {}
    made = []
    for one in commits:
        ways: list[Way] = []
        if len(one.parents) == 2:
            ours, theirs = one.parents
            ways = [Way(base, ours, theirs) for base in _bases(git, ours, theirs)]
        elif len(one.parents) == 1:
            ways = [Way(origin.parents[0], one.parents[0], origin.sha) for origin in origins.get(one.mark, ())]
        made.append(Made(one.sha, tuple(ways)))
    return made


def _is_rebase(words: Sequence[str]) -> bool:
    """One in which nobody has said that a commit is to go."""
    return words[0] in ("rebase", "pull") and not {"-i", "--interactive", "--skip"} & set(words)


def _dropped(git: Git, before: Standing, paths: Sequence[str]) -> list[Made]:
    """Commits that a rebase has left out because nothing was left of them: a driver that keeps one side makes
    them so. Each is then as if merged into the one before it."""
    head = _resolve(git, "HEAD")
    if not head or any(os.path.isdir(os.path.join(git.git_dir, name)) for name in _REBASING):
        return []
    gone = _touching(git, paths, before.branch, f"^{head}", "--reverse") if before.branch else []
    picks = {one.mark: one for one in _touching(git, paths, head, f"^{before.branch}")} if gone else {}
    made: list[Made] = []
    above = next((picks[one.mark].parents[0] for one in gone if one.mark in picks), head)
    for one in gone:
        if one.mark in picks:
            above = picks[one.mark].sha
        else:
            made.append(Made(above, (Way(one.parents[0], above, one.sha),)))
    return made


def _touching(git: Git, paths: Sequence[str], *revisions: str) -> list[_Commit]:
    options = ("--full-history", "--no-merges", f"--max-count={MAX_ORIGINS}", f"--format={_ENTRY}")
    found = _parsed(git.ask("log", "-z", *options, *revisions, "--", *paths).fields)
    return [one for one in found if one.parents]


def _origins(
    git: Git, before: Standing, new: set[str], paths: Sequence[str]
) -> dict[tuple[str, ...], list[_Commit]]:
    """By author, their date and subject, which a rebase and a cherry-pick keep."""
    found: dict[tuple[str, ...], list[_Commit]] = {}
    for one in _touching(git, paths, "--all", *([before.head] if before.head else [])):
        if one.sha not in new:
            found.setdefault(one.mark, []).append(one)
    return found


def _read(git: Git, shas: list[str]) -> list[_Commit]:
    if not shas:
        return []
    return _parsed(git.ask("log", "-z", "--no-walk=unsorted", f"--format={_ENTRY}", *shas, "--").fields)


def _parsed(fields: Iterable[str]) -> list[_Commit]:
    rows = zip(*[iter(fields)] * _PARTS, strict=True)
    return [_Commit(sha, parents.split(), tuple(mark)) for sha, parents, *mark in rows]


def _under_way(git: Git, before: Standing) -> list[Made]:
    """Stopped on the way, or told not to commit: what is merged so far stands in the index."""
    now = {name: sha for name, sha in _heads(git).items() if len(sha.split()) == 1}  # more: an octopus
    now = {name: sha for name, sha in now.items() if sha != before.under_way[name]}
    head = _resolve(git, "HEAD") if now else ""
    made = []
    for name, theirs in now.items():
        if not head:
            continue
        bases = [_resolve(git, f"{theirs}^")] if name == "CHERRY_PICK_HEAD" else _bases(git, head, theirs)
        made.append(Made(INDEX, tuple(Way(base, head, theirs) for base in bases)))
    return made


def _unstashed(before: Standing, words: Sequence[str]) -> list[Made]:
    if words[0] != "stash" or not {"pop", "apply"} & set(words):
        return []
    named = _STASHED.fullmatch(words[-1])
    at = int(named[1]) if named else 0
    if at >= len(before.stashes):
        return []
    stash = before.stashes[at]
    return [Made(WORK_TREE, (Way(f"{stash}^1", before.staged, stash),))]


def _bases(git: Git, ours: str, theirs: str) -> list[str]:
    return git.ask("merge-base", "--all", ours, theirs, codes=(0, 1)).text.split() or [""]


def _logged(git: Git, before: Standing) -> list[str]:
    """Where HEAD has been since, each commit once. Without a log of it: where it is now."""
    now = _resolve(git, "HEAD")
    found: list[str] = []
    try:
        with _plain(_log(git)) as handle:
            handle.seek(before.log)
            found = [line.split(b" ", 2)[1].decode() for line in handle.read(MAX_LOG).splitlines() if b" " in line]
    except (OSError, UnicodeDecodeError):
        pass
    return [sha for sha in dict.fromkeys([*found, now]) if sha.strip("0") and sha != before.head]


def _log_size(git: Git) -> int:
    try:
        return os.stat(_log(git)).st_size
    except OSError:
        return 0


def _log(git: Git) -> str:
    return os.path.join(git.git_dir, "logs", "HEAD")


def _kept(git: Git, name: str) -> str:
    """The beginning of a file of git's own; empty: it is not there."""
    try:
        with _plain(os.path.join(git.git_dir, name)) as handle:
            return handle.read(MAX_NOTE).decode("utf-8", "replace")
    except OSError:
        return ""


def _plain(path: str) -> BinaryIO:
    """Opened without waiting for a pipe's writer, and not through a link."""
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")


def _resolve(git: Git, revision: str) -> str:
    """Empty: there is no such commit."""
    if revision.startswith("-"):
        return ""
    name = f"{revision}^{{commit}}"
    return git.ask("rev-parse", "--verify", "--quiet", name, codes=(0, 1, 128)).text

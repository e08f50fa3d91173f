"""Verifies merges made by git against the semantic merge of both sides: the driver may not have been called, or
its program may have been missing."""

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import BinaryIO, NamedTuple

from ..board.merge_files import MergeKind, describe_difference, merge_file
from ..io.files import MAX_TEXT_BYTES
from .git import Git, GitError, is_inside
from .merge import merge_semantically

# Detecting the merges of a git command from its effects, whatever the command was.

INDEX = ":0"
WORK_TREE = ""
MAX_LOG = 4 * 1024 * 1024  # of HEAD's reflog, per command; a rebase of 1,000 commits writes 200 kB
MAX_NOTE = 64 * 1024
MAX_COMMITS = 500  # commits that are checked
MAX_ORIGINS = 5_000  # commits searched for the origin of a picked one
_REBASING = ("rebase-merge", "rebase-apply")
_MERGE_HEAD_FILES = ("MERGE_HEAD", "CHERRY_PICK_HEAD")
_SQUASHED = re.compile(r"^commit ([0-9a-f]{40,64})$", re.MULTILINE)
_STASHED = re.compile(r"(?:stash@\{)?(\d{1,6})\}?")
_ENTRY = "%H%x00%P%x00%an%x00%ae%x00%at%x00%s"
_PARTS = 6


class MergeInput(NamedTuple):
    """Three revisions that a merge may have combined."""

    base: str  # empty: no common ancestor
    ours: str
    theirs: str


class ObservedMerge(NamedTuple):
    result: str  # a revision, INDEX or WORK_TREE
    inputs: tuple[MergeInput, ...]  # more than one: it is ambiguous which was used


class MergeState(NamedTuple):
    """State of the repository before the command."""

    head: str
    branch: str  # head of the branch: HEAD, or the original head of a rebase in progress
    log: int
    refs: tuple[str, ...]
    staged: str  # only for `stash`: the index's tree, or HEAD's if the index has conflicts
    stashes: tuple[str, ...]
    in_progress: dict[str, str]


class _Commit(NamedTuple):
    sha: str
    parents: list[str]
    pick_key: tuple[str, ...]  # author, date and subject, which a cherry-pick keeps


def capture_merge_state(git: Git, words: Sequence[str]) -> MergeState:
    """`words`: the command name and its arguments, without git's global options."""
    head = _resolve(git, "HEAD")
    refs = git.ask("for-each-ref", "--format=%(objectname)").text.split()
    branch = _read_git_file(git, "rebase-merge/orig-head").strip() or head
    staged, stashes = _stashes(git, head) if words[0] == "stash" else ("", ())
    return MergeState(head, branch, _log_size(git), tuple(refs), staged, stashes, _merge_heads(git))


def _stashes(git: Git, head: str) -> tuple[str, tuple[str, ...]]:
    listed = git.ask("log", "-g", "--format=%H", "--max-count=100", "refs/stash", "--", codes=(0, 128))
    try:
        return git.ask("write-tree").text, tuple(listed.text.split())
    except GitError:
        return head, tuple(listed.text.split())


def _merge_heads(git: Git) -> dict[str, str]:
    """Heads being merged, from git's own files; empty if none."""
    squashed = _SQUASHED.search(_read_git_file(git, "SQUASH_MSG"))
    return {name: _read_git_file(git, name).strip() for name in _MERGE_HEAD_FILES} | {
        "SQUASH_MSG": squashed[1] if squashed else ""
    }


def find_merges(git: Git, before: MergeState, words: Sequence[str], paths: Sequence[str]) -> list[ObservedMerge]:
    found = [
        *_committed_merges(git, before, paths),
        *_unfinished_merges(git, before),
        *_applied_stash(before, words),
    ]
    return found + (_dropped_commits(git, before, paths) if _is_rebase(words) else [])


def parse_merge_tree(git: Git, words: Sequence[str], output: str) -> list[ObservedMerge]:
    """The merge from `merge-tree` output: the tree is on its first line."""
    tree = re.match(r"[0-9a-f]{40,64}(?=[\n\0]|\Z)", output)
    sides = [_resolve(git, word) for word in words[-2:] if not word.startswith("-")]
    if tree is None or len(sides) != 2 or not all(sides):
        return []
    named = [word.partition("=")[2] for word in words if word.startswith("--merge-base=")]
    bases = [_resolve(git, named[-1])] if named else _bases(git, *sides)
    return [ObservedMerge(tree[0], tuple(MergeInput(base, *sides) for base in bases))]


def _committed_merges(git: Git, before: MergeState, paths: Sequence[str]) -> list[ObservedMerge]:
    logged = _commits_since(git, before)
    if not logged:
        return []
    known = [before.head, _resolve(git, "FETCH_HEAD"), *before.refs]
    feed = "\n".join([*logged, *(f"^{sha}" for sha in known if sha)]).encode() + b"\n"
    new = set(git.ask("rev-list", "--ignore-missing", "--stdin", "--not", "--remotes", feed=feed).text.split())
    commits = _read(git, [sha for sha in logged if sha in new][:MAX_COMMITS])
    picked = [one.pick_key for one in commits if len(one.parents) == 1]
    origins = _origins(git, before, new, paths) if picked else {}
    made = []
    for one in commits:
        ways: list[MergeInput] = []
        if len(one.parents) == 2:
            ours, theirs = one.parents
            ways = [MergeInput(base, ours, theirs) for base in _bases(git, ours, theirs)]
        elif len(one.parents) == 1:
            ways = [
                MergeInput(origin.parents[0], one.parents[0], origin.sha)
                for origin in origins.get(one.pick_key, ())
            ]
        made.append(ObservedMerge(one.sha, tuple(ways)))
    return made


def _is_rebase(words: Sequence[str]) -> bool:
    """A rebase in which the user did not ask to drop a commit."""
    return words[0] in ("rebase", "pull") and not {"-i", "--interactive", "--skip"} & set(words)


def _dropped_commits(git: Git, before: MergeState, paths: Sequence[str]) -> list[ObservedMerge]:
    """Commits that a rebase dropped as empty: a driver that keeps one side causes this. Each is treated as merged
    into the commit before it."""
    head = _resolve(git, "HEAD")
    if not head or any(os.path.isdir(os.path.join(git.git_dir, name)) for name in _REBASING):
        return []
    gone = _touching(git, paths, before.branch, f"^{head}", "--reverse") if before.branch else []
    picks = {one.pick_key: one for one in _touching(git, paths, head, f"^{before.branch}")} if gone else {}
    made: list[ObservedMerge] = []
    above = next((picks[one.pick_key].parents[0] for one in gone if one.pick_key in picks), head)
    for one in gone:
        if one.pick_key in picks:
            above = picks[one.pick_key].sha
        else:
            made.append(ObservedMerge(above, (MergeInput(one.parents[0], above, one.sha),)))
    return made


def _touching(git: Git, paths: Sequence[str], *revisions: str) -> list[_Commit]:
    options = ("--full-history", "--no-merges", f"--max-count={MAX_ORIGINS}", f"--format={_ENTRY}")
    found = _parsed(git.ask("log", "-z", *options, *revisions, "--", *paths).fields)
    return [one for one in found if one.parents]


def _origins(
    git: Git, before: MergeState, new: set[str], paths: Sequence[str]
) -> dict[tuple[str, ...], list[_Commit]]:
    """Commits by author, author date and subject, which a rebase and a cherry-pick keep."""
    found: dict[tuple[str, ...], list[_Commit]] = {}
    for one in _touching(git, paths, "--all", *([before.head] if before.head else [])):
        if one.sha not in new:
            found.setdefault(one.pick_key, []).append(one)
    return found


def _read(git: Git, shas: list[str]) -> list[_Commit]:
    if not shas:
        return []
    return _parsed(git.ask("log", "-z", "--no-walk=unsorted", f"--format={_ENTRY}", *shas, "--").fields)


def _parsed(fields: Iterable[str]) -> list[_Commit]:
    rows = zip(*[iter(fields)] * _PARTS, strict=True)
    return [_Commit(sha, parents.split(), tuple(mark)) for sha, parents, *mark in rows]


def _unfinished_merges(git: Git, before: MergeState) -> list[ObservedMerge]:
    """Merges that stopped or were not committed: the result so far is in the index."""
    now = {name: sha for name, sha in _merge_heads(git).items() if len(sha.split()) == 1}  # else an octopus
    now = {name: sha for name, sha in now.items() if sha != before.in_progress[name]}
    head = _resolve(git, "HEAD") if now else ""
    made = []
    for name, theirs in now.items():
        if not head:
            continue
        bases = [_resolve(git, f"{theirs}^")] if name == "CHERRY_PICK_HEAD" else _bases(git, head, theirs)
        made.append(ObservedMerge(INDEX, tuple(MergeInput(base, head, theirs) for base in bases)))
    return made


def _applied_stash(before: MergeState, words: Sequence[str]) -> list[ObservedMerge]:
    if words[0] != "stash" or not {"pop", "apply"} & set(words):
        return []
    named = _STASHED.fullmatch(words[-1])
    at = int(named[1]) if named else 0
    if at >= len(before.stashes):
        return []
    stash = before.stashes[at]
    return [ObservedMerge(WORK_TREE, (MergeInput(f"{stash}^1", before.staged, stash),))]


def _bases(git: Git, ours: str, theirs: str) -> list[str]:
    return git.ask("merge-base", "--all", ours, theirs, codes=(0, 1)).text.split() or [""]


def _commits_since(git: Git, before: MergeState) -> list[str]:
    """Commits HEAD pointed to since then, each once. Without a reflog: the current one."""
    now = _resolve(git, "HEAD")
    found: list[str] = []
    try:
        with _open_regular(_log(git)) as handle:
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


def _read_git_file(git: Git, name: str) -> str:
    """The first MAX_NOTE bytes of a file in the git folder; empty if missing."""
    try:
        with _open_regular(os.path.join(git.git_dir, name)) as handle:
            return handle.read(MAX_NOTE).decode("utf-8", "replace")
    except OSError:
        return ""


def _open_regular(path: str) -> BinaryIO:
    """Opens a file without blocking on a pipe and without following a link."""
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")


def _resolve(git: Git, revision: str) -> str:
    """Empty if there is no such commit."""
    if revision.startswith("-"):
        return ""
    name = f"{revision}^{{commit}}"
    return git.ask("rev-parse", "--verify", "--quiet", name, codes=(0, 1, 128)).text


class MergeProblem(NamedTuple):
    path: str
    where: str  # a commit, the index or the work tree
    why: str
    hint: str


class _Blob(NamedTuple):
    sha: str
    size: int


def verify_merges(git: Git, made: Iterable[ObservedMerge], files: Mapping[str, MergeKind]) -> list[MergeProblem]:
    """Wrong merge results. Files changed on one side only, and merges that need a person, are not checked."""
    paths = {path: meaning for path, meaning in files.items() if is_inside(path) and "\n" not in path}
    proof = _Verifier(git, list(made), paths)
    found = [*proof.unmerged(), *proof.merged()]
    return list({(one.path, one.where): one for one in found}.values())


class _Verifier:
    def __init__(self, git: Git, made: list[ObservedMerge], files: Mapping[str, MergeKind]) -> None:
        self._git = git
        self._made = made
        self._files = files

    def merged(self) -> Iterable[MergeProblem]:
        blobs = self._blobs({revision for one in self._made for revision in _revisions(one)})
        for one in self._made:
            for path, meaning in self._files.items():
                why = self._find_problem(one, path, meaning, blobs)
                if why:
                    where = {INDEX: "the index", WORK_TREE: "the work tree"}.get(one.result, one.result[:12])
                    see = "diff HEAD" if one.result in (INDEX, WORK_TREE) else f"show -m {one.result[:12]}"
                    yield MergeProblem(path, where, why, f"git {see} -- {shlex.quote(path)}")

    def _find_problem(self, one: ObservedMerge, path: str, meaning: MergeKind, blobs: dict[str, _Blob]) -> str:
        result = self._work_tree(path) if one.result == WORK_TREE else blobs.get(f"{one.result}:{path}")
        if one.result == INDEX and result is None:
            return ""  # unmerged, or deleted
        why = ""
        for way in one.inputs:
            base, ours, theirs = (blobs.get(f"{revision}:{path}") for revision in way)
            if ours is None or theirs is None or ours == theirs or base in (ours, theirs):
                return ""
            wanted = self._expected_merges(path, base, ours, theirs, extra_revision=way.theirs)
            found = self._read(result) if result else b""
            if not wanted or found in wanted:
                return ""
            why = why or describe_difference(meaning, wanted[0], found)
        return why

    def unmerged(self) -> Iterable[MergeProblem]:
        rows = self._git.ask("ls-files", "--unmerged", "-z", "--", *self._files).fields if self._files else []
        stages: dict[str, dict[str, str]] = {}
        for row in rows:
            head, _, path = row.partition("\t")
            _, sha, stage = head.split()
            stages.setdefault(path, {})[stage] = sha
        sizes = self._sizes({sha for found in stages.values() for sha in found.values()})
        for path, found in stages.items():
            base, ours, theirs = (sizes.get(found.get(stage, "")) for stage in "123")
            if ours is None or theirs is None:
                continue  # deleted on one side: git reports it and keeps the other
            hint = f"git checkout --merge -- {shlex.quote(path)}"
            if self._expected_merges(path, base, ours, theirs):
                yield MergeProblem(path, "the index", "left unmerged, although its sides can be merged", hint)
            elif self._is_one_side(path, ours, theirs):
                yield MergeProblem(path, "the work tree", "one side alone, without conflict marks", hint)

    def _is_one_side(self, path: str, ours: _Blob, theirs: _Blob) -> bool:
        now = self._work_tree(path)
        return now is not None and now in (ours, theirs)

    def _expected_merges(
        self, path: str, base: _Blob | None, ours: _Blob, theirs: _Blob, *, extra_revision: str = "HEAD"
    ) -> list[bytes]:
        """Acceptable results; empty if only a person can decide. The author of a row can look different after the
        merge than before it, so the result in which the more advanced status wins is accepted too."""
        if max(blob.size for blob in (base, ours, theirs) if blob is not None) > MAX_TEXT_BYTES:
            return []
        versions = [self._read(blob) if blob else b"" for blob in (base, ours, theirs)]
        meaning = self._files[path]
        found = (
            merge_semantically(self._git, path, meaning, *versions, extra_revisions=(extra_revision,)),
            merge_file(meaning, *versions),
        )
        return [merged.data for merged in found if merged is not None]

    def _work_tree(self, path: str) -> _Blob | None:
        """The file as git would store it, with line endings and filters reversed."""
        if not os.path.isfile(os.path.join(self._git.top, path)):
            return None
        sha = self._git.ask("hash-object", "-w", "--", path).text
        return self._sizes({sha}).get(sha)

    def _read(self, blob: _Blob) -> bytes:
        return self._git.ask("cat-file", "blob", blob.sha).out

    def _blobs(self, revisions: set[str]) -> dict[str, _Blob]:
        """Blobs by `revision:path`; anything that is not a file is left out."""
        return self._sizes({f"{revision}:{path}" for revision in revisions if revision for path in self._files})

    def _sizes(self, names: set[str]) -> dict[str, _Blob]:
        listed = sorted(names)
        if not listed:
            return {}
        feed = "\n".join(listed).encode("utf-8", "surrogateescape") + b"\n"
        answer = self._git.ask("cat-file", "--batch-check=%(objecttype) %(objectname) %(objectsize)", feed=feed)
        found = {}
        for name, line in zip(listed, answer.text.split("\n"), strict=True):
            kind, _, rest = line.partition(" ")
            if kind == "blob" and not line.endswith(" missing"):
                sha, size = rest.split()
                found[name] = _Blob(sha, int(size))
        return found


def _revisions(made: ObservedMerge) -> set[str]:
    return {made.result, *(revision for way in made.inputs for revision in way)}

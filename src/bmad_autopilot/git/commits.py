"""Creates commits of exactly the given paths, whatever else is staged or present in the work tree."""

import os
import stat
from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from string import ascii_lowercase
from typing import NamedTuple

from ..core.errors import Location
from .git import Git, GitError, MovedError, check_revision, encode, is_inside, join_with_nul
from .history import AGENT_MARK, AUTOPILOT_IDENTITY, GitIdentity, redact_message, write_message
from .index import TreeDifference, compare_index, copied_index, parse_raw_diff, temporary_index, write_entries
from .trees import EMPTY_TREE

# Staging: from the work tree into an index, path by path. Paths are checked here before git sees them.


class PathStates(NamedTuple):
    present: list[str]  # a file, a link, or another repository's folder
    absent: list[str]
    displaced: list[str]  # occupied by something git cannot track there: a folder, or a path behind a link


def stage_paths(git: Git, paths: Iterable[str]) -> list[str]:
    """Stages the current state of these paths, so that a reviewer sees new files too. Skips ignored paths and
    paths outside the work tree. Returns the staged paths."""
    found = classify_paths(git.top, paths)
    ignored = _ignored_or_refused(git, found.present)
    staged = found._replace(present=[path for path in found.present if path not in ignored])
    update_index(git, staged)
    return [*staged.present, *staged.absent, *staged.displaced]


def update_index(git: Git, paths: PathStates, *, index: str | None = None) -> None:
    """Stages without checking ignore rules, into our own index file if one is given."""
    if paths.displaced:
        git.ask(
            "update-index", "--force-remove", "-z", "--stdin", feed=join_with_nul(paths.displaced), index=index
        )
    if paths.present or paths.absent:
        _clear_index_flags(git, {*paths.present}, index)
        # Files left out by a sparse checkout are absent but not deleted.
        options = ("--add", "--remove", "--replace", "--ignore-skip-worktree-entries", "-z", "--stdin")
        git.ask("update-index", *options, feed=join_with_nul([*paths.absent, *paths.present]), index=index)


def hidden_paths(git: Git, *, index: str | None = None) -> dict[str, str]:
    """Paths in the work tree whose changes an index flag hides from git, with the flag as `git ls-files -v` shows
    it: `S` is skip-worktree, a lower-case letter assume-unchanged."""
    rows = git.ask("ls-files", "-v", "-z", index=index).fields
    flagged = {row[2:]: row[0] for row in rows if row[0].islower() or row[0] == "S"}
    return {path: flag for path, flag in flagged.items() if os.path.lexists(encode(os.path.join(git.top, path)))}


def ignored_paths(git: Git) -> list[str]:
    """Ignored paths in the work tree; a fully ignored folder is listed once, with a trailing slash."""
    options = ("--others", "--ignored", "--exclude-standard", "--directory", "--no-empty-directory")
    return git.ask("ls-files", "-z", *options).fields


def _clear_index_flags(git: Git, paths: Set[str], index: str | None) -> None:
    """Clears the flags: a flagged path would keep its old content in the index."""
    flags = {path: flag for path, flag in hidden_paths(git, index=index).items() if path in paths}
    for option, letters in (("--no-assume-unchanged", ascii_lowercase), ("--no-skip-worktree", "Ss")):
        marked = [path for path, flag in flags.items() if flag in letters]
        if marked:
            git.ask("update-index", option, "-z", "--stdin", feed=join_with_nul(marked), index=index)


def classify_paths(top: str, paths: Iterable[str]) -> PathStates:
    """Sorts paths by what exists there. Invalid paths (`..`, absolute, in `.git`) are left out."""
    found = PathStates([], [], [])
    parents: dict[str, bool] = {"": True}
    for path in dict.fromkeys(paths):
        if not is_inside(path):
            continue
        if not _is_plain(top, os.path.dirname(path), parents):
            found.displaced.append(path)
            continue
        match _can_be_tracked(os.path.join(top, path)):
            case None:
                found.absent.append(path)
            case True:
                found.present.append(path)
            case False:
                found.displaced.append(path)
    return found


def _is_plain(top: str, folder: str, known: dict[str, bool]) -> bool:
    """Whether all parents are real folders of this work tree or missing. A link could lead outside, and a nested
    repository tracks its own files."""
    if folder not in known:
        place = os.path.join(top, folder)
        plain = not os.path.islink(place) and not os.path.lexists(os.path.join(place, ".git"))
        known[folder] = plain and _is_plain(top, os.path.dirname(folder), known)
    return known[folder]


def _can_be_tracked(place: str) -> bool | None:
    """None if nothing exists there. True if git can track it."""
    try:
        mode = os.lstat(encode(place)).st_mode
    except (OSError, ValueError):
        return None
    if stat.S_ISDIR(mode):
        return os.path.lexists(os.path.join(place, ".git"))
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _ignored_or_refused(git: Git, paths: Sequence[str]) -> set[str]:
    """Untracked paths that git ignores, and paths that it refuses to check because they lie in a submodule that is
    not checked out."""
    if not paths:
        return set()
    # check-ignore does not support literal pathspecs; a leading `./` has the same effect.
    plain = {"GIT_LITERAL_PATHSPECS": "0"}
    dotted = [f"./{path}" for path in paths]
    answer = git.ask(
        "check-ignore", "-z", "--stdin", feed=join_with_nul(dotted), codes=(0, 1, 128), environment=plain
    )
    if answer.code != 128:
        return {path[2:] for path in answer.fields}
    return {path[2:] for path in dotted if _is_refused(git, path, plain)}


def _is_refused(git: Git, path: str, environment: dict[str, str]) -> bool:
    return git.ask("check-ignore", "-q", "--", path, codes=(0, 1, 128), environment=environment).code != 1


_RAW = ("--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=none")


def commit_paths(
    git: Git, paths: Iterable[str], message: str, trailers: Mapping[str, str], *, identity: GitIdentity
) -> str:
    """Commits the current state of these paths, and nothing else, on the checked out branch. Creates a commit even
    if nothing changed: its trailer is the key by which the step is found again.

    The paths are staged first and the branch moves last. After a kill in between they are staged, which does no
    harm, and the next call makes the same commit."""
    named = list(paths)
    head, branch = _current_head(git)
    stage_paths(git, named)
    tree = _tree_of(git, head, named)
    made = commit_tree(git, tree, [head], write_message(message, trailers), author=identity)
    move_ref(git, branch, made, head)
    return made


def commit_tree(
    git: Git, tree: str, parents: Iterable[str], message: str, *, author: GitIdentity = AUTOPILOT_IDENTITY
) -> str:
    """Creates a commit that no ref points to yet. All our commits are made here, with redacted messages."""
    named = [part for parent in parents for part in ("-p", parent)]
    who = author.as_environment("AUTHOR") | AUTOPILOT_IDENTITY.as_environment("COMMITTER")
    arguments = ("commit-tree", "--no-gpg-sign", tree, *named)
    return git.ask(*arguments, feed=redact_message(message).encode("utf-8", "replace"), environment=who).text


def move_ref(git: Git, ref: str, new: str, old: str) -> None:
    """Compare-and-set, so a concurrent change of the ref is not lost. `old` empty: the ref did not exist."""
    try:
        git.ask("update-ref", "-m", "autopilot", ref, new, old or "0" * len(new))
    except GitError:
        now = git.ask("rev-parse", "--verify", "--quiet", ref, codes=(0, 1)).text
        if now == old:
            raise
        raise MovedError(
            "has moved while we were about to move it",
            location=Location(ref),
            found=now or "nothing",
            expected=old or "nothing",
            hint="nothing of it is lost; look again: git log -3",
        ) from None


def rewrite_commits(
    git: Git, base: str, head: str, *, paths: Container[str], message: Callable[[str], str]
) -> dict[str, str]:
    """Rewrites the agents' commits of `base..head` without their changes to `paths` and with `message` applied to
    their messages. Returns old commit → new commit. Author and dates stay: the same input gives the same commits.
    Other commits are only rebased onto their new parent, with their own changes. No ref moves."""
    check_revision(base, head)
    made: dict[str, str] = {}
    for commit in git.ask("rev-list", "--reverse", "--topo-order", head, f"^{base}").text.split():
        fields, text = _read_commit(git, commit)
        old = [value for name, value in fields if name == "parent"]
        parents = [made.get(parent, parent) for parent in old]
        is_agents = any(name == "committer" and AGENT_MARK in value for name, value in fields)
        if not is_agents and parents == old:
            continue
        changed = _changed(git, parents, commit, paths)
        if not is_agents:  # paths it did not change itself came from its old parent
            changed = {path: row for path, row in changed.items() if path not in _changed(git, old, commit, paths)}
        new_message = message(text) if is_agents else text
        if not changed and parents == old and new_message == text:
            continue
        with temporary_index() as index:
            git.ask("read-tree", commit, index=index)
            write_entries(git, ((path, row.before) for path, row in changed.items()), index=index)
            tree = git.ask("write-tree", index=index).text
        # The signature is dropped: it covers the old content.
        kept = [f"{name} {value}" for name, value in fields if name in ("author", "committer", "encoding")]
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents), *kept, "", new_message]
        data = "\n".join(lines).encode("utf-8", "surrogateescape")
        made[commit] = git.ask("hash-object", "-t", "commit", "-w", "--stdin", feed=data).text
    return made


def move_refs(git: Git, rewritten: Mapping[str, str]) -> None:
    """Moves every branch and tag at one of these commits to the new one, and HEAD if it is detached."""
    listed = git.ask("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags").text
    for old, ref in (row.split(" ", 1) for row in listed.splitlines()):
        if old in rewritten:
            move_ref(git, ref, rewritten[old], old)
    head = git.ask("rev-parse", "--verify", "--quiet", "HEAD", codes=(0, 1)).text
    if head in rewritten:  # detached: no branch pointed to it
        git.ask("update-ref", "--no-deref", "-m", "autopilot", "HEAD", rewritten[head], head)


def _read_commit(git: Git, commit: str) -> tuple[list[tuple[str, str]], str]:
    """Header fields and message. Continuation lines, e.g. of a signature, have no name and are left out."""
    header, _, message = git.ask("cat-file", "commit", commit).out.partition(b"\n\n")
    lines = header.decode("utf-8", "surrogateescape").split("\n")
    fields = [(name, value) for name, _, value in (line.partition(" ") for line in lines)]
    return fields, message.decode("utf-8", "surrogateescape")


def _changed(git: Git, parents: Sequence[str], commit: str, paths: Container[str]) -> dict[str, TreeDifference]:
    """Which of these paths this commit itself changes: different from its first parent and not merged in."""
    found: dict[str, TreeDifference] = {}
    for number, parent in enumerate(parents or [EMPTY_TREE]):
        rows = parse_raw_diff(iter(git.ask("diff-tree", "-r", *_RAW, parent, commit, "--").fields))
        changed = {path: row for path, row in rows.items() if path in paths}
        found = changed if number == 0 else {path: row for path, row in found.items() if path in changed}
    return found


def _current_head(git: Git) -> tuple[str, str]:
    """The current commit and its ref: the full branch name, so that our commit does not land on another branch if
    the user switches meanwhile."""
    answer = git.ask("rev-parse", "HEAD", "--symbolic-full-name", "HEAD", codes=(0, 128))
    lines = answer.text.splitlines()
    if answer.code != 0 or len(lines) != 2:
        raise GitError("has no commit yet", location=Location(git.top), hint="git commit --allow-empty -m 'Begin'")
    return lines[0], lines[1]


def _tree_of(git: Git, head: str, named: list[str]) -> str:
    """HEAD's tree with these paths as in the index. Works on a copy of the index, where other staged paths are
    reset; they stay staged in the real one."""
    mine = set(named)
    with copied_index(git) as index:
        differences = compare_index(git, head, index=index)
        foreign = [(path, found.before) for path, found in differences.items() if path not in mine]
        if foreign:
            ours = [(path, found.after) for path, found in differences.items() if path in mine]
            write_entries(git, [*foreign, *ours], index=index)
        return git.ask("write-tree", index=index).text

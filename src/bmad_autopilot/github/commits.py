"""Commits by us: exactly these paths, whatever else is staged or lies about."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence

from ..core.errors import Place
from .git import Git, GitError, MovedError, check_revision
from .identities import AGENT_MARK, OURS, Identity
from .index import Difference, compare_index, copied_index, empty_index, read_raw, write_entries
from .messages import redact_message, write_message
from .staging import stage
from .trees import EMPTY_TREE

_RAW = ("--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=none")


def commit(
    git: Git, paths: Iterable[str], message: str, trailers: Mapping[str, str], *, identity: Identity
) -> str:
    """Commit the work tree's state of these paths on the branch that is checked out, and nothing else. A commit is
    made even if nothing changed: its trailer is the key by which the step is found again.

    The paths are staged first and the branch moves last. After a kill in between they are staged, which hurts
    nobody, and the next call makes the same commit."""
    named = list(paths)
    head, branch = _head(git)
    stage(git, named)
    tree = _tree_of(git, head, named)
    made = commit_tree(git, tree, [head], write_message(message, trailers), author=identity)
    move_ref(git, branch, made, head)
    return made


def commit_tree(git: Git, tree: str, parents: Iterable[str], message: str, *, author: Identity = OURS) -> str:
    """A commit that no ref holds yet. All of our commits are made here: none has a secret in its message."""
    named = [part for parent in parents for part in ("-p", parent)]
    who = author.as_environment("AUTHOR") | OURS.as_environment("COMMITTER")
    arguments = ("commit-tree", "--no-gpg-sign", tree, *named)
    return git.ask(*arguments, feed=redact_message(message).encode("utf-8", "replace"), environment=who).text


def move_ref(git: Git, ref: str, new: str, old: str) -> None:
    """Compare and set: what somebody else did to the ref meanwhile is not lost. `old` empty: there was none."""
    try:
        git.ask("update-ref", "-m", "autopilot", ref, new, old or "0" * len(new))
    except GitError:
        now = git.ask("rev-parse", "--verify", "--quiet", ref, codes=(0, 1)).text
        if now == old:
            raise
        raise MovedError(
            "has moved while we were about to move it",
            place=Place(ref),
            found=now or "nothing",
            expected=old or "nothing",
            hint="nothing of it is lost; look again: git log -3",
        ) from None


def remake_commits(
    git: Git, base: str, head: str, *, paths: Container[str], message: Callable[[str], str]
) -> dict[str, str]:
    """Make the commits of `base..head` that agents made again, without their changes to `paths` and with `message`
    applied to what they say. Return each old commit with its new one. Author and dates stay: the same input gives
    the same commits. Commits of others are only put on a new parent, with their own changes. No ref moves."""
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
        if not is_agents:  # what it did not change itself came with its old parent
            changed = {path: row for path, row in changed.items() if path not in _changed(git, old, commit, paths)}
        said = message(text) if is_agents else text
        if not changed and parents == old and said == text:
            continue
        with empty_index() as index:
            git.ask("read-tree", commit, index=index)
            write_entries(git, ((path, row.before) for path, row in changed.items()), index=index)
            tree = git.ask("write-tree", index=index).text
        # A signature is over the old content.
        kept = [f"{name} {value}" for name, value in fields if name in ("author", "committer", "encoding")]
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents), *kept, "", said]
        data = "\n".join(lines).encode("utf-8", "surrogateescape")
        made[commit] = git.ask("hash-object", "-t", "commit", "-w", "--stdin", feed=data).text
    return made


def move_refs(git: Git, remade: Mapping[str, str]) -> None:
    """Set every branch and tag that names one of these commits to the new one, and HEAD where it is detached."""
    listed = git.ask("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags").text
    for old, ref in (row.split(" ", 1) for row in listed.splitlines()):
        if old in remade:
            move_ref(git, ref, remade[old], old)
    head = git.ask("rev-parse", "--verify", "--quiet", "HEAD", codes=(0, 1)).text
    if head in remade:  # no branch named it
        git.ask("update-ref", "--no-deref", "-m", "autopilot", "HEAD", remade[head], head)


def _read_commit(git: Git, commit: str) -> tuple[list[tuple[str, str]], str]:
    """Its header's fields and its message. Continued lines, as of a signature, have no name and are left out."""
    header, _, message = git.ask("cat-file", "commit", commit).out.partition(b"\n\n")
    lines = header.decode("utf-8", "surrogateescape").split("\n")
    fields = [(name, value) for name, _, value in (line.partition(" ") for line in lines)]
    return fields, message.decode("utf-8", "surrogateescape")


def _changed(git: Git, parents: Sequence[str], commit: str, paths: Container[str]) -> dict[str, Difference]:
    """Which of these paths this commit itself changes: not as in its first parent, nor as a merge brought it."""
    found: dict[str, Difference] = {}
    for number, parent in enumerate(parents or [EMPTY_TREE]):
        rows = read_raw(iter(git.ask("diff-tree", "-r", *_RAW, parent, commit, "--").fields))
        changed = {path: row for path, row in rows.items() if path in paths}
        found = changed if number == 0 else {path: row for path, row in found.items() if path in changed}
    return found


def _head(git: Git) -> tuple[str, str]:
    """The commit we stand on, and the ref that names it: the branch, by its full name, so that somebody who
    switches branches meanwhile does not get our commit on theirs."""
    answer = git.ask("rev-parse", "HEAD", "--symbolic-full-name", "HEAD", codes=(0, 128))
    lines = answer.text.splitlines()
    if answer.code != 0 or len(lines) != 2:
        raise GitError("has no commit yet", place=Place(git.top), hint="git commit --allow-empty -m 'Begin'")
    return lines[0], lines[1]


def _tree_of(git: Git, head: str, named: list[str]) -> str:
    """HEAD's tree with these paths as the index has them. On a copy of the index: what else is staged is set back
    there, and stays staged in the real one."""
    mine = set(named)
    with copied_index(git) as index:
        differences = compare_index(git, head, index=index)
        foreign = [(path, found.before) for path, found in differences.items() if path not in mine]
        if foreign:
            ours = [(path, found.after) for path, found in differences.items() if path in mine]
            write_entries(git, [*foreign, *ours], index=index)
        return git.ask("write-tree", index=index).text

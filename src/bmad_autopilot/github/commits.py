"""Commits by us: exactly these paths, whatever else is staged or lies about."""

from collections.abc import Iterable, Mapping

from ..core.errors import ConflictError, Place
from .git import Git, GitError
from .identities import OURS, Identity
from .index import compare_index, copied_index, write_entries
from .messages import write_message
from .staging import stage


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
    """A commit that no ref holds yet."""
    named = [part for parent in parents for part in ("-p", parent)]
    who = author.as_environment("AUTHOR") | OURS.as_environment("COMMITTER")
    arguments = ("commit-tree", "--no-gpg-sign", tree, *named)
    return git.ask(*arguments, feed=message.encode("utf-8", "replace"), environment=who).text


def move_ref(git: Git, ref: str, new: str, old: str) -> None:
    """Compare and set: what somebody else did to the ref meanwhile is not lost. `old` empty: there was none."""
    try:
        git.ask("update-ref", "-m", "autopilot", ref, new, old or "0" * len(new))
    except GitError:
        now = git.ask("rev-parse", "--verify", "--quiet", ref, codes=(0, 1)).text
        if now == old:
            raise
        raise ConflictError(
            "has moved while we were about to move it",
            place=Place(ref),
            found=now or "nothing",
            expected=old or "nothing",
            hint="nothing of it is lost; look again: git log -3",
        ) from None


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

"""Branch operations of a delivery: the lane's branch, the base, and their state on the remote."""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence

from ..core.errors import ConflictError, Location, command
from . import merge
from .commits import commit_tree, move_ref
from .git import Git, GitError, MovedError, check_revision, format_paths
from .history import (
    AUTOPILOT_IDENTITY,
    CommitInfo,
    GitIdentity,
    base_branch,
    commits_between,
    current_branch,
    is_ancestor,
)
from .index import TreeDifference, parse_raw_diff
from .merge import FileMerger, MergeResult
from .remotes import HEADS, Remote
from .worktree_state import WorktreeState, read_worktree_state, worktree_error

# Switching branches, and moving a branch together with its checked out files. Uncommitted work is never
# overwritten.

_HEADS = "refs/heads/"


def switch_branch(git: Git, branch: str, start: str | None) -> None:
    """Checks out the branch. A missing branch is created at `start`; without `start` it is an error."""
    state = read_worktree_state(git)
    if state.branch == branch and state.head is not None and state.operation is None:
        return
    _refuse_unsafe(state)
    target = _commit_of(git, f"{_HEADS}{branch}")
    worktree = find_worktree(git, branch) if target else None
    if worktree is not None:
        hint = f"work there, or free it: git worktree remove {worktree}"
        raise ConflictError(
            f"{branch} is checked out in another work tree", location=Location(worktree), hint=hint
        )
    commit = target or (_commit_of(git, start) if start else "")
    if not commit:
        expected = "a branch that exists" if start is None else "a commit to begin at"
        raise GitError("there is no such branch or commit", found=start or branch, expected=expected)
    _refuse_overwriting(git, state.head or commit, commit)
    options = ("--quiet", "--no-overwrite-ignore", "--no-guess", "--no-recurse-submodules")
    create = () if target else ("--no-track", "--create")
    git.ask("switch", *options, *create, branch, *(() if target else (commit,)))


def move_branch(git: Git, branch: str, new: str, old: str) -> None:
    """Moves the branch forward from `old` (empty: did not exist) to `new`, if it is still at `old`. If it is
    checked out, index and files are updated first: after an interruption the next call finds them already
    updated."""
    check_revision(new, *([old] if old else []))
    if old and not is_ancestor(git, old, new):
        raise ConflictError(f"{branch} would lose commits", found=new[:12], expected=f"one that holds {old[:12]}")
    worktree = find_worktree(git, branch) if old else None
    if worktree is not None and new != old:
        _update_checkout(Git(worktree), branch, new, old)
    move_ref(git, f"{_HEADS}{branch}", new, old)


def find_worktree(git: Git, branch: str) -> str | None:
    """The work tree in which this branch is checked out."""
    folder = ""
    for field in git.ask("worktree", "list", "--porcelain", "-z").fields:
        name, _, value = field.partition(" ")
        if name == "worktree":
            folder = value
        elif name == "branch" and value == f"{_HEADS}{branch}" and os.path.isdir(folder):
            return folder
    return None


def _update_checkout(git: Git, branch: str, new: str, old: str) -> None:
    state = read_worktree_state(git)
    if (state.branch, state.head) != (branch, old):
        found = f"{state.branch or 'no branch'} at {(state.head or 'no commit')[:12]}"
        expected = f"{branch} at {old[:12]}"
        raise MovedError("has moved meanwhile", location=Location(git.top), found=found, expected=expected)
    git.ask("update-index", "-q", "--refresh", codes=(0, 1))  # else a touched file counts as changed
    if state.dirty and _matches_commit(git, new):
        return
    _refuse_unsafe(state)
    _refuse_overwriting(git, old, new)
    git.ask("read-tree", "-m", "-u", old, new)


def _matches_commit(git: Git, commit: str) -> bool:
    """Whether index and tracked files match this commit."""
    options = (("--cached",), ())
    return all(git.ask("diff-index", "--quiet", *how, commit, "--", codes=(0, 1)).code == 0 for how in options)


def _refuse_unsafe(state: WorktreeState) -> None:
    if (error := worktree_error(state)) is not None:
        raise error
    if state.dirty:
        raise ConflictError(
            "tracked files have changes that are not committed",
            location=Location(state.folder),
            found=format_paths(state.dirty),
            hint="commit them, or put them aside: git stash",
        )


def _refuse_overwriting(git: Git, before: str, after: str) -> None:
    options = ("-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=none")
    rows = parse_raw_diff(iter(git.ask("diff-tree", *options, before, after, "--").fields))
    new = [path for path, row in rows.items() if row.after.exists and not row.before.exists]
    found = sorted({place for path in new for place in _blocking_paths(git.top, path, rows)})
    if found:
        raise ConflictError(
            "untracked files stand where the branch has files",
            location=Location(git.top),
            found=format_paths(found),
            hint="move them away, or commit them",
        )


def _blocking_paths(top: str, path: str, rows: dict[str, TreeDifference]) -> Iterator[str]:
    """Untracked paths that would be overwritten. Includes ignored files, which git overwrites silently."""

    def is_tracked(one: str) -> bool:
        return one in rows and rows[one].before.exists

    folder = os.path.dirname(path)
    while folder:
        path_on_disk = os.path.join(top, folder)
        if os.path.lexists(path_on_disk) and (os.path.islink(path_on_disk) or not os.path.isdir(path_on_disk)):
            if not is_tracked(folder):
                yield folder
            return
        folder = os.path.dirname(folder)
    path_on_disk = os.path.join(top, path)
    if os.path.isdir(path_on_disk) and not os.path.islink(path_on_disk):
        for inside, _, names in os.walk(path_on_disk):
            files = (os.path.relpath(os.path.join(inside, name), top) for name in names)
            yield from (one for one in files if not is_tracked(one))
    elif os.path.lexists(path_on_disk):
        yield path


def _commit_of(git: Git, revision: str) -> str:
    """Empty if there is no such commit."""
    check_revision(revision)
    options = ("--verify", "--quiet", "--end-of-options")
    return git.ask("rev-parse", *options, f"{revision}^{{commit}}", codes=(0, 1, 128)).text


MAX_NAMED_PATHS = 20  # paths listed in the manual steps


class Branches:
    """The git operations that delivery needs. Arguments are commit ids or short branch names."""

    def __init__(self, git: Git, remote: str = "origin") -> None:
        self._git = git
        self._remote = Remote(git, remote)

    # the remote

    def remotes(self) -> list[str]:
        return self._git.ask("remote").text.splitlines()

    def remote_url(self) -> str:
        """Empty if there is no such remote."""
        urls = self._git.ask("remote", "get-url", self._remote.name, codes=(0, 2, 128)).text
        return urls.splitlines()[0] if urls else ""

    def base_branch(self, configured: str | None) -> str | None:
        """Asks the remote once for its default branch; git stores it as after a clone."""
        ask = self._ask_remote_base if self.remote_url() else None
        return base_branch(self._git, configured, remote=self._remote.name, ask_remote=ask)

    def _ask_remote_base(self) -> str | None:
        found = self._remote.default_branch()
        if found and self._exists(self._remote.tracking_ref(found)):
            self._git.ask("symbolic-ref", self._remote.tracking_ref("HEAD"), self._remote.tracking_ref(found))
        return found

    def heads(self, *branches: str) -> dict[str, str]:
        """Heads of these branches on the remote; empty if missing."""
        return self._remote.heads(*branches)

    def fetch(self, *branches: str) -> dict[str, str]:
        """The same, after fetching their commits."""
        return self._remote.fetch(*branches)

    def push(self, branch: str, sha: str, expect: str) -> None:
        """Moves the branch from `expect` (empty: missing) to `sha`. ConflictError if `sha` does not contain
        `expect`."""
        self._remote.push(branch, sha, expect)

    def delete(self, branch: str, expect: str) -> None:
        self._remote.delete(branch, expect)

    # history

    def branch_head(self, branch: str) -> str:
        """Head of the local branch; empty if missing."""
        return self._git.ask("rev-parse", "--verify", "--quiet", f"{HEADS}{branch}", codes=(0, 1, 128)).text

    def contains(self, newer: str, older: str) -> bool:
        """False if `older` was never fetched."""
        try:
            return is_ancestor(self._git, older, newer)
        except GitError:
            if self._exists(newer) and not self._exists(older):
                return False
            raise

    def tree_of(self, sha: str) -> str:
        check_revision(sha)
        return self._git.ask("rev-parse", "--verify", "--end-of-options", f"{sha}^{{tree}}").text

    def foreign_commits(self, older: str, newer: str, *excluding: str) -> list[CommitInfo]:
        """Commits of `older..newer` not made by the autopilot, newest first. `excluding`: heads whose commits do
        not count, such as the base, whose commits came in with a merge."""
        between = commits_between(self._git, older, newer, *excluding)
        return [commit for commit in between if commit.committer != AUTOPILOT_IDENTITY]

    # creating commits

    def merge_base_into(
        self,
        head: str,
        base: str,
        *,
        message: str,
        trailers: Mapping[str, str],
        merges: Mapping[str, FileMerger],
        since: str | None = None,
    ) -> MergeResult:
        return merge.merge_base_into(
            self._git, head, base, message=message, trailers=trailers, merges=merges, since=since
        )

    def squash(self, base: str, head: str, message: str, author: GitIdentity) -> str:
        """All changes of `base..head` as one commit that no ref points to yet. `message` is used as is."""
        if not self.contains(head, base):
            hint = "take the base in first"
            raise ConflictError("does not hold its base", found=head[:12], expected=base[:12], hint=hint)
        return commit_tree(self._git, self.tree_of(head), (base,), message, author=author)

    # the work tree

    def move_branch(self, branch: str, new: str, old: str) -> None:
        move_branch(self._git, branch, new, old)

    def switch(self, branch: str, start: str | None = None) -> None:
        switch_branch(self._git, branch, start)

    def conflict_steps(self, branch: str, base: str, paths: Sequence[str], merge_instead: str = "") -> str:
        """Commands for resolving the conflict by hand. `merge_instead`: from `MergeResult`."""
        remote = self._remote.name
        named = [path for path in paths[:MAX_NAMED_PATHS] if path.isprintable()]
        whole = len(named) == len(paths)
        files = " ".join(shlex.quote(path) for path in named)
        worktree = self._linked_worktree(branch)
        steps = [
            f"git fetch {remote} {shlex.quote(base)}",
            f"cd {shlex.quote(worktree)}" if worktree else f"git switch {shlex.quote(branch)}",
            command("merge-driver", "run", "--", "git", "merge", merge_instead or f"{remote}/{base}"),
            f"# resolve {files}" + ("" if whole else f" and {len(paths) - len(named)} more"),
            f"git add -- {files}" if whole and named else "git add --update",
            "git commit --no-edit",
            f"git push {remote} {shlex.quote(branch)}",
            *(["cd -"] if worktree else []),
            command("autopilot", "--continue"),
        ]
        return "\n".join(steps)

    def _linked_worktree(self, branch: str) -> str:
        """This linked worktree if the branch is checked out in it: git refuses to switch another one to the
        branch."""
        tree = self._git.work_tree
        return tree.top if tree is not None and tree.is_linked and current_branch(self._git) == branch else ""

    def _exists(self, revision: str) -> bool:
        check_revision(revision)
        return self._git.ask("cat-file", "-e", f"{revision}^{{commit}}", codes=(0, 1, 128)).code == 0

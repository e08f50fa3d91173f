"""The branches of a delivery: ours, the base, and what the remote has of them."""

import shlex
from collections.abc import Mapping, Sequence

from ..core.commands import command
from ..core.errors import ConflictError
from . import switching, taking_in
from .commits import commit_tree
from .git import Git, GitError, check_revision
from .history import Commit, base_branch, branch_of, commits_between, is_ancestor
from .identities import OURS, Identity
from .remotes import HEADS, Remote
from .taking_in import Merge, Taken

MOST_NAMED = 20  # paths in the steps for a person


class Branches:
    """The delivery side of git's door. What is named here is a commit or a branch's short name."""

    def __init__(self, git: Git, remote: str = "origin") -> None:
        self._git = git
        self._remote = Remote(git, remote)

    # the remote

    def remotes(self) -> list[str]:
        return self._git.ask("remote").text.splitlines()

    def remote_url(self) -> str:
        """Empty: there is no such remote."""
        urls = self._git.ask("remote", "get-url", self._remote.name, codes=(0, 2, 128)).text
        return urls.splitlines()[0] if urls else ""

    def base_branch(self, configured: str | None) -> str | None:
        """The remote is asked once which branch is its own; git remembers that as after a clone."""
        ask = self._ask_for_base if self.remote_url() else None
        return base_branch(self._git, configured, remote=self._remote.name, ask=ask)

    def _ask_for_base(self) -> str | None:
        found = self._remote.default_branch()
        if found and self._exists(self._remote.tracking(found)):
            self._git.ask("symbolic-ref", self._remote.tracking("HEAD"), self._remote.tracking(found))
        return found

    def heads(self, *branches: str) -> dict[str, str]:
        """Where these stand on the remote; empty: there is none."""
        return self._remote.heads(*branches)

    def fetch(self, *branches: str) -> dict[str, str]:
        """The same, with their commits here."""
        return self._remote.fetch(*branches)

    def push(self, branch: str, sha: str, expect: str) -> None:
        """From `expect` (empty: there is none) to `sha`; ConflictError where `sha` does not hold `expect`."""
        self._remote.push(branch, sha, expect)

    def delete(self, branch: str, expect: str) -> None:
        self._remote.delete(branch, expect)

    # history

    def head_of(self, branch: str) -> str:
        """Of the branch here; empty: there is none."""
        return self._git.ask("rev-parse", "--verify", "--quiet", f"{HEADS}{branch}", codes=(0, 1, 128)).text

    def contains(self, newer: str, older: str) -> bool:
        """A commit that was never fetched is in no history of ours."""
        try:
            return is_ancestor(self._git, older, newer)
        except GitError:
            if self._exists(newer) and not self._exists(older):
                return False
            raise

    def tree_of(self, sha: str) -> str:
        check_revision(sha)
        return self._git.ask("rev-parse", "--verify", "--end-of-options", f"{sha}^{{tree}}").text

    def foreign_commits(self, older: str, newer: str, *besides: str) -> list[Commit]:
        """What came between and is not ours, the newest first. `besides`: heads whose commits do not count, as
        the base's, which came in with a merge."""
        between = commits_between(self._git, older, newer, *besides)
        return [commit for commit in between if commit.committer != OURS]

    # making

    def take_in(
        self,
        head: str,
        base: str,
        *,
        message: str,
        trailers: Mapping[str, str],
        merges: Mapping[str, Merge],
        since: str | None = None,
    ) -> Taken:
        return taking_in.take_in(
            self._git, head, base, message=message, trailers=trailers, merges=merges, since=since
        )

    def squash(self, base: str, head: str, message: str, author: Identity) -> str:
        """All that `head` has more than `base`, as one commit that no ref holds yet. `message` as it is."""
        if not self.contains(head, base):
            hint = "take the base in first"
            raise ConflictError("does not hold its base", found=head[:12], expected=base[:12], hint=hint)
        return commit_tree(self._git, self.tree_of(head), (base,), message, author=author)

    # the work tree

    def move(self, branch: str, new: str, old: str) -> None:
        switching.move_branch(self._git, branch, new, old)

    def switch(self, branch: str, start: str | None = None) -> None:
        switching.switch(self._git, branch, start)

    def conflict_steps(self, branch: str, base: str, paths: Sequence[str], instead: str = "") -> str:
        """What a person types who resolves it by hand. `instead`: as Taken has it."""
        remote = self._remote.name
        named = [path for path in paths[:MOST_NAMED] if path.isprintable()]
        whole = len(named) == len(paths)
        files = " ".join(shlex.quote(path) for path in named)
        apart = self._worktree_of(branch)
        steps = [
            f"git fetch {remote} {shlex.quote(base)}",
            f"cd {shlex.quote(apart)}" if apart else f"git switch {shlex.quote(branch)}",
            command("merge-driver", "run", "--", "git", "merge", instead or f"{remote}/{base}"),
            f"# resolve {files}" + ("" if whole else f" and {len(paths) - len(named)} more"),
            f"git add -- {files}" if whole and named else "git add --update",
            "git commit --no-edit",
            f"git push {remote} {shlex.quote(branch)}",
            *(["cd -"] if apart else []),
            command("autopilot", "--continue"),
        ]
        return "\n".join(steps)

    def _worktree_of(self, branch: str) -> str:
        """Where it is checked out, if in a worktree that we stand in: git switches no other to it."""
        tree = self._git.work_tree
        return tree.top if tree is not None and tree.is_linked and branch_of(self._git) == branch else ""

    def _exists(self, revision: str) -> bool:
        check_revision(revision)
        return self._git.ask("cat-file", "-e", f"{revision}^{{commit}}", codes=(0, 1, 128)).code == 0

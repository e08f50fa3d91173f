"""The port to local and remote branches. Implemented with git, and in memory for the simulator."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol


class BranchMerge(NamedTuple):
    """The result of merging another commit (usually the base) into our head."""

    sha: str  # a commit without a ref; empty: conflicts
    conflicts: tuple[str, ...] = ()
    semantic: tuple[str, ...] = ()  # paths merged by meaning, not by lines
    instead: str = ""  # with conflicts: what a person merges instead of the base, so that git reports no others


class BranchPort(Protocol):
    def remote_heads(self, *branches: str) -> dict[str, str]:
        """Fetch, and return the heads; empty: no such branch. ForgeError: the remote is unreachable."""

    def head(self, branch: str) -> str:
        """Head of the local branch; empty: there is none."""

    def contains(self, newer: str, older: str) -> bool: ...
    def fork_point(self, one: str, other: str) -> str:
        """The newest common commit; empty: there is none, or `other` was never fetched."""

    def tree(self, commit: str) -> str: ...
    def code(self, commit: str) -> str:
        """Its tree without the board: the key of check results."""

    def has_file(self, commit: str, path: str) -> bool:
        """Whether the commit has that file."""

    def push(self, branch: str, commit: str, expect: str) -> None:
        """Push only if the remote branch is at `expect`; empty: only if it does not exist."""

    def merge_commits(
        self, head: str, other: str, since: str, key: str, message: str, resolved: tuple[str, ...] = ()
    ) -> BranchMerge:
        """Merge `other` into `head`. `since`: a commit whose content is in both, whatever git's history says;
        `resolved`: paths whose conflict is already resolved in `head`."""

    def conflict_texts(self, head: str, other: str, result: BranchMerge) -> dict[str, str]:
        """Each conflicting file with git's conflict markers; empty where it is not text."""

    def move(self, branch: str, new: str, old: str) -> None:
        """Move the local branch, and the work tree if it has the branch checked out."""

    def checkout_problem(self, branch: str, commit: str) -> str:
        """Why the work tree is not this branch at this commit, unchanged; empty: it is."""

    def check_out(self, branch: str) -> None: ...
    def describe_check_writes(self, wrote: Mapping[str, str]) -> str:
        """`wrote`: path → check command that wrote it. A message with those that are changed now, the check and
        how to restore them; empty: none."""

    def squash(self, base: str, head: str, message: str) -> str: ...
    def merge_instructions(self, branch: str, base: str, result: BranchMerge) -> str:
        """The commands for a manual merge."""

    def trailers(self, older: str, newer: str) -> list[tuple[str, str]]:
        """The trailers of our commits between them, oldest first."""

    def delete_merged(self, branch: str, base: str) -> None:
        """Delete the merged local branch, after switching the work tree to the base."""

"""The branches' door: what delivery asks of git here and on the remote. Real git behind it, or the simulator's."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol


class TakenIn(NamedTuple):
    """The base, merged into our head."""

    sha: str  # a commit that no ref holds yet; empty: it cannot be done
    conflicts: tuple[str, ...] = ()
    semantic: tuple[str, ...] = ()  # paths that were merged by what they mean
    instead: str = ""  # with conflicts: what a person merges in the base's place, so that git meets no others


class Lines(Protocol):
    def remote_heads(self, *branches: str) -> dict[str, str]:
        """What the remote holds, fetched; empty: no such branch. ForgeError where it cannot be asked."""

    def head(self, branch: str) -> str:
        """The local branch's; empty where there is none."""

    def contains(self, newer: str, older: str) -> bool: ...
    def fork_point(self, one: str, other: str) -> str:
        """The newest commit that both hold; empty: there is none, or `other` never came here."""

    def tree(self, commit: str) -> str: ...
    def code(self, commit: str) -> str:
        """Its tree without the board: what checks are kept by."""

    def holds(self, commit: str, path: str) -> bool:
        """Whether there is such a file."""

    def push(self, branch: str, commit: str, expect: str) -> None:
        """Only if the remote's branch is at `expect`; empty: if there is none."""

    def take_in(
        self, head: str, other: str, since: str, key: str, message: str, settled: tuple[str, ...] = ()
    ) -> TakenIn:
        """Merge `other` into `head`. `since`: that commit's content is in both, whatever git's history says;
        `settled`: paths whose conflict was resolved in `head` already."""

    def conflict_texts(self, head: str, other: str, taken: TakenIn) -> dict[str, str]:
        """Each file that is in conflict, with git's own marks in it; empty where there is no text."""

    def move(self, branch: str, new: str, old: str) -> None:
        """The local branch, and the work tree along with it where that stands on it."""

    def stands(self, branch: str, commit: str) -> str:
        """Empty where the work tree is this branch at this commit, unchanged; else why not."""

    def stand(self, branch: str) -> None: ...
    def written(self, wrote: Mapping[str, str]) -> str:
        """`wrote`: files that checks have changed, each with the command. Which of them are changed in the work
        tree now, by which check, and how they are put back; empty: none."""

    def squash(self, base: str, head: str, message: str) -> str: ...
    def steps_for(self, branch: str, base: str, taken: TakenIn) -> str:
        """What a person types to merge by hand."""

    def trailers(self, older: str, newer: str) -> list[tuple[str, str]]:
        """Of our commits between them, the oldest first."""

    def forget(self, branch: str, base: str) -> None:
        """The local branch, once all of it is in the base: the work tree goes to the base first."""

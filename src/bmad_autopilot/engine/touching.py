"""Which paths a story's calls have changed, from the trees that their supervisors saw before and after."""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import NamedTuple

from ..agents.attempts import read_result, read_spec
from ..core.errors import FileError
from ..github.git import Git
from ..github.trees import changes


def touched_paths(
    git: Git, folders: Iterable[str], otherwise: Callable[[], tuple[str | None, str | None]]
) -> set[str]:
    """`otherwise`: the trees to compare where a call was cut off before anybody could look."""
    paths: set[str] = set()
    for before, after in {trees_of(folder) or otherwise() for folder in folders}:
        if before and after and before != after:
            found = changes(git, before, after)
            paths |= {path for change in found for path in (change.path, change.old_path)}
    return paths


class Between(NamedTuple):
    """The work tree after a call and before the next, while no agent was at work."""

    before: str
    after: str
    by_hand: bool  # a person had taken the story over

    def paths(self, git: Git) -> set[str]:
        found = changes(git, self.before, self.after) if self.before != self.after else []
        return {path for change in found for path in (change.path, change.old_path)}


def between_calls(folders: Sequence[str], handed_over: Set[str], now: str | None = None) -> Iterator[Between]:
    """`folders`: of a story's calls, in order. `now`: the tree after the last, where that counts too."""
    left, by_hand = "", False
    for folder in folders:
        trees = trees_of(folder)
        if trees is not None:
            if left:
                yield Between(left, trees[0], by_hand)
            left, by_hand = trees[1], False
        by_hand = by_hand or folder in handed_over
    if left and now:
        yield Between(left, now, by_hand)


def paths_by_hand(git: Git, folders: Sequence[str], handed_over: Set[str], now: str | None) -> set[str]:
    """What a person has left who took the story over."""
    times = between_calls(folders, handed_over, now) if handed_over else ()
    return {path for time in times if time.by_hand for path in time.paths(git)}


def trees_of(folder: str) -> tuple[str, str] | None:
    try:
        spec, result = read_spec(folder), read_result(folder)
    except FileError:
        return None
    return (spec.tree, result.tree) if spec.tree and result and result.tree else None

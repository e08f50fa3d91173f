"""Which paths a story's calls have changed, from the trees that their supervisors saw before and after."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import NamedTuple

from ..agents.attempts import Result, Spec, State, read_result, read_spec, state_of
from ..core.errors import FileError
from ..github.commits import commits_without, move_ref
from ..github.git import Git
from ..github.history import branch_of, head_of, is_ancestor
from ..github.index import compare_index, write_entries
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
    """`folders`: of a story's calls, in order. `now`: the tree after the last, where that counts too. Where one of
    a call's own trees is missing, the time on that side of it is left out: it cannot be told from the call."""
    left, by_hand = "", False
    for folder in folders:
        trees = _ends_of(folder)
        if trees is not None:
            before, after = trees
            if left and before:
                yield Between(left, before, by_hand)
            left, by_hand = after, False
        by_hand = by_hand or folder in handed_over
    if left and now:
        yield Between(left, now, by_hand)


def paths_by_hand(git: Git, folders: Sequence[str], handed_over: Set[str], now: str | None) -> set[str]:
    """What a person has left who took the story over."""
    times = between_calls(folders, handed_over, now) if handed_over else ()
    return {path for time in times if time.by_hand for path in time.paths(git)}


def trees_of(folder: str) -> tuple[str, str] | None:
    trees = _ends_of(folder)
    return trees if trees is not None and all(trees) else None


def _ends_of(folder: str) -> tuple[str, str] | None:
    """The trees before and after a call, each empty where it was not recorded; None: no call was made."""
    try:
        spec, result = read_spec(folder), read_result(folder)
    except FileError:
        return None
    if result is None and state_of(folder) is State.NEW:
        return None
    return spec.tree or "", result.tree or "" if result is not None else ""


class Cleaned(NamedTuple):
    """A call's commits once the user's files are out of them."""

    result: Result  # with the new head
    taken_out: tuple[str, ...] = ()  # paths that its commits held
    left_in: tuple[str, ...] = ()  # paths that they still hold: someone has committed on top of them
    remade: Mapping[str, str] = {}  # each old commit with its new one


def users_paths(git: Git, spec: Spec, own: Set[str]) -> set[str]:
    """The paths that were changed or untracked when the call began. `own`: those that are the story's work."""
    if not spec.head or not spec.tree:
        return set()
    found = changes(git, spec.head, spec.tree)
    return {path for change in found for path in (change.path, change.old_path)} - own


def take_out(git: Git, spec: Spec, result: Result, users: Set[str]) -> Cleaned:
    """Take the user's files out of the commits that a call made: agents commit with `git add --all`. The files in
    the work tree stay as they are. Called again after a crash, it comes to the same commits."""
    if not users or not spec.head or not result.head or not result.branch or spec.head == result.head:
        return Cleaned(result)
    remade = commits_without(git, spec.head, result.head, users)
    new = remade.get(result.head)
    if new is None:
        return Cleaned(result)
    found = changes(git, new, result.head)
    taken = tuple(sorted({path for change in found for path in (change.path, change.old_path)}))
    now = head_of(git)
    if branch_of(git) != result.branch or now not in (result.head, new):
        has_it = now is not None and is_ancestor(git, result.head, now)
        return Cleaned(result, left_in=taken) if has_it else Cleaned(result)
    staged = compare_index(git, new)
    write_entries(git, ((path, row.before) for path, row in staged.items() if path in users))
    if now != new:
        move_ref(git, f"refs/heads/{result.branch}", new, result.head)
    return Cleaned(replace(result, head=new), taken, remade=remade)

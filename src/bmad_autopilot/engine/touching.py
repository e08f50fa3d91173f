"""Which paths a story's calls have changed, from the trees that their supervisors saw before and after."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import NamedTuple

from ..agents.attempts import Result, Spec, State, read_result, read_spec, state_of
from ..agents.shim.redaction import redact
from ..core.errors import FileError
from ..github.commits import move_refs, remake_commits
from ..github.git import Git
from ..github.history import head_of, is_ancestor
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


class UsersFiles:
    """Paths that belong to the user; one that ends in a slash stands for everything below it."""

    def __init__(self, paths: Iterable[str]) -> None:
        listed = set(paths)
        self._folders = tuple(path for path in listed if path.endswith("/"))
        self._files = listed.difference(self._folders)

    def __contains__(self, path: object) -> bool:
        return path in self._files or (isinstance(path, str) and path.startswith(self._folders))


class Cleaned(NamedTuple):
    """A call's commits once the user's files and secrets in their messages are out of them."""

    result: Result  # with the new head
    taken_out: tuple[str, ...] = ()  # paths that its commits held
    left_in: tuple[str, ...] = ()  # paths that commits of the call still hold: they were pushed, or built upon
    remade: Mapping[str, str] = {}  # each old commit with its new one


def users_paths(git: Git, spec: Spec, own: Set[str]) -> set[str]:
    """The paths that were changed or untracked when the call began. `own`: those that are the story's work."""
    if not spec.head or not spec.tree:
        return set()
    found = changes(git, spec.head, spec.tree)
    return {path for change in found for path in (change.path, change.old_path)} - own


def take_out(git: Git, spec: Spec, result: Result, users: Container[str]) -> Cleaned:
    """Take the user's files, and secrets in messages, out of the commits that a call made: agents commit with `git
    add --all`. The files in the work tree stay as they are. Every branch and tag that names such a commit follows.
    Called again after a crash, it comes to the same commits."""
    if not spec.head or not result.head or spec.head == result.head:
        return Cleaned(result)
    remade = remake_commits(git, spec.head, result.head, paths=users, message=redact)
    new = remade.get(result.head)
    if new is None:
        return Cleaned(result)
    found = changes(git, new, result.head)
    taken = tuple(sorted({path for change in found for path in (change.path, change.old_path)}))
    now = head_of(git)
    if now not in (result.head, new) and now is not None and is_ancestor(git, result.head, now):
        return Cleaned(result, left_in=taken)
    if now == result.head:
        staged = compare_index(git, new)
        write_entries(git, ((path, row.before) for path, row in staged.items() if path in users))
    move_refs(git, remade)
    pushed = git.ask("for-each-ref", "--count=1", "--contains", next(iter(remade)), "refs/remotes").text
    return Cleaned(replace(result, head=new), taken, taken if pushed else (), remade)

"""The work tree's files as a tree has them. Only over what has been saved: nothing here loses work."""

import os
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress

from ..core.errors import ConflictError, FileError, Place
from .git import Git, check_revision
from .index import GITLINK, Difference, compare_index, copied_index, empty_index, write_entries
from .paths import encode, is_inside, join, show
from .saving import check_ref
from .staging import put_in, sort_out


def put_back(git: Git, tree: str, paths: Iterable[str], *, saved: str) -> list[str]:
    """Make these paths as they are in `tree`, in the work tree and in the index; those it has not are removed.
    `saved`: the ref that holds what stands there now, which is checked before anything is touched. Returns the
    paths that changed.

    Cut short and called again, it goes on: a path may be as saved, gone, or already as in the tree."""
    check_revision(tree)
    check_ref(saved)
    named = {path for path in paths if is_inside(path)}
    to_do = _to_do(git, tree, named, saved)
    in_the_way = [
        path for path, row in to_do.items() if row.before.is_there and not _is_free(git.top, path, named)
    ]
    if in_the_way:
        raise _refused("something that was not saved stands in the way", in_the_way)
    for path, row in to_do.items():
        if row.after.is_there and row.after.mode != GITLINK and not row.before.is_there:
            _remove(git.top, path)
    staged = compare_index(git, tree)
    write_entries(git, ((path, row.before) for path, row in staged.items() if path in named))
    files = [path for path, row in to_do.items() if row.before.is_there and row.before.mode != GITLINK]
    if files:
        git.ask("checkout-index", "-f", "-u", "-z", "--stdin", feed=join(files))
    return sorted(to_do)


def restore_missing(git: Git, tree: str, path: str) -> list[str]:
    """Write what `tree` holds at this path, or below it, wherever nothing is there now. Nothing is overwritten,
    and git's index stays as it is. Returns the paths written."""
    check_revision(tree)
    if not is_inside(path):
        return []
    rows = git.ask("ls-tree", "-r", "-z", "--name-only", "--full-tree", tree, "--", path).fields
    missing = [name for name in rows if _is_missing(git.top, name)]
    if missing:
        with empty_index() as index:
            git.ask("read-tree", tree, index=index)
            git.ask("checkout-index", "-q", "-z", "--stdin", feed=join(missing), index=index)
    return missing


def _is_missing(top: str, path: str) -> bool:
    """Nothing is there, and no link or file stands where one of its folders belongs."""
    return not os.path.lexists(os.path.join(top, path)) and _is_free(top, path, frozenset())


def _to_do(git: Git, tree: str, named: Set[str], saved: str) -> dict[str, Difference]:
    """Where the work tree is not as the tree: the wanted state before, the present one after."""
    with copied_index(git) as index:
        put_in(git, sort_out(git.top, sorted(named)), index=index)
        unsaved = compare_index(git, saved, index=index)
        wanted = compare_index(git, tree, index=index)
    to_do = {path: row for path, row in wanted.items() if path in named}
    lost = [path for path, row in to_do.items() if path in unsaved and row.after.is_there]
    if lost:
        raise _refused(f"these files are not as {saved} holds them", lost)
    return to_do


def _is_free(top: str, path: str, named: Set[str]) -> bool:
    """May a file be written here? Not through a link or over a file that nobody named, and not in the place of a
    folder with more in it than was named."""
    folder = os.path.dirname(path)
    while folder:
        place = os.path.join(top, folder)
        if os.path.islink(place) or os.path.isfile(place):
            return folder in named
        if os.path.lexists(os.path.join(place, ".git")):
            return False
        folder = os.path.dirname(folder)
    return all(inside in named for inside in _files_below(top, path))


def _files_below(top: str, path: str) -> Iterator[str]:
    place = os.path.join(top, path)
    if os.path.isdir(place) and not os.path.islink(place):
        for folder, folders, files in os.walk(place):
            links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
            yield from (os.path.relpath(os.path.join(folder, name), top) for name in (*files, *links))


def _remove(top: str, path: str) -> None:
    """The file, and the folders that it leaves empty."""
    try:
        with suppress(FileNotFoundError):
            os.unlink(encode(os.path.join(top, path)))
    except OSError as error:
        raise FileError(f"cannot be removed: {error.strerror}", place=Place(os.path.join(top, path))) from None
    with suppress(OSError):  # the first that is not empty
        while path := os.path.dirname(path):
            os.rmdir(encode(os.path.join(top, path)))


def _refused(message: str, paths: list[str]) -> ConflictError:
    hint = "nothing was touched; save the work tree again, then try again"
    return ConflictError(message, found=show(sorted(paths)), hint=hint)

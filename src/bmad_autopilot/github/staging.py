"""From the work tree into an index, path by path. Which paths may go in is settled here, before git sees them."""

import os
import stat
from collections.abc import Iterable, Sequence, Set
from string import ascii_lowercase
from typing import NamedTuple

from .git import Git
from .paths import encode, is_inside, join


class Sorted(NamedTuple):
    present: list[str]  # a file, a link, or another repository's folder
    absent: list[str]
    displaced: list[str]  # something stands in its place that git would not take for it: a folder, a link's inside


def stage(git: Git, paths: Iterable[str]) -> list[str]:
    """Put the present state of these paths into the index, so that a reviewer sees new files too. What git ignores
    and what is not inside the work tree is passed over. Returns the paths taken."""
    found = sort_out(git.top, paths)
    ignored = _ignored(git, found.present)
    taken = found._replace(present=[path for path in found.present if path not in ignored])
    put_in(git, taken)
    return [*taken.present, *taken.absent, *taken.displaced]


def put_in(git: Git, paths: Sorted, *, index: str | None = None) -> None:
    """The same without asking what is ignored, and into an index of ours if one is named."""
    if paths.displaced:
        git.ask("update-index", "--force-remove", "-z", "--stdin", feed=join(paths.displaced), index=index)
    if paths.present or paths.absent:
        _unhide(git, {*paths.present}, index)
        # Files that a sparse checkout leaves out are absent, and not deleted.
        options = ("--add", "--remove", "--replace", "--ignore-skip-worktree-entries", "-z", "--stdin")
        git.ask("update-index", *options, feed=join([*paths.absent, *paths.present]), index=index)


def hidden_paths(git: Git, *, index: str | None = None) -> dict[str, str]:
    """Paths whose changes an index flag hides from git, with the flag as `git ls-files -v` shows it: `S` is
    skip-worktree, a small letter assume-unchanged. Only those that are in the work tree."""
    rows = git.ask("ls-files", "-v", "-z", index=index).fields
    flagged = {row[2:]: row[0] for row in rows if row[0].islower() or row[0] == "S"}
    return {path: flag for path, flag in flagged.items() if os.path.lexists(encode(os.path.join(git.top, path)))}


def ignored_paths(git: Git) -> list[str]:
    """What git ignores in the work tree; a folder that is ignored as a whole once, with a slash at its end."""
    options = ("--others", "--ignored", "--exclude-standard", "--directory", "--no-empty-directory")
    return git.ask("ls-files", "-z", *options).fields


def _unhide(git: Git, paths: Set[str], index: str | None) -> None:
    """A flagged path would keep its old content in the index, whatever is in the work tree."""
    flags = {path: flag for path, flag in hidden_paths(git, index=index).items() if path in paths}
    for option, letters in (("--no-assume-unchanged", ascii_lowercase), ("--no-skip-worktree", "Ss")):
        marked = [path for path, flag in flags.items() if flag in letters]
        if marked:
            git.ask("update-index", option, "-z", "--stdin", feed=join(marked), index=index)


def sort_out(top: str, paths: Iterable[str]) -> Sorted:
    """What stands at each path. Paths that are none (`..`, absolute, in `.git`) are left out."""
    found = Sorted([], [], [])
    parents: dict[str, bool] = {"": True}
    for path in dict.fromkeys(paths):
        if not is_inside(path):
            continue
        if not _is_plain(top, os.path.dirname(path), parents):
            found.displaced.append(path)
            continue
        match _kind(os.path.join(top, path)):
            case None:
                found.absent.append(path)
            case True:
                found.present.append(path)
            case False:
                found.displaced.append(path)
    return found


def _is_plain(top: str, folder: str, known: dict[str, bool]) -> bool:
    """Do only real folders of this work tree lead there (or nothing yet)? A link could lead out, and a repository
    inside this one keeps its own files."""
    if folder not in known:
        place = os.path.join(top, folder)
        plain = not os.path.islink(place) and not os.path.lexists(os.path.join(place, ".git"))
        known[folder] = plain and _is_plain(top, os.path.dirname(folder), known)
    return known[folder]


def _kind(place: str) -> bool | None:
    """None: nothing is there. True: something git can keep."""
    try:
        mode = os.lstat(encode(place)).st_mode
    except (OSError, ValueError):
        return None
    if stat.S_ISDIR(mode):
        return os.path.lexists(os.path.join(place, ".git"))
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _ignored(git: Git, paths: Sequence[str]) -> set[str]:
    """Those that are not tracked and that git ignores; and those it will not speak of at all, because they lie in
    a submodule that is not checked out."""
    if not paths:
        return set()
    # This command knows no literal paths; with a dot before them they are.
    plain = {"GIT_LITERAL_PATHSPECS": "0"}
    dotted = [f"./{path}" for path in paths]
    answer = git.ask("check-ignore", "-z", "--stdin", feed=join(dotted), codes=(0, 1, 128), environment=plain)
    if answer.code != 128:
        return {path[2:] for path in answer.fields}
    return {path[2:] for path in dotted if _is_refused(git, path, plain)}


def _is_refused(git: Git, path: str, environment: dict[str, str]) -> bool:
    return git.ask("check-ignore", "-q", "--", path, codes=(0, 1, 128), environment=environment).code != 1

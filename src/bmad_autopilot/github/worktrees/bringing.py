"""What git ignores and a lane needs all the same, from the main checkout into its worktree. Copied, never linked:
an agent would write through a link."""

import os
import stat
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...core.errors import AutopilotError, Place
from ...project.worktree_files import needed_names, stays_behind
from ..git import Git
from ..paths import join, show
from .copying import copy_into, has_plain_parents, is_safe_link, is_same, stamp_of

MAX_FILES = 10_000
MAX_BYTES = 256_000_000

_GLOBS = {"GIT_LITERAL_PATHSPECS": "0"}


class Baggage(NamedTuple):
    paths: tuple[str, ...] = ()  # from git's top
    size: int = 0
    notes: tuple[str, ...] = ()  # what is left behind, and why


def pathspecs(top: str, part: str, globs: Sequence[str]) -> list[str]:
    """As git takes them: what agents need, at git's top and in the project's folder; what the settings name."""
    specs = []
    for place in dict.fromkeys((".", part)):
        before = "" if place == "." else f"{place}/"
        specs += [f":(literal){before}{name}" for name in needed_names(os.path.join(top, before))]
    before = "" if part == "." else f"{_escaped(part)}/"
    return [*specs, *(f":(glob){before}{glob.removeprefix('./')}" for glob in globs)]


def _escaped(part: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\*?[" else letter for letter in part)


def ignored_files(git: Git, specs: Sequence[str], part: str) -> list[str]:
    """Another repository inside the folder, such as a worktree that a client made, is passed over."""
    options = ("--others", "--ignored", "--exclude-standard", "-z")
    found = git.ask("ls-files", *options, "--", *specs, environment=_GLOBS).fields
    return [path for path in found if not path.endswith("/") and not stays_behind(path, part)]


def pack(git: Git, part: str, globs: Sequence[str]) -> Baggage:
    """What would come along from the main checkout."""
    specs = pathspecs(git.top, part, globs)
    paths, outside, size = [], [], 0
    for path in ignored_files(git, specs, part):
        try:
            info = os.lstat(os.path.join(git.top, path))
        except OSError:  # gone since
            continue
        if stat.S_ISLNK(info.st_mode) and not is_safe_link(git.top, path):
            outside.append(path)
        elif stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode):
            paths.append(path)
            size += info.st_size
        if len(paths) > MAX_FILES or size > MAX_BYTES:
            raise _too_much(git.top, path, len(paths), size)
    notes = [f"not brought along, because they lead outside: {show(outside)}"] if outside else []
    notes += _not_in_git(git, specs)
    return Baggage(tuple(paths), size, tuple(notes))


def _too_much(top: str, path: str, count: int, size: int) -> AutopilotError:
    return AutopilotError(
        "there is too much to copy into a worktree",
        place=Place(os.path.join(top, path)),
        found=f"{count} files, {size / 1e6:.0f} MB, and more",
        expected=f"at most {MAX_FILES} files and {MAX_BYTES / 1e6:.0f} MB",
        hint="name less in `[worktrees] copy`, or make the rest there by `[worktrees] post_create`",
    )


def _not_in_git(git: Git, specs: Sequence[str]) -> list[str]:
    """Neither committed nor ignored: a copy would look like a lane's own work."""
    options = ("--others", "--exclude-standard", "--directory", "--no-empty-directory", "-z")
    found = git.ask("ls-files", *options, "--", *specs, environment=_GLOBS).fields
    return [f"neither committed nor ignored, so a worktree has none of it: {show(found)}"] if found else []


class Brought(NamedTuple):
    copied: dict[str, str]  # path: stamp, all that is ours there
    notes: tuple[str, ...] = ()


def unpack(source: Git, target: Git, baggage: Baggage, before: Mapping[str, str]) -> Brought:
    """What is missing is copied; a copy that nobody touched follows its original; anything else stays as it is."""
    plain = [path for path in baggage.paths if has_plain_parents(target.top, path)]
    allowed = _ignored_there(target, plain)
    left = [path for path in baggage.paths if path not in allowed]
    copied = {path: stamp for path, stamp in before.items() if path not in allowed}
    for path in (path for path in plain if path in allowed):
        stamp = _bring(source.top, target.top, path, before.get(path, ""))
        if stamp:
            copied[path] = stamp
    notes = [f"not brought along, because git does not ignore them there: {show(left)}"] if left else []
    return Brought(copied, (*baggage.notes, *notes))


def _bring(source: str, target: str, path: str, before: str) -> str:
    """The stamp of ours; empty: what is there is not."""
    original, there = stamp_of(os.path.join(source, path)), stamp_of(os.path.join(target, path))
    if not original:
        return before if before == there else ""
    if not os.path.lexists(os.path.join(target, path)) or "" != before == there != original:
        return copy_into(source, target, path)
    if there in (before, original):
        return there
    return there if is_same(os.path.join(source, path), os.path.join(target, path)) else before


def _ignored_there(git: Git, paths: Sequence[str]) -> set[str]:
    """What the lane's branch does not ignore would be committed with its work, secrets and all; what it tracks is
    there already."""
    if not paths:
        return set()
    feed = join(f"./{path}" for path in paths)  # it knows no literal paths, and one may begin with a colon
    answer = git.ask("check-ignore", "-z", "--stdin", feed=feed, codes=(0, 1), environment=_GLOBS)
    return {path.removeprefix("./") for path in answer.fields}


def changed_there(
    source: Git, target: Git, specs: Sequence[str], part: str, copied: Mapping[str, str]
) -> list[str]:
    """Of such files in a worktree, those that would be lost with it: neither as we copied them nor as the main
    checkout has them."""
    found = {*ignored_files(target, specs, part), *(path for path in copied if stamp_of(f"{target.top}/{path}"))}
    return sorted(
        path
        for path in found
        if stamp_of(os.path.join(target.top, path)) != copied.get(path)
        and not is_same(os.path.join(source.top, path), os.path.join(target.top, path))
    )

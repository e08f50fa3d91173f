"""May a worktree go? If nothing is lost with it: `git worktree remove` takes ignored files without a word."""

import os
from collections.abc import Mapping
from shlex import quote

from ...core.errors import AutopilotError
from ..git import Git
from ..ground import look_at_ground
from ..paths import show
from .bringing import changed_there, pathspecs
from .checking_out import has_submodules, lost_commits
from .copying import stamp_of
from .entries import Entry
from .site import Ours, Site

_STATUS = ("--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames", "--no-ahead-behind")
_HELD = ("--branches", "--remotes", "--tags", "--glob=refs/autopilot/")
# Of an entry: how many words stand before its path.
_WORDS = {"1": 8, "2": 9, "u": 10}


def why_it_stays(site: Site, ours: Ours) -> str:
    """Empty: nothing would be lost with it."""
    entry = ours.entry
    if entry is None:
        return ""
    is_half_made = ours.mark is None and not entry.is_checked_out
    if entry.lock is not None and not is_half_made:
        why = f": {entry.lock}" if entry.lock else ""
        return f"somebody has locked it{why} (git worktree unlock {quote(entry.folder)})"
    if is_half_made:
        return ""  # nobody can have worked in what was never finished
    if not entry.is_there:
        lost = os.path.isdir(entry.folder) and os.listdir(entry.folder)
        return f"its .git file is gone (git worktree repair {quote(entry.folder)})" if lost else ""
    try:
        if site.is_busy(entry.folder):
            return "an agent is at work in it"
        return _dirt(site, entry, ours.mark.copied if ours.mark is not None else {})
    except AutopilotError as error:
        return f"git cannot say whether it is clean: {error.message}"


def _dirt(site: Site, entry: Entry, copied: Mapping[str, str]) -> str:
    git = Git(entry.folder)
    ground = look_at_ground(git)
    if ground.operation is not None:
        return f"a {ground.operation} is under way in it"
    changed, untracked = [*ground.dirty, *ground.unmerged], list(ground.untracked)
    if ground.head is None or has_submodules(git):
        changed, untracked = _status(git)
    untracked = [path for path in untracked if stamp_of(f"{git.top}/{path}") != (copied.get(path) or None)]
    if changed:
        return f"files are changed and not committed: {show(changed)}"
    if untracked:
        return f"files are neither committed nor ignored: {show(untracked)}"
    if ground.head is not None and git.ask("rev-list", "--max-count=1", "HEAD", "--not", *_HELD).text:
        return "it holds commits that are on no branch"
    if lost := lost_commits(git):
        return f"submodules hold commits that are nowhere else: {show(lost)}"
    specs = pathspecs(site.git.top, site.part, site.settings.copy)
    if differing := changed_there(site.git, git, specs, site.part, copied):
        return f"ignored files differ from the main checkout's: {show(differing)}"
    return ""


def _status(git: Git) -> tuple[list[str], list[str]]:
    """What is changed, and what git does not know, in submodules too. Where the branch is gone, all is added:
    then what the index holds must be somewhere else, and the files must be as in the index."""
    is_unborn, changed, untracked = False, [], []
    for entry in git.ask("status", *_STATUS, "--ignore-submodules=none").fields:
        kind = entry[0]
        if kind == "#":
            is_unborn |= entry == "# branch.oid (initial)"
        elif kind == "?":
            untracked.append(entry[2:])
        elif not (is_unborn and kind == "1" and entry[2:4] == "A."):
            changed.append(entry.split(" ", _WORDS[kind])[-1])
    if is_unborn and not changed and not _is_index_kept(git):
        changed.append("the whole index, whose branch is gone")
    return changed, untracked


def _is_index_kept(git: Git) -> bool:
    tree = git.ask("write-tree").text
    return tree in git.ask("for-each-ref", "--format=%(tree)").text.split()

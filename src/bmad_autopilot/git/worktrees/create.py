"""Creates and prepares one worktree so that the next call can recover from a kill at any point.

The intent is written first and the mark last. Until then no agent has worked in it, so a worktree without a mark
is discarded if git has not finished its checkout or if it is clean."""

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from shlex import quote
from stat import S_ISREG
from typing import NamedTuple

from ...core.errors import AutopilotError, ConflictError, Location
from ...core.errors import command as bmad
from ...io.files import write_atomic
from ...io.processes import find_program
from ...project.lane_venv import Venv, installs_python_packages, read_venv, venv_locations, write_venv
from ...project.root import Root, find_work_tree
from ..git import Git, GitError, check_revision, encode, format_paths
from ..worktree_state import read_worktree_state
from . import site
from .marker import Intent, Mark, drop_intent, read_mark, write_intent, write_mark
from .populate import (
    IgnoredFiles,
    check_out,
    collect_ignored_files,
    copy_ignored_files,
    file_stamp,
    fill_submodules,
    has_submodules,
    lost_commits,
    modified_files,
    pathspecs,
)
from .site import OwnedWorktree, Site, WorktreeEntry

# Post-create commands of the project, such as `npm ci`: run until they have succeeded once.

LOGS = "bmad-autopilot-post-create"  # folder in the worktree's git folder
MAX_SHOWN_OUTPUT = 2000


def run_post_create(site: Site, folder: str, admin: str, mark: Mark) -> Mark:
    commands = site.settings.post_create or ()
    checkout = site.root_in(folder).checkout
    needs_venv = installs_python_packages(commands, site.later_commands, checkout)
    is_new = needs_venv and _make_venv(site, checkout, admin, mark)
    if (mark.prepared == commands and not is_new) or not commands:
        return mark
    for number, line in enumerate(commands, 1):
        logs = os.path.join(admin, LOGS, f"{number:02}")
        ran = site.run(shlex.split(line), checkout, logs)
        if ran.code != 0:
            how = "was stopped at its time limit" if ran.code is None else f"ended with exit code {ran.code}"
            raise AutopilotError(
                f"`{line}` {how} in the worktree of {mark.epic}\n{_indented(ran.output)}".rstrip(),
                location=Location(ran.log),
                hint=f"mend it, or change `[worktrees] post_create`, then {bmad('autopilot')}",
            )
    prepared = mark._replace(prepared=commands)
    write_mark(admin, prepared)
    return prepared


def lacks_venv(site: Site, folder: str, admin: str) -> bool:
    """Whether the worktree needs a virtual environment and has none: an older version created the worktree, or an
    agent removed the environment."""
    checkout = site.root_in(folder).checkout
    if not installs_python_packages(site.settings.post_create or (), site.later_commands, checkout):
        return False
    return not _venv_exists(read_venv(admin, checkout))


def _venv_exists(venv: Venv | None) -> bool:
    return venv is not None and venv.is_complete and os.path.isfile(os.path.join(venv.folder, "pyvenv.cfg"))


def _make_venv(site: Site, checkout: str, admin: str, mark: Mark) -> bool:
    """Creates the worktree's own virtual environment; False if it exists. Without one, the commands would install
    into the active environment: the user's, shared by all lanes. The record is written first and completed last,
    so that a half-created environment is recreated."""
    known, (inside, apart) = read_venv(admin, checkout), venv_locations(admin, checkout)
    if _venv_exists(known):
        return False
    if known is not None and os.path.isdir(known.folder) and not os.path.islink(known.folder):
        shutil.rmtree(known.folder)
    # An existing folder of that name that is not ours, such as a copy of the user's, is left alone.
    venv = Venv(apart if os.path.lexists(inside) else inside, False)
    write_venv(admin, checkout, venv)
    python = find_program("python3") or find_program("python")
    if python is None:
        raise _venv_error(mark, "    python3 is not installed, or not on PATH", None)
    ran = site.run((python, "-m", "venv", venv.folder), checkout, os.path.join(admin, LOGS, "venv"))
    if ran.code != 0:
        raise _venv_error(mark, _indented(ran.output), ran.log)
    write_atomic(os.path.join(venv.folder, ".gitignore"), b"*\n", durable=False)
    write_venv(admin, checkout, venv._replace(is_complete=True))
    return True


def _venv_error(mark: Mark, why: str, log: str | None) -> AutopilotError:
    return AutopilotError(
        f"no virtual environment could be made for the worktree of {mark.epic}, and nothing was installed\n{why}",
        location=Location(log) if log else None,
        hint="install the venv module (Debian and Ubuntu: apt install python3-venv), then "
        f"{bmad('autopilot')}; or set `[worktrees] post_create = []` to install nothing",
    )


def _indented(output: str) -> str:
    lines = [line.rstrip() for line in output[-MAX_SHOWN_OUTPUT:].splitlines() if line.strip()]
    return "\n".join(f"    {line}" for line in lines[-5:])


# Disk space check.

FACTOR = 1.5  # allows for build output
RESERVE = 256_000_000


def tracked_bytes(git: Git) -> int:
    """Size of the files on disk: a sparse checkout has fewer than git tracks, LFS makes them larger."""
    top, total = os.fsencode(git.top), 0
    for path in git.ask("ls-files", "-z", "--cached").fields:
        try:
            info = os.lstat(os.path.join(top, encode(path)))
        except OSError:
            continue
        total += info.st_size if S_ISREG(info.st_mode) else 0
    return total


def refuse_full(folder: str, tracked: int, copied: int) -> None:
    disk = os.statvfs(folder)
    free, needed = disk.f_bavail * disk.f_frsize, int(tracked * FACTOR) + copied + RESERVE
    if free < needed:
        raise AutopilotError(
            "there is not enough room on the disk",
            location=Location(folder),
            found=f"{free / 1e6:.0f} MB free",
            expected=f"{needed / 1e6:.0f} MB",
            hint="make room, work on fewer epics at once, or set `[worktrees] folder` to another disk",
        )


# Removal check: nothing may be lost. `git worktree remove` silently deletes ignored files.

_STATUS = ("--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames", "--no-ahead-behind")
_REF_OPTIONS = ("--branches", "--remotes", "--tags", "--glob=refs/autopilot/")
# Number of words before the path, by entry kind.
_WORDS = {"1": 8, "2": 9, "u": 10}


def removal_blocker(site: Site, owned: OwnedWorktree) -> str:
    """Why the worktree must stay; empty if nothing would be lost."""
    entry = owned.entry
    if entry is None:
        return ""
    is_half_made = owned.mark is None and not entry.is_checked_out
    if entry.lock is not None and not is_half_made:
        why = f": {entry.lock}" if entry.lock else ""
        return f"somebody has locked it{why} (git worktree unlock {quote(entry.folder)})"
    if is_half_made:
        return ""  # no agent can have worked in an unfinished worktree
    if not entry.exists:
        lost = os.path.isdir(entry.folder) and os.listdir(entry.folder)
        return f"its .git file is gone (git worktree repair {quote(entry.folder)})" if lost else ""
    try:
        if site.is_busy(entry.folder):
            return "an agent is at work in it"
        return _unsaved_work(site, entry, owned.mark.copied if owned.mark is not None else {})
    except AutopilotError as error:
        return f"git cannot say whether it is clean: {error.message}"


def _unsaved_work(site: Site, entry: WorktreeEntry, copied: Mapping[str, str]) -> str:
    git = Git(entry.folder)
    state = read_worktree_state(git)
    if state.operation is not None:
        return f"a {state.operation} is under way in it"
    changed, untracked = [*state.dirty, *state.unmerged], list(state.untracked)
    if state.head is None or has_submodules(git):
        changed, untracked = _status(git)
    untracked = [path for path in untracked if file_stamp(f"{git.top}/{path}") != (copied.get(path) or None)]
    if changed:
        return f"files are changed and not committed: {format_paths(changed)}"
    if untracked:
        return f"files are neither committed nor ignored: {format_paths(untracked)}"
    if state.head is not None and git.ask("rev-list", "--max-count=1", "HEAD", "--not", *_REF_OPTIONS).text:
        return "it holds commits that are on no branch"
    if lost := lost_commits(git):
        return f"submodules hold commits that are nowhere else: {format_paths(lost)}"
    specs = pathspecs(site.git.top, site.part, site.settings.copy)
    if differing := modified_files(site.git, git, specs, site.part, copied):
        return f"ignored files differ from the main checkout's: {format_paths(differing)}"
    return ""


def _status(git: Git) -> tuple[list[str], list[str]]:
    """Changed and untracked paths, including submodules. If the branch is gone, every file shows as added: then
    the index's tree must exist elsewhere and the files must match the index."""
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


_HEADS = "refs/heads/"


class CreatedWorktree(NamedTuple):
    """A lane's worktree."""

    folder: str
    root: Root
    branch: str
    is_new: bool
    notes: tuple[str, ...]  # messages shown to the user once


class WorktreeCreator:
    """Creates the worktree of one epic. `lock_fd`: descriptor of the epic's lock."""

    def __init__(self, site: Site, lock_fd: int, epic: str, branch: str, commit: str) -> None:
        self._site, self._git, self._lock_fd = site, site.git, lock_fd
        self._epic, self._branch, self._commit = epic, branch, commit
        self._folder = site.folder_of(epic)
        self._created_branch = False

    def create(self) -> CreatedWorktree:
        self._check_names()
        entry = self._find_existing()
        files = collect_ignored_files(self._git, self._site.part, self._site.settings.copy)
        is_new = entry is None
        if entry is None:
            self._check_space(files)
            write_intent(self._site.intent_path(self._epic), Intent(self._epic, self._site.part))
            entry, notes = self._create_or_undo(files)
        else:
            notes = self._copy_ignored(entry, files)
        drop_intent(self._site.intent_path(self._epic))
        mark = read_mark(entry.admin)
        assert mark is not None, entry.admin
        run_post_create(self._site, self._folder, entry.admin, mark)
        return CreatedWorktree(self._folder, self._site.root_in(self._folder), self._branch, is_new, notes)

    def _check_names(self) -> None:
        check_revision(self._commit)
        name = f"{_HEADS}{self._branch}"
        if self._branch.startswith("-") or self._git.ask("check-ref-format", name, codes=(0, 1)).code != 0:
            raise GitError("is no branch's name", found=self._branch[:80] or "nothing")

    # existing worktree

    def _find_existing(self) -> WorktreeEntry | None:
        """The worktree if it is usable as is. Remains of an unusable one are removed."""
        entries = self._site.entries()
        owned = self._site.find_owned(self._epic, entries)
        if owned is None or owned.entry is None:
            self._refuse_conflicts(entries)
            return None
        entry = owned.entry
        self._folder = entry.folder  # it may have been moved
        is_whole = owned.mark is not None and entry.exists
        why = "" if is_whole else removal_blocker(self._site, owned)
        if not is_whole and not why:
            self._discard()
            self._folder = self._site.folder_of(self._epic)
            self._refuse_conflicts([one for one in entries if one != entry])
            return None
        if not entry.exists:
            raise ConflictError(
                f"the worktree of {self._epic} is not whole", location=Location(self._folder), found=why
            )
        if entry.branch != self._branch:
            raise self._wrong_branch_error(entry)
        return entry

    def _wrong_branch_error(self, entry: WorktreeEntry) -> AutopilotError:
        return ConflictError(
            f"another branch is checked out in the worktree of {self._epic}",
            location=Location(self._folder),
            found=entry.branch or "no branch",
            expected=self._branch,
            hint=f"git -C {quote(self._folder)} switch {quote(self._branch)}",
        )

    def _refuse_conflicts(self, entries: Sequence[WorktreeEntry]) -> None:
        """Raises helpful errors for conflicts that git would fail on."""
        if any(entry.folder == self._folder for entry in entries):
            raise self._occupied_error("is a work tree that was not made by bmad")
        if os.path.lexists(self._folder) and not _is_empty_folder(self._folder):
            raise self._occupied_error(_describe_path(self._folder))
        for entry in entries:
            if entry.branch != self._branch:
                continue
            if entry.admin and not entry.exists:
                hint = "git worktree prune"
            else:
                away = "git switch --detach" if entry.admin else "git switch to another branch"
                hint = f"in there: {away}"
            where = "the main checkout" if not entry.admin else "another work tree"
            raise ConflictError(
                f"{self._branch}, the branch of {self._epic}, is checked out in {where}",
                location=Location(entry.folder),
                hint=hint,
            )

    def _occupied_error(self, what: str) -> AutopilotError:
        return ConflictError(
            f"{what}, and stands where the worktree of {self._epic} belongs",
            location=Location(self._folder),
            hint="move it away, or set `[worktrees] folder` to another place",
        )

    def _check_space(self, files: IgnoredFiles) -> None:
        try:
            os.makedirs(self._site.folder, exist_ok=True)
            if not os.access(self._site.folder, os.W_OK | os.X_OK):
                raise PermissionError(0, "Permission denied")
        except OSError as error:
            raise AutopilotError(
                f"no worktree can be made here: {error.strerror}",
                location=Location(self._site.folder),
                hint="set `[worktrees] folder` to a folder that you may write to",
            ) from None
        refuse_full(self._site.folder, tracked_bytes(self._git), files.size)

    # creation

    def _create_or_undo(self, files: IgnoredFiles) -> tuple[WorktreeEntry, tuple[str, ...]]:
        """All or nothing: undoes everything if a part fails."""
        try:
            self._add_worktree()
            git = Git(self._folder)
            entry = WorktreeEntry(self._folder, git.git_dir, self._branch)
            notes = check_out(git, self._lock_fd)
            os.makedirs(self._site.root_in(self._folder).checkout, exist_ok=True)
            notes += fill_submodules(git, self._lock_fd)
            return entry, (*notes, *self._copy_ignored(entry, files))
        except (AutopilotError, OSError) as error:
            self._undo()
            why = error.message if isinstance(error, AutopilotError) else error.strerror
            hint = error.hint if isinstance(error, AutopilotError) else None
            if "No space left" in str(error):
                hint = f"make room: df -h {quote(self._site.folder)}"
            message = f"no worktree could be made for {self._epic}: {why}"
            raise AutopilotError(message, location=Location(self._folder), hint=hint) from None

    def _add_worktree(self) -> None:
        look = ("rev-parse", "--verify", "--quiet", f"{_HEADS}{self._branch}")
        exists = self._git.ask(*look, codes=(0, 1)).code == 0
        new = ("--no-track", "-b", self._branch, self._folder, self._commit)
        what = (self._folder, self._branch) if exists else new
        self._created_branch = not exists
        self._site.add(*what)

    def _copy_ignored(self, entry: WorktreeEntry, files: IgnoredFiles) -> tuple[str, ...]:
        mark = read_mark(entry.admin)
        copied = copy_ignored_files(self._git, Git(self._folder), files, mark.copied if mark is not None else {})
        after = (mark or Mark(self._epic, self._site.part, {}))._replace(copied=copied.copied)
        if after != mark:
            write_mark(entry.admin, after)
        return copied.notes

    def _undo(self) -> None:
        with suppress(AutopilotError, OSError):
            self._discard()
            drop_intent(self._site.intent_path(self._epic))
            if self._created_branch:
                at = self._git.ask("rev-parse", "--verify", f"{self._commit}^{{commit}}").text
                self._git.ask("update-ref", "-d", f"{_HEADS}{self._branch}", at)

    def _discard(self) -> None:
        """Removes the worktree, if git lists it; anything else is not ours."""
        if all(entry.folder != self._folder for entry in self._site.entries()):
            return
        if os.path.isdir(self._folder):
            site.throw_away(site.set_aside(self._folder))
        self._site.unregister(self._folder)


def _is_empty_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path) and not os.listdir(path)


def _describe_path(path: str) -> str:
    if os.path.islink(path) or not os.path.isdir(path):
        return "is no folder"
    with suppress(AutopilotError):
        tree = find_work_tree(path)
        if tree is not None and tree.top == path:
            return "belongs to another repository"
    return "is a folder that was not made by bmad"

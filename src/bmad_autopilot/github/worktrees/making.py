"""One worktree, made so that a kill at any point leaves nothing but what the next call mends.

The intent is written first and the mark last. Between the two nobody has worked there, so what is found without a
mark is thrown away if git has not checked it out yet, or if it is clean."""

import os
from collections.abc import Sequence
from contextlib import suppress
from shlex import quote
from typing import NamedTuple

from ...core.errors import AutopilotError, ConflictError, Place
from ...project.gitdir import find_work_tree
from ...project.root import Root
from ..git import Git, GitError, check_revision
from . import trash
from .bringing import Baggage, pack, unpack
from .checking_out import check_out, fill_submodules
from .entries import Entry
from .looking import why_it_stays
from .marks import Intent, Mark, drop_intent, read_mark, write_intent, write_mark
from .preparing import prepare
from .site import Site
from .space import refuse_full, tracked_bytes

_HEADS = "refs/heads/"


class Made(NamedTuple):
    """A lane's worktree."""

    folder: str
    root: Root
    branch: str
    is_new: bool
    notes: tuple[str, ...]  # what the user is told once


class Making:
    """`held`: the epic's lock."""

    def __init__(self, site: Site, held: int, epic: str, branch: str, commit: str) -> None:
        self._site, self._git, self._held = site, site.git, held
        self._epic, self._branch, self._commit = epic, branch, commit
        self._folder = site.place_of(epic)
        self._made_branch = False

    def make(self) -> Made:
        self._check_names()
        entry = self._there()
        baggage = pack(self._git, self._site.part, self._site.settings.copy)
        is_new = entry is None
        if entry is None:
            self._make_room(baggage)
            write_intent(self._site.intent_of(self._epic), Intent(self._epic, self._site.part))
            entry, notes = self._make_whole(baggage)
        else:
            notes = self._bring(entry, baggage)
        drop_intent(self._site.intent_of(self._epic))
        mark = read_mark(entry.admin)
        assert mark is not None, entry.admin
        prepare(self._site, self._folder, entry.admin, mark)
        return Made(self._folder, self._site.root_in(self._folder), self._branch, is_new, notes)

    def _check_names(self) -> None:
        check_revision(self._commit)
        name = f"{_HEADS}{self._branch}"
        if self._branch.startswith("-") or self._git.ask("check-ref-format", name, codes=(0, 1)).code != 0:
            raise GitError("is no branch's name", found=self._branch[:80] or "nothing")

    # what is there already

    def _there(self) -> Entry | None:
        """The worktree, if it can be used as it is. What is left of one that cannot is cleared away."""
        entries = self._site.entries()
        ours = self._site.ours(self._epic, entries)
        if ours is None or ours.entry is None:
            self._refuse(entries)
            return None
        entry = ours.entry
        self._folder = entry.folder  # it may have been moved since
        is_whole = ours.mark is not None and entry.is_there
        why = "" if is_whole else why_it_stays(self._site, ours)
        if not is_whole and not why:
            self._discard()
            self._folder = self._site.place_of(self._epic)
            self._refuse([one for one in entries if one != entry])
            return None
        if not entry.is_there:
            raise ConflictError(f"the worktree of {self._epic} is not whole", place=Place(self._folder), found=why)
        if entry.branch != self._branch:
            raise self._on_another(entry)
        return entry

    def _on_another(self, entry: Entry) -> AutopilotError:
        return ConflictError(
            f"another branch is checked out in the worktree of {self._epic}",
            place=Place(self._folder),
            found=entry.branch or "no branch",
            expected=self._branch,
            hint=f"git -C {quote(self._folder)} switch {quote(self._branch)}",
        )

    def _refuse(self, entries: Sequence[Entry]) -> None:
        """What git would stumble over, in words that help."""
        if any(entry.folder == self._folder for entry in entries):
            raise self._taken("is a work tree that was not made by bmad")
        if os.path.lexists(self._folder) and not _is_empty_folder(self._folder):
            raise self._taken(_what_is(self._folder))
        for entry in entries:
            if entry.branch != self._branch:
                continue
            if entry.admin and not entry.is_there:
                hint = "git worktree prune"
            else:
                away = "git switch --detach" if entry.admin else "git switch to another branch"
                hint = f"in there: {away}"
            where = "the main checkout" if not entry.admin else "another work tree"
            raise ConflictError(
                f"{self._branch}, the branch of {self._epic}, is checked out in {where}",
                place=Place(entry.folder),
                hint=hint,
            )

    def _taken(self, what: str) -> AutopilotError:
        return ConflictError(
            f"{what}, and stands where the worktree of {self._epic} belongs",
            place=Place(self._folder),
            hint="move it away, or set `[worktrees] folder` to another place",
        )

    def _make_room(self, baggage: Baggage) -> None:
        try:
            os.makedirs(self._site.folder, exist_ok=True)
            if not os.access(self._site.folder, os.W_OK | os.X_OK):
                raise PermissionError(0, "Permission denied")
        except OSError as error:
            raise AutopilotError(
                f"no worktree can be made here: {error.strerror}",
                place=Place(self._site.folder),
                hint="set `[worktrees] folder` to a folder that you may write to",
            ) from None
        refuse_full(self._site.folder, tracked_bytes(self._git), baggage.size)

    # making

    def _make_whole(self, baggage: Baggage) -> tuple[Entry, tuple[str, ...]]:
        """All of it, or nothing: what was made is gone again where a part of it fails."""
        try:
            self._add()
            git = Git(self._folder)
            entry = Entry(self._folder, git.git_dir, self._branch)
            told = check_out(git, self._held)
            os.makedirs(self._site.root_in(self._folder).checkout, exist_ok=True)
            told += fill_submodules(git, self._held)
            return entry, (*told, *self._bring(entry, baggage))
        except (AutopilotError, OSError) as error:
            self._undo()
            why = error.message if isinstance(error, AutopilotError) else error.strerror
            hint = error.hint if isinstance(error, AutopilotError) else None
            if "No space left" in str(error):
                hint = f"make room: df -h {quote(self._site.folder)}"
            message = f"no worktree could be made for {self._epic}: {why}"
            raise AutopilotError(message, place=Place(self._folder), hint=hint) from None

    def _add(self) -> None:
        look = ("rev-parse", "--verify", "--quiet", f"{_HEADS}{self._branch}")
        exists = self._git.ask(*look, codes=(0, 1)).code == 0
        new = ("--no-track", "-b", self._branch, self._folder, self._commit)
        what = (self._folder, self._branch) if exists else new
        self._made_branch = not exists
        self._site.add(*what)

    def _bring(self, entry: Entry, baggage: Baggage) -> tuple[str, ...]:
        mark = read_mark(entry.admin)
        brought = unpack(self._git, Git(self._folder), baggage, mark.copied if mark is not None else {})
        after = (mark or Mark(self._epic, self._site.part, {}))._replace(copied=brought.copied)
        if after != mark:
            write_mark(entry.admin, after)
        return brought.notes

    def _undo(self) -> None:
        with suppress(AutopilotError, OSError):
            self._discard()
            drop_intent(self._site.intent_of(self._epic))
            if self._made_branch:
                at = self._git.ask("rev-parse", "--verify", f"{self._commit}^{{commit}}").text
                self._git.ask("update-ref", "-d", f"{_HEADS}{self._branch}", at)

    def _discard(self) -> None:
        """Of what git does not list nothing was ours."""
        if all(entry.folder != self._folder for entry in self._site.entries()):
            return
        if os.path.isdir(self._folder):
            trash.throw_away(trash.set_aside(self._folder))
        self._site.drop(self._folder)


def _is_empty_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path) and not os.listdir(path)


def _what_is(path: str) -> str:
    if os.path.islink(path) or not os.path.isdir(path):
        return "is no folder"
    with suppress(AutopilotError):
        tree = find_work_tree(path)
        if tree is not None and tree.top == path:
            return "belongs to another repository"
    return "is a folder that was not made by bmad"

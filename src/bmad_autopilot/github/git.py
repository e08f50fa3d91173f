"""The one place that runs git for the orchestrator.

The repository is the agents' too: what they may have set in its config (hooks, a file system monitor, replaced
objects) does not run with us. The user's own config stays, because identity, line ends and filters are in it.
"""

import os
import re
import shlex
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

from ..core.errors import AutopilotError, ConflictError, Place
from ..project.gitdir import WorkTree, find_work_tree
from ..project.programs import find_program
from .paths import decode, encode
from .talking import Heard, talk
from .worktrees.marks import MARK

SECONDS = 60.0
LOCK_SECONDS = 5.0  # a person's commit takes less, unless an editor is open, and then no index is locked
MAX_OUTPUT = 64 * 1024 * 1024

# Of the caller's GIT_* only what says who the user is and where their config lies: inside a hook there are also
# GIT_DIR and GIT_INDEX_FILE, which would send us to another repository.
_KEPT = re.compile(
    r"GIT_(CONFIG_(GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+)|EXEC_PATH|AUTHOR_NAME|AUTHOR_EMAIL)\Z"
)
_SET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",  # a file may be called `:(glob)*`
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": "/dev/null/none",  # /dev/null itself would be read, with a warning
}
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.trustctime=true",  # a file whose size and time were set back is read again
    "core.checkStat=default",
    "log.showSignature=false",  # it would run gpg.program
    "trailer.separators=:",
    "core.commentChar=#",  # were it an A, our trailers would be comments
    "i18n.commitEncoding=UTF-8",
    "i18n.logOutputEncoding=UTF-8",
    "advice.addEmbeddedRepo=false",
)
_LOCK = re.compile(r"'(/[^\n]*?\.lock)'")  # in every language git speaks
# Of a worktree that another git is just making: measured on fetch and rev-list --all.
_HALF_MADE = re.compile(r"worktrees/[^/\s]+/(?:HEAD|commondir|gitdir)\b")
_FATAL = 128  # git's exit code where it gives up
_LOST_LOCKS = 3  # in the way, and gone when we looked; more often, and it is no lock but a place we may not write
_OWN_REFS = "refs/autopilot"
_LONG_DEAD = 600.0  # seconds: no git of ours runs that long
_PROCESSES = "/proc"


class GitError(AutopilotError):
    """git did not do what it was asked."""


class RaceError(ConflictError):
    """Another process was quicker, and nothing was done. What to do is decided anew, from a fresh look."""


class LockedError(RaceError):
    """A lock of another git process did not go away."""


class MovedError(RaceError):
    """A branch is no longer where it was."""


class Answer(NamedTuple):
    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return decode(self.out).strip("\n")

    @property
    def fields(self) -> list[str]:
        """What git ended with NUL, one by one."""
        return decode(self.out).split("\0")[:-1]


class Git:
    """git in one work tree. Paths are from its top, with slashes, whatever folder in it was named."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.realpath(folder)
        self._environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("GIT_") or _KEPT.match(name) is not None
        } | _SET

    @cached_property
    def work_tree(self) -> WorkTree | None:
        return find_work_tree(self.folder)

    @property
    def top(self) -> str:
        return self._here.top

    @property
    def git_dir(self) -> str:
        return self._here.git_dir

    @property
    def _here(self) -> WorkTree:
        if self.work_tree is None:
            raise GitError("is under no git repository", place=Place(self.folder), hint="git init")
        return self.work_tree

    @cached_property
    def _program(self) -> list[bytes]:
        path = find_program("git")
        if path is None:
            raise GitError("git is not installed", expected="git 2.30 or newer on PATH")
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        where = self.work_tree.top if self.work_tree is not None else self.folder
        return [os.fsencode(part) for part in (path, "--no-pager", *settings, "-C", where)]

    def ask(
        self,
        *arguments: str,
        feed: bytes = b"",
        index: str | None = None,
        codes: tuple[int, ...] = (0,),
        settings: tuple[str, ...] = (),
        environment: Mapping[str, str] | None = None,
        pinned: bool = True,
        seconds: float = SECONDS,
        limit: int = MAX_OUTPUT,
        held: tuple[int, ...] = (),
    ) -> Answer:
        """One git process, to its end. `index`: a file of ours instead of the index; `codes`: the exit codes that
        are an answer, all others are a GitError; `pinned`: whatever `core.worktree` says, our files are those in
        this work tree (a bare repository would then seem to have one); `held`: locks that outlast us with it."""
        argv = [*self._program]
        argv += [encode(part) for setting in settings for part in ("-c", setting)]
        argv += [encode(argument) for argument in arguments]
        if any(b"\0" in part for part in argv):
            raise GitError(f"git {arguments[0]}: a NUL in an argument")
        own = self._environment | ({"GIT_INDEX_FILE": index} if index else {}) | dict(environment or {})
        if pinned and self.work_tree is not None:
            own["GIT_WORK_TREE"] = self.work_tree.top
        patience = _Patience(self.work_tree)
        while True:
            heard = _talk(argv, own, feed, seconds, limit, held)
            if patience.is_early(heard) or patience.waits(heard, is_answer=heard.code in codes):
                continue
            if heard.code in codes:
                return Answer(heard.code, heard.out, heard.err)
            raise self._error(arguments[0], heard)

    def _error(self, command: str, heard: Heard) -> GitError:
        said = heard.problem or last_line(heard.err) or f"exit code {heard.code}"
        hint = None
        if "safe.directory" in heard.err:
            hint = f"git config --global --add safe.directory {self.folder}"
        return GitError(f"git {command}: {said}", place=Place(self.folder), hint=hint)


def last_line(err: str) -> str:
    """What git itself names as the reason; advice may stand below it."""
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    reasons = [line for line in lines if line.startswith(("fatal: ", "error: "))]
    return (reasons or lines or [""])[-1][:500]


def check_revision(*revisions: str) -> None:
    """A revision is ours or git's own word; one that reads as an option is neither."""
    for revision in revisions:
        if not revision or revision.startswith("-") or "\n" in revision:
            found = revision[:80] or "nothing"
            raise GitError("is no revision", found=found, expected="a commit, a tree or a ref")


def _talk(
    argv: list[bytes],
    environment: dict[str, str],
    feed: bytes,
    seconds: float,
    limit: int,
    held: tuple[int, ...],
) -> Heard:
    try:
        return talk(argv, environment, feed, seconds=seconds, limit=limit, held=held)
    except (OSError, ValueError) as error:
        raise GitError(f"git cannot be started: {error}") from None


class _Patience:
    """How long another process's lock is waited for: a person may be committing at the same time."""

    def __init__(self, tree: WorkTree | None) -> None:
        self._tree = tree
        self._deadline = time.monotonic() + LOCK_SECONDS
        self._lost = 0

    def is_early(self, heard: Heard) -> bool:
        """Did it meet a worktree that is half made? Then wait a little."""
        if not heard.code or self._lost >= _LOST_LOCKS or _HALF_MADE.search(heard.err) is None:
            return False
        self._lost += 1
        time.sleep(0.02)
        return True

    def waits(self, heard: Heard, *, is_answer: bool) -> bool:
        """Did a lock stop it? Then wait a little. A lock that stays is an error of its own; one of ours whose git
        is dead is removed. `is_answer`: the caller knows its exit code; it may speak of a lock in another
        repository, such as a remote's."""
        lock = self._lock(heard, is_answer=is_answer) if heard.code else ""
        if not lock or (is_answer and not self._is_here(lock)):
            return False
        if os.path.lexists(lock):
            if time.monotonic() >= self._deadline:
                if self._tree is None or not _remove_abandoned(lock, self._tree):
                    raise _locked(lock)
                self._deadline = time.monotonic() + LOCK_SECONDS
        else:
            self._lost += 1
        time.sleep(0.02)
        return self._lost <= _LOST_LOCKS

    def _is_here(self, lock: str) -> bool:
        tree = self._tree
        return tree is not None and lock.startswith((f"{tree.common_dir}/", f"{tree.git_dir}/"))

    def _lock(self, heard: Heard, *, is_answer: bool) -> str:
        """The lock file that git names. Of its settings it names the file that is to be locked, and
        `update-index -q` names nothing at all."""
        err = heard.err
        found = _LOCK.search(err)
        if found is not None or self._tree is None:
            return found[1] if found is not None else ""
        if heard.code == _FATAL and not is_answer and not err.strip():
            return f"{self._tree.git_dir}/index.lock"
        for name in ("config.worktree", "config"):
            path = f"{self._tree.common_dir if name == 'config' else self._tree.git_dir}/{name}"
            if path in err or f".git/{name}:" in err:
                return f"{path}.lock"
        return ""


def _remove_abandoned(lock: str, tree: WorkTree) -> bool:
    """Remove a lock that a killed git has left where only we and our agents work: in the git folder of a lane's
    worktree, or on a ref of ours. One that a living process may hold stays; so does every lock of the user's."""
    in_lane = os.path.dirname(lock) == tree.git_dir and tree.is_linked
    is_lanes = in_lane and os.path.exists(os.path.join(tree.git_dir, MARK))
    is_ref = lock.startswith(f"{tree.common_dir}/{_OWN_REFS}/")
    try:
        before = os.lstat(lock)
        is_old = is_ref and time.time() - before.st_mtime > _LONG_DEAD
        places = [tree.top, tree.git_dir] if is_lanes else _work_trees(tree)
        if not (is_lanes or is_ref) or not (is_old or _nobody_works_in(places)):
            return False
        if os.lstat(lock).st_ino == before.st_ino:
            os.unlink(lock)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _work_trees(tree: WorkTree) -> list[str]:
    """Of the whole repository."""
    found = [tree.top, tree.common_dir, os.path.dirname(tree.common_dir)]
    with suppress(FileNotFoundError), os.scandir(os.path.join(tree.common_dir, "worktrees")) as entries:
        for entry in entries:
            with open(os.path.join(entry.path, "gitdir"), encoding="utf-8", errors="surrogateescape") as file:
                found.append(os.path.dirname(file.read(8192).strip()))
    return found


def _nobody_works_in(places: list[str]) -> bool:
    """No git process has its working folder there. Where that cannot be seen, one may have."""
    if not os.path.isdir(f"{_PROCESSES}/self"):
        return False
    for pid in filter(str.isdecimal, os.listdir(_PROCESSES)):
        try:
            with open(f"{_PROCESSES}/{pid}/comm", "rb") as file:
                if not file.read(64).startswith(b"git"):
                    continue
            folder = os.readlink(f"{_PROCESSES}/{pid}/cwd")
        except (FileNotFoundError, ProcessLookupError):  # it has just ended
            continue
        except OSError:  # another user's
            return False
        if any(folder == place or folder.startswith(f"{place}/") for place in places):
            return False
    return True


def _locked(lock: str) -> LockedError:
    return LockedError(
        f"another git process has held this lock for {LOCK_SECONDS:g} s",
        place=Place(lock),
        hint=f"let it finish; if no git is running any more: rm {shlex.quote(lock)}",
    )

"""Runs git. The only module that starts git processes for the orchestrator.

Agents can write to the repository's config, so hooks, file system monitors and replaced objects set there are
disabled. The user's own config stays active, because it holds identity, line endings and filters.
"""

import os
import re
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

from ..core.errors import AutopilotError, ConflictError, Location
from ..io.processes import ProcessOutput, find_program, run_process
from ..project.root import WorkTree, find_work_tree
from .worktrees.marker import MARK

# Paths as git stores them: bytes relative to the top of the work tree, with any byte except NUL.

MAX_SHOWN_PATHS = 5

_DOT_GIT = re.compile(
    r"(?:\.git|git~1)[. ]*(?::.*)?\Z", re.IGNORECASE | re.DOTALL
)  # as other file systems read it
_SEPARATORS = re.compile(r"[/\\]")


def decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """The bytes git gave us. A lone surrogate from JSON is not a path and becomes `?`."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def join_with_nul(paths: Iterable[str]) -> bytes:
    """The format of a path list that git reads with -z."""
    return b"".join(encode(path) + b"\0" for path in paths)


def is_inside(path: str) -> bool:
    """Whether the path is below the top of the work tree and not inside `.git`."""
    return bool(path) and "\0" not in path and all(map(_is_name, path.split("/")))


def _is_name(part: str) -> bool:
    return part not in ("", ".", "..") and not any(_DOT_GIT.match(name) for name in _SEPARATORS.split(part))


def format_paths(paths: Sequence[str]) -> str:
    """A few of the paths, for a message."""
    shown = ", ".join(encode(path).decode("utf-8", "replace") for path in paths[:MAX_SHOWN_PATHS])
    return shown + (f" and {len(paths) - MAX_SHOWN_PATHS} more" if len(paths) > MAX_SHOWN_PATHS else "")


SECONDS = 60.0
LOCK_SECONDS = 5.0  # a user's commit takes less; an open editor does not lock the index
MAX_OUTPUT = 64 * 1024 * 1024

# Inherit only the GIT_* variables for identity and config location: inside a hook, GIT_DIR and GIT_INDEX_FILE are
# also set and would redirect us to another repository.
_INHERITED = re.compile(
    r"GIT_(CONFIG_(GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+)|EXEC_PATH|AUTHOR_NAME|AUTHOR_EMAIL)\Z"
)
_FIXED_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",  # a file may be called `:(glob)*`
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": "/dev/null/none",  # /dev/null itself would be read, with a warning
}
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.trustctime=true",  # reread a file whose size and time were reset
    "core.checkStat=default",
    "log.showSignature=false",  # it would run gpg.program
    "trailer.separators=:",
    "core.commentChar=#",  # with `A`, our trailers would be comments
    "i18n.commitEncoding=UTF-8",
    "i18n.logOutputEncoding=UTF-8",
    "advice.addEmbeddedRepo=false",
)
_LOCK = re.compile(r"'(/[^\n]*?\.lock)'")  # matches in every language of git
# Error for a worktree that another git is creating: observed with fetch and rev-list --all.
_HALF_MADE = re.compile(r"worktrees/[^/\s]+/(?:HEAD|commondir|gitdir)\b")
_FATAL = 128  # git's exit code for fatal errors
_MAX_VANISHED_LOCKS = 3  # locks gone when we looked; if more vanish, the cause is a path we may not write
_OWN_REFS = "refs/autopilot"
_STALE_LOCK_SECONDS = 600.0  # no git process of ours runs that long
_PROCESSES = "/proc"


class GitError(AutopilotError):
    """A git command failed."""


class RaceError(ConflictError):
    """Another process was faster and nothing was done. The caller must decide again from a fresh observation."""


class LockedError(RaceError):
    """Another git process did not release its lock."""


class MovedError(RaceError):
    """A branch is no longer where it was."""


class GitResult(NamedTuple):
    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return decode(self.out).strip("\n")

    @property
    def fields(self) -> list[str]:
        """The NUL-terminated fields of the output."""
        return decode(self.out).split("\0")[:-1]


class Git:
    """Runs git in one work tree. Paths are relative to its top, whichever of its folders was given."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.realpath(folder)
        self._environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("GIT_") or _INHERITED.match(name) is not None
        } | _FIXED_ENVIRONMENT

    @cached_property
    def work_tree(self) -> WorkTree | None:
        return find_work_tree(self.folder)

    @property
    def top(self) -> str:
        return self._required_work_tree.top

    @property
    def git_dir(self) -> str:
        return self._required_work_tree.git_dir

    @property
    def _required_work_tree(self) -> WorkTree:
        if self.work_tree is None:
            raise GitError("is under no git repository", location=Location(self.folder), hint="git init")
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
        keep_fds: tuple[int, ...] = (),
    ) -> GitResult:
        """Runs one git process to its end. `index`: our own index file; `codes`: accepted exit codes, all others
        raise GitError; `pinned`: use this work tree whatever `core.worktree` says (not for bare repositories,
        which would then seem to have one); `keep_fds`: lock descriptors that git inherits, so they outlive us with
        it."""
        argv = [*self._program]
        argv += [encode(part) for setting in settings for part in ("-c", setting)]
        argv += [encode(argument) for argument in arguments]
        if any(b"\0" in part for part in argv):
            raise GitError(f"git {arguments[0]}: a NUL in an argument")
        own = self._environment | ({"GIT_INDEX_FILE": index} if index else {}) | dict(environment or {})
        if pinned and self.work_tree is not None:
            own["GIT_WORK_TREE"] = self.work_tree.top
        lock_wait = _LockWait(self.work_tree)
        while True:
            output = _run_process(argv, own, feed, seconds, limit, keep_fds)
            if lock_wait.met_half_made_worktree(output) or lock_wait.should_retry(
                output, is_answer=output.code in codes
            ):
                continue
            if output.code in codes:
                return GitResult(output.code, output.out, output.err)
            raise self._error(arguments[0], output)

    def _error(self, command: str, output: ProcessOutput) -> GitError:
        reason = output.problem or error_line(output.err) or f"exit code {output.code}"
        hint = None
        if "safe.directory" in output.err:
            hint = f"git config --global --add safe.directory {self.folder}"
        return GitError(f"git {command}: {reason}", location=Location(self.folder), hint=hint)


def error_line(err: str) -> str:
    """The reason git gives; advice may follow below it."""
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    reasons = [line for line in lines if line.startswith(("fatal: ", "error: "))]
    return (reasons or lines or [""])[-1][:500]


def check_revision(*revisions: str) -> None:
    """Rejects revisions that git would read as an option."""
    for revision in revisions:
        if not revision or revision.startswith("-") or "\n" in revision:
            found = revision[:80] or "nothing"
            raise GitError("is no revision", found=found, expected="a commit, a tree or a ref")


def _run_process(
    argv: list[bytes],
    environment: dict[str, str],
    feed: bytes,
    seconds: float,
    limit: int,
    keep_fds: tuple[int, ...],
) -> ProcessOutput:
    try:
        return run_process(argv, environment, feed, seconds=seconds, limit=limit, lock_fds=keep_fds)
    except (OSError, ValueError) as error:
        raise GitError(f"git cannot be started: {error}") from None


class _LockWait:
    """Waits for another process's lock: a user may be committing at the same time."""

    def __init__(self, tree: WorkTree | None) -> None:
        self._tree = tree
        self._deadline = time.monotonic() + LOCK_SECONDS
        self._vanished = 0

    def met_half_made_worktree(self, output: ProcessOutput) -> bool:
        """Whether git met a half-created worktree. If so, waits briefly before the retry."""
        if not output.code or self._vanished >= _MAX_VANISHED_LOCKS or _HALF_MADE.search(output.err) is None:
            return False
        self._vanished += 1
        time.sleep(0.02)
        return True

    def should_retry(self, output: ProcessOutput, *, is_answer: bool) -> bool:
        """Whether a lock stopped git. If so, waits briefly before the retry. A lock that stays raises LockedError;
        one of ours whose git process is dead is removed. `is_answer`: the caller accepts this exit code; the
        message may then name a lock in another repository, such as a remote's."""
        lock = self._find_lock(output, is_answer=is_answer) if output.code else ""
        if not lock or (is_answer and not self._is_in_this_repository(lock)):
            return False
        if os.path.lexists(lock):
            if time.monotonic() >= self._deadline:
                if self._tree is None or not _remove_abandoned(lock, self._tree):
                    raise _lock_error(lock)
                self._deadline = time.monotonic() + LOCK_SECONDS
        else:
            self._vanished += 1
        time.sleep(0.02)
        return self._vanished <= _MAX_VANISHED_LOCKS

    def _is_in_this_repository(self, lock: str) -> bool:
        tree = self._tree
        return tree is not None and lock.startswith((f"{tree.common_dir}/", f"{tree.git_dir}/"))

    def _find_lock(self, output: ProcessOutput, *, is_answer: bool) -> str:
        """The lock file named in the error. For config files git names the file to be locked instead, and
        `update-index -q` prints nothing."""
        err = output.err
        found = _LOCK.search(err)
        if found is not None or self._tree is None:
            return found[1] if found is not None else ""
        if output.code == _FATAL and not is_answer and not err.strip():
            return f"{self._tree.git_dir}/index.lock"
        for name in ("config.worktree", "config"):
            path = f"{self._tree.common_dir if name == 'config' else self._tree.git_dir}/{name}"
            if path in err or f".git/{name}:" in err:
                return f"{path}.lock"
        return ""


def _remove_abandoned(lock: str, tree: WorkTree) -> bool:
    """Removes a lock left by a killed git where only we and our agents work: in the git folder of a lane's
    worktree, or on a ref of ours. Locks that a live process may hold, and all locks of the user, stay."""
    in_lane = os.path.dirname(lock) == tree.git_dir and tree.is_linked
    is_lanes = in_lane and os.path.exists(os.path.join(tree.git_dir, MARK))
    is_ref = lock.startswith(f"{tree.common_dir}/{_OWN_REFS}/")
    try:
        before = os.lstat(lock)
        is_old = is_ref and time.time() - before.st_mtime > _STALE_LOCK_SECONDS
        places = [tree.top, tree.git_dir] if is_lanes else _work_trees(tree)
        if not (is_lanes or is_ref) or not (is_old or _no_git_process_in(places)):
            return False
        if os.lstat(lock).st_ino == before.st_ino:
            os.unlink(lock)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _work_trees(tree: WorkTree) -> list[str]:
    """All work trees of the repository."""
    found = [tree.top, tree.common_dir, os.path.dirname(tree.common_dir)]
    with suppress(FileNotFoundError), os.scandir(os.path.join(tree.common_dir, "worktrees")) as entries:
        for entry in entries:
            with open(os.path.join(entry.path, "gitdir"), encoding="utf-8", errors="surrogateescape") as file:
                found.append(os.path.dirname(file.read(8192).strip()))
    return found


def _no_git_process_in(places: list[str]) -> bool:
    """Whether no git process has its working directory there. False if that cannot be determined."""
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
        except OSError:  # another user's process
            return False
        if any(folder == place or folder.startswith(f"{place}/") for place in places):
            return False
    return True


def _lock_error(lock: str) -> LockedError:
    return LockedError(
        f"another git process has held this lock for {LOCK_SECONDS:g} s",
        location=Location(lock),
        hint=f"let it finish; if no git is running any more: rm {shlex.quote(lock)}",
    )

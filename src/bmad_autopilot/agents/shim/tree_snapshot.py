"""Takes snapshots of a work tree (HEAD, branch, hash of all content) and keeps interrupted work in a ref."""

from __future__ import annotations

import os
import select
import stat
import time

from .attempt_files import SAFE_OPEN
from .process_tree import signal

SECONDS = 60.0
MAX_OUTPUT = 1024 * 1024
MAX_LISTING = 256 * MAX_OUTPUT  # of every path in the index

# The agent can write to the repository's configuration: nothing it may have set there must run in our calls.
_GIT = [
    "git",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.trustctime=true",  # re-read a file whose size and mtime were restored
    "-c",
    "core.checkStat=default",
    "-c",
    "advice.addEmbeddedRepo=false",
]
_WHOLE = ["-c", "core.sparseCheckout=false"]  # include existing files outside a sparse checkout
_IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "bmad-autopilot"), ("EMAIL", "bmad-autopilot@localhost"))
}


class TreeSnapshot:
    """A state of the work tree. Two are equal if nothing that git would commit has changed between them."""

    def __init__(self, head: str | None, branch: str | None, tree: str | None, problem: str = "") -> None:
        self.head = head
        self.branch = branch
        self.tree = tree
        self.problem = problem

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeSnapshot) and (self.head, self.tree) == (other.head, other.tree)

    __hash__ = None  # type: ignore[assignment]


def look(
    folder: str, environment: dict[str, str], index: str, scratch: str = "", seconds: float = SECONDS
) -> TreeSnapshot:
    """Hash the work tree through a temporary index beside `index`; git's own index stays untouched. New objects go
    into the repository, or into the folder `scratch`."""
    _remove_stale_indexes(index)
    # A unique name: a git lock left by a killed snapshot cannot block this one.
    index = f"{index}-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        return _look(folder, environment, index, scratch, seconds)
    finally:
        for path in (index, f"{index}.lock"):
            _remove(path)


def _look(folder: str, environment: dict[str, str], index: str, scratch: str, seconds: float) -> TreeSnapshot:
    asked = ["rev-parse", "--git-path", "index", "--git-path", "objects", "--show-toplevel", "HEAD"]
    code, out = _git(folder, environment, [*asked, "--abbrev-ref", "HEAD"], seconds)
    lines = out.splitlines()
    if code is None or len(lines) < 3:
        return TreeSnapshot(None, None, None, "git did not answer" if code is None else "")
    head, branch = (lines[3], lines[4]) if code == 0 and len(lines) == 5 else (None, None)  # None: no commit yet
    _copy(os.path.join(folder, lines[0]), index)
    own = {**environment, "GIT_INDEX_FILE": index}
    unhidden = _clear_hiding_flags(lines[2], own, seconds)
    if scratch:
        os.makedirs(scratch, exist_ok=True)
        objects = os.path.join(folder, lines[1])
        own |= {"GIT_OBJECT_DIRECTORY": scratch, "GIT_ALTERNATE_OBJECT_DIRECTORIES": objects}
    # The index was copied, so only files changed since then are read again.
    added, _ = _git(folder, own, [*_WHOLE, "add", "--all", "--ignore-errors", ":/"], seconds)
    # 1: some files could not be read. After any other failure the tree would only be that of git's own index.
    code, tree = _git(folder, own, ["write-tree"], seconds) if added in (0, 1) else (None, "")
    whole = unhidden and added == 0 and code == 0
    problem = "" if whole else "git could not read the whole work tree: what is kept is not all of it"
    return TreeSnapshot(head, branch, tree.strip() if code == 0 else None, problem)


def _clear_hiding_flags(top: str, environment: dict[str, str], seconds: float) -> bool:
    """Clear the flags that hide changes from git (assume-unchanged, skip-worktree), because agents can set them.
    In a sparse checkout, absent files keep theirs. False if git did not list the index."""
    code, listed = _git(top, environment, [*_WHOLE, "ls-files", "-v", "-z"], seconds, MAX_LISTING)
    if code != 0:
        return False
    rows = [(row[0], row[2:]) for row in listed.split("\0") if row[:1].islower() or row[:1] == "S"]
    assumed = [path for flag, path in rows if flag.islower()]
    skipped = [path for flag, path in rows if flag in "Ss"]
    absent = {path for path in skipped if not os.path.lexists(os.path.join(top, path))}
    sparse = ["config", "--type=bool", "core.sparseCheckout"]
    if absent and _git(top, environment, sparse, seconds)[1].strip() == "true":
        skipped = [path for path in skipped if path not in absent]
    for option, paths in (("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped)):
        for start in range(0, len(paths), 200):
            _git(top, environment, [*_WHOLE, "update-index", option, "--", *paths[start : start + 200]], seconds)
    return True


def keep_work(
    folder: str, environment: dict[str, str], work: TreeSnapshot, ref: str, by: str, attempt: str
) -> dict[str, str] | None:
    """Commit the tree of an interrupted call, with HEAD as its parent, under our ref. Returns the ref and the
    commit; None if that failed."""
    if work.tree is None:
        return None
    message = f"Work of an agent call that was cut short ({by})\n\nAutopilot-Attempt: {attempt}"
    parents = ["-p", work.head] if work.head else []
    code, commit = _git(folder, {**environment, **_IDENTITY}, ["commit-tree", work.tree, *parents, "-m", message])
    if code != 0:
        return None
    code, _ = _git(folder, environment, ["update-ref", ref, commit.strip()])
    return {"ref": ref, "commit": commit.strip()} if code == 0 else None


def worktree_status(folder: str, environment: dict[str, str]) -> list[str]:
    """Another work tree's HEAD and its changes, to compare with a later status."""
    quiet = {**environment, "GIT_OPTIONAL_LOCKS": "0"}
    code, out = _git(folder, quiet, ["status", "--porcelain=v2", "--branch", "--untracked-files=all"])
    return out.splitlines() if code == 0 else []


def is_changed(folder: str, environment: dict[str, str], before: list[str]) -> bool:
    """Whether the work tree changed since the status `before`. Its branch may advance meanwhile because another
    lane was merged: to a commit of ours or one that the remote has. Behind counts change with every fetch."""
    now = worktree_status(folder, environment)
    if _header_values(before, "# branch.head ") != _header_values(now, "# branch.head ") or _file_lines(
        before
    ) != _file_lines(now):
        return True
    head = _header_values(now, "# branch.oid ")
    if head == _header_values(before, "# branch.oid "):
        return False
    queries = (
        ["branch", "--remotes", "--format=%(refname)", "--contains", *head],
        ["log", "-1", "--format=%(trailers:key=Autopilot-Step,valueonly)", *head],
    )
    return not any(_git(folder, environment, query)[1].strip() for query in queries)


def _header_values(status: list[str], name: str) -> list[str]:
    return [line[len(name) :] for line in status if line.startswith(name)]


def _file_lines(status: list[str]) -> list[str]:
    return [line for line in status if not line.startswith("# ")]


def _copy(source: str, target: str) -> None:
    """Copy a regular file up to its present size, without following links: the agent can write to both paths."""
    _remove(target)
    try:
        with (
            os.fdopen(os.open(source, os.O_RDONLY | SAFE_OPEN), "rb") as old,
            os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | SAFE_OPEN, 0o600), "wb") as new,
        ):
            info = os.fstat(old.fileno())
            left = info.st_size if stat.S_ISREG(info.st_mode) else 0
            while left > 0 and (data := old.read(min(left, 1 << 20))):
                new.write(data)
                left -= len(data)
            # git compares files with the index's mtime, and re-reads those written in the same tick: preserve it.
            new.flush()
            os.utime(new.fileno(), ns=(info.st_atime_ns, info.st_mtime_ns))
        if not stat.S_ISREG(info.st_mode):
            _remove(target)
    except OSError:  # no index yet: git creates one
        _remove(target)


def _remove_stale_indexes(index: str) -> None:
    """Remove temporary indexes that dead processes have left beside `index`. An earlier version used that name
    itself."""
    folder, prefix = os.path.dirname(index), f"{os.path.basename(index)}-"
    for name in (os.path.basename(index), f"{os.path.basename(index)}.lock"):
        _remove(os.path.join(folder, name))
    try:
        names = [name for name in os.listdir(folder or ".") if name.startswith(prefix)]
    except OSError:
        return
    for name in names:
        pid, _, rest = name.removeprefix(prefix).partition("-")
        if pid.isdecimal() and len(rest.removesuffix(".lock")) == 8 and not _is_alive(int(pid)):
            _remove(os.path.join(folder, name))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def _git(
    folder: str,
    environment: dict[str, str],
    arguments: list[str],
    seconds: float = SECONDS,
    most: int = MAX_OUTPUT,
) -> tuple[int | None, str]:
    return run([*_GIT, "-C", folder, *arguments], environment, seconds, most)


def run(
    argv: list[str], environment: dict[str, str], seconds: float, most: int = MAX_OUTPUT
) -> tuple[int | None, str]:
    """Exit code and output of a short program. The code is None if it could not be started or had to be killed."""
    read, write = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate((null, write, null))]
    try:
        pid = os.posix_spawnp(argv[0], argv, environment, file_actions=actions)
    except OSError:
        os.close(read)
        return None, ""
    finally:
        os.close(write)
        os.close(null)
    out, late = _drain(read, time.monotonic() + seconds, most)
    os.close(read)
    if late:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return None if late else os.waitstatus_to_exitcode(status), out.decode("utf-8", "surrogateescape")


def _drain(fd: int, deadline: float, most: int) -> tuple[bytes, bool]:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    out = bytearray()
    while len(out) < most:
        if not poll.poll(max(0, int((deadline - time.monotonic()) * 1000))):
            return bytes(out), True
        data = os.read(fd, 65536)
        if not data:
            return bytes(out), False
        out += data
    return bytes(out), True

"""What the agent has done to the work tree: HEAD, the tree's hash with everything in it, and work kept safe."""

from __future__ import annotations

import os
import select
import stat
import time

from .records import PLAIN
from .signals import signal

SECONDS = 60.0
MAX_OUTPUT = 1024 * 1024
MAX_LISTING = 256 * MAX_OUTPUT  # of every path in the index

# The repository is the agent's too: nothing it may have set there is to run with us.
_GIT = [
    "git",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.trustctime=true",  # a file whose size and time were set back is read again
    "-c",
    "core.checkStat=default",
    "-c",
    "advice.addEmbeddedRepo=false",
]
_WHOLE = ["-c", "core.sparseCheckout=false"]  # files outside a sparse checkout count where they are there
_IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "bmad-autopilot"), ("EMAIL", "bmad-autopilot@localhost"))
}


class Work:
    """A state of the work tree. Two are equal when nothing that git would keep has changed between them."""

    def __init__(self, head: str | None, branch: str | None, tree: str | None, problem: str = "") -> None:
        self.head = head
        self.branch = branch
        self.tree = tree
        self.problem = problem

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Work) and (self.head, self.tree) == (other.head, other.tree)

    __hash__ = None  # type: ignore[assignment]


def look(
    folder: str, environment: dict[str, str], index: str, scratch: str = "", seconds: float = SECONDS
) -> Work:
    """The work tree as it is, hashed through an index of our own beside `index`: git's own stays untouched. New
    objects go into the repository, or into the folder `scratch`."""
    _sweep(index)
    # A name of its own: git's lock on it, left by a look that was killed, cannot stop this one.
    index = f"{index}-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        return _look(folder, environment, index, scratch, seconds)
    finally:
        for path in (index, f"{index}.lock"):
            _remove(path)


def _look(folder: str, environment: dict[str, str], index: str, scratch: str, seconds: float) -> Work:
    asked = ["rev-parse", "--git-path", "index", "--git-path", "objects", "--show-toplevel", "HEAD"]
    code, out = _git(folder, environment, [*asked, "--abbrev-ref", "HEAD"], seconds)
    lines = out.splitlines()
    if code is None or len(lines) < 3:
        return Work(None, None, None, "git did not answer" if code is None else "")
    head, branch = (lines[3], lines[4]) if code == 0 and len(lines) == 5 else (None, None)  # None: no commit yet
    _copy(os.path.join(folder, lines[0]), index)
    own = {**environment, "GIT_INDEX_FILE": index}
    unhidden = _unhide(lines[2], own, seconds)
    if scratch:
        os.makedirs(scratch, exist_ok=True)
        objects = os.path.join(folder, lines[1])
        own |= {"GIT_OBJECT_DIRECTORY": scratch, "GIT_ALTERNATE_OBJECT_DIRECTORIES": objects}
    # Copied, so that only files changed since are read again.
    added, _ = _git(folder, own, [*_WHOLE, "add", "--all", "--ignore-errors", ":/"], seconds)
    # 1: some files could not be read. Anything else is no look at all: the tree would be that of git's own index.
    code, tree = _git(folder, own, ["write-tree"], seconds) if added in (0, 1) else (None, "")
    whole = unhidden and added == 0 and code == 0
    problem = "" if whole else "git could not read the whole work tree: what is kept is not all of it"
    return Work(head, branch, tree.strip() if code == 0 else None, problem)


def _unhide(top: str, environment: dict[str, str], seconds: float) -> bool:
    """Clear the flags that hide changes from git (assume-unchanged, skip-worktree): agents can set them. In a
    sparse checkout, files that are not there keep theirs. False: git did not list the index."""
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


def keep(
    folder: str, environment: dict[str, str], work: Work, ref: str, by: str, attempt: str
) -> dict[str, str] | None:
    """Put the tree of a call that was cut short, with HEAD as its parent, under a ref of ours: it and the commit.
    None where that was impossible."""
    if work.tree is None:
        return None
    message = f"Work of an agent call that was cut short ({by})\n\nAutopilot-Attempt: {attempt}"
    parents = ["-p", work.head] if work.head else []
    code, commit = _git(folder, {**environment, **_IDENTITY}, ["commit-tree", work.tree, *parents, "-m", message])
    if code != 0:
        return None
    code, _ = _git(folder, environment, ["update-ref", ref, commit.strip()])
    return {"ref": ref, "commit": commit.strip()} if code == 0 else None


def changes(folder: str, environment: dict[str, str]) -> list[str]:
    """Another work tree's HEAD and what differs from it there, to be compared with a later look."""
    quiet = {**environment, "GIT_OPTIONAL_LOCKS": "0"}
    code, out = _git(folder, quiet, ["status", "--porcelain=v2", "--branch", "--untracked-files=all"])
    return out.splitlines() if code == 0 else []


def is_changed(folder: str, environment: dict[str, str], before: list[str]) -> bool:
    """Since that look. Its branch goes on by itself where another lane is merged meanwhile: to a commit of ours or
    to one that the remote has. How far it is behind changes with every fetch."""
    now = changes(folder, environment)
    if _parts(before, "# branch.head ") != _parts(now, "# branch.head ") or _files(before) != _files(now):
        return True
    head = _parts(now, "# branch.oid ")
    if head == _parts(before, "# branch.oid "):
        return False
    looks = (
        ["branch", "--remotes", "--format=%(refname)", "--contains", *head],
        ["log", "-1", "--format=%(trailers:key=Autopilot-Step,valueonly)", *head],
    )
    return not any(_git(folder, environment, look)[1].strip() for look in looks)


def _parts(look: list[str], name: str) -> list[str]:
    return [line[len(name) :] for line in look if line.startswith(name)]


def _files(look: list[str]) -> list[str]:
    return [line for line in look if not line.startswith("# ")]


def _copy(source: str, target: str) -> None:
    """Only a regular file, up to its present size, and never through a link on either side: the agent can write to
    both places."""
    _remove(target)
    try:
        with (
            os.fdopen(os.open(source, os.O_RDONLY | PLAIN), "rb") as old,
            os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | PLAIN, 0o600), "wb") as new,
        ):
            info = os.fstat(old.fileno())
            left = info.st_size if stat.S_ISREG(info.st_mode) else 0
            while left > 0 and (data := old.read(min(left, 1 << 20))):
                new.write(data)
                left -= len(data)
            # git reads a file again that was written in the same tick as the index: by the index's own time.
            new.flush()
            os.utime(new.fileno(), ns=(info.st_atime_ns, info.st_mtime_ns))
        if not stat.S_ISREG(info.st_mode):
            _remove(target)
    except OSError:  # no index yet: git makes one
        _remove(target)


def _sweep(index: str) -> None:
    """Remove what looks of processes that are gone have left beside `index`. An earlier version used that very
    name."""
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
    """Exit code and output of a short program. None: it could not be started, or had to be killed."""
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

"""Fills a new worktree: copies ignored files that a lane needs from the main checkout, checks out files, and fills
submodules. Files are copied, never linked: an agent would write through a link."""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import BinaryIO, NamedTuple

from ...core.errors import AutopilotError, FileError, Location
from ...io.files import TEMPORARY_SUFFIX
from ...io.processes import find_program
from ...project.git_excludes import agent_file_names, is_not_copied
from ..git import Git, format_paths, is_inside, join_with_nul

# Copying one file or link: atomic, keeping mode and time, never through a link.

_CHUNK = 1024 * 1024
# copy_file_range errors: across file systems, or not supported.
_NO_CLONE = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM)


def file_stamp(path: str) -> str:
    """Stamp that changes when the file does; empty if there is no regular file or link."""
    try:
        info = os.lstat(path)
        if stat.S_ISLNK(info.st_mode):
            return f"-> {os.readlink(path)}"
    except OSError:
        return ""
    return f"{info.st_size} {info.st_mtime_ns}" if stat.S_ISREG(info.st_mode) else ""


def has_same_content(one: str, other: str) -> bool:
    """Whether two files have the same content, or two links the same target."""
    stamps = file_stamp(one), file_stamp(other)
    if not all(stamps) or any(stamp.startswith("->") for stamp in stamps):
        return stamps[0] == stamps[1] != ""
    try:
        with _open_regular(one) as mine, _open_regular(other) as theirs:
            while True:
                chunk = mine.read(_CHUNK)
                if chunk != theirs.read(_CHUNK):
                    return False
                if not chunk:
                    return True
    except OSError:
        return False


def _open_regular(path: str) -> BinaryIO:
    """Opens a regular file without following a link or blocking on a pipe."""
    handle = os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
    if not stat.S_ISREG(os.fstat(handle.fileno()).st_mode):
        handle.close()
        raise OSError(errno.EINVAL, "is no regular file")
    return handle


def is_safe_link(top: str, path: str) -> bool:
    """Whether the link stays inside, both lexically and resolved. An absolute link would point from the worktree
    back into the main checkout."""
    target = os.readlink(os.path.join(top, path))
    lexical = os.path.normpath(os.path.join(os.path.dirname(path), target))
    if os.path.isabs(target) or lexical == ".." or lexical.startswith("../"):
        return False
    real = os.path.realpath(os.path.join(top, path))
    return real == os.path.realpath(top) or real.startswith(f"{os.path.realpath(top)}/")


def copy_into(source_top: str, target_top: str, path: str) -> str:
    """Copies the path and returns the stamp of the copy."""
    source, target = os.path.join(source_top, path), os.path.join(target_top, path)
    try:
        _make_parents(source_top, target_top, path)
        info = os.lstat(source)
        if stat.S_ISLNK(info.st_mode):
            _write_and_rename(target, lambda temporary: os.symlink(os.readlink(source), temporary))
        else:
            _write_and_rename(target, lambda temporary: _copy_file(source, temporary))
    except OSError as error:
        raise FileError(
            f"cannot be copied into the worktree: {error.strerror}", location=Location(source)
        ) from None
    return file_stamp(target)


def has_plain_parents(top: str, path: str) -> bool:
    """Whether no parent is a link or a file; missing parents can be created."""
    folder = top
    for name in path.split("/")[:-1]:
        folder = os.path.join(folder, name)
        try:
            if not stat.S_ISDIR(os.lstat(folder).st_mode):
                return False
        except OSError:
            return True
    return True


def _make_parents(source_top: str, target_top: str, path: str) -> None:
    if not has_plain_parents(target_top, path):
        raise NotADirectoryError(errno.ENOTDIR, "a link or a file stands where a folder should")
    source, target = source_top, target_top
    for name in path.split("/")[:-1]:
        source, target = os.path.join(source, name), os.path.join(target, name)
        with suppress(FileExistsError):
            os.mkdir(target, 0o700)
            os.chmod(target, stat.S_IMODE(os.stat(source).st_mode) | 0o700)


def _write_and_rename(target: str, write: Callable[[str], None]) -> None:
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name[:100]}.{os.urandom(4).hex()}{TEMPORARY_SUFFIX}")
    try:
        write(temporary)
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _copy_file(source: str, target: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    with (
        _open_regular(source) as reader,
        os.fdopen(os.open(target, flags, 0o600), "wb") as writer,
    ):
        info = os.fstat(reader.fileno())
        _copy_bytes(reader, writer, info.st_size)
        writer.flush()
        os.fchmod(writer.fileno(), stat.S_IMODE(info.st_mode))
        os.utime(writer.fileno(), ns=(info.st_atime_ns, info.st_mtime_ns))


def _copy_bytes(reader: BinaryIO, writer: BinaryIO, size: int) -> None:
    """Copies in the kernel if possible: file systems with shared blocks then copy no data."""
    copied = 0
    if hasattr(os, "copy_file_range"):
        try:
            while copied < size:
                count = os.copy_file_range(reader.fileno(), writer.fileno(), size - copied, copied, copied)
                if count == 0:
                    break
                copied += count
        except OSError as error:
            if error.errno not in _NO_CLONE:
                raise
    reader.seek(copied)
    writer.seek(copied)
    # Data appended meanwhile is not copied.
    while copied < size and (data := reader.read(min(size - copied, _CHUNK))):
        writer.write(data)
        copied += len(data)


MAX_FILES = 10_000
MAX_BYTES = 256_000_000

_GLOBS = {"GIT_LITERAL_PATHSPECS": "0"}


class IgnoredFiles(NamedTuple):
    paths: tuple[str, ...] = ()  # from git's top
    size: int = 0
    notes: tuple[str, ...] = ()  # skipped paths and why


def pathspecs(top: str, part: str, globs: Sequence[str]) -> list[str]:
    """Pathspecs of the names that agents need, at the top and in the project's folder, and of the configured
    globs."""
    specs = []
    for place in dict.fromkeys((".", part)):
        before = "" if place == "." else f"{place}/"
        specs += [f":(literal){before}{name}" for name in agent_file_names(os.path.join(top, before))]
    before = "" if part == "." else f"{_escaped(part)}/"
    return [*specs, *(f":(glob){before}{glob.removeprefix('./')}" for glob in globs)]


def _escaped(part: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\*?[" else letter for letter in part)


def ignored_files(git: Git, specs: Sequence[str], part: str) -> list[str]:
    """Skips nested repositories, such as a worktree created by an agent client."""
    options = ("--others", "--ignored", "--exclude-standard", "-z")
    found = git.ask("ls-files", *options, "--", *specs, environment=_GLOBS).fields
    return [path for path in found if not path.endswith("/") and not is_not_copied(path, part)]


def collect_ignored_files(git: Git, part: str, globs: Sequence[str]) -> IgnoredFiles:
    """Files to copy from the main checkout."""
    specs = pathspecs(git.top, part, globs)
    paths, outside, size = [], [], 0
    for path in ignored_files(git, specs, part):
        try:
            info = os.lstat(os.path.join(git.top, path))
        except OSError:  # deleted meanwhile
            continue
        if stat.S_ISLNK(info.st_mode) and not is_safe_link(git.top, path):
            outside.append(path)
        elif stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode):
            paths.append(path)
            size += info.st_size
        if len(paths) > MAX_FILES or size > MAX_BYTES:
            raise _too_much(git.top, path, len(paths), size)
    notes = [f"not brought along, because they lead outside: {format_paths(outside)}"] if outside else []
    notes += _not_in_git(git, specs)
    return IgnoredFiles(tuple(paths), size, tuple(notes))


def _too_much(top: str, path: str, count: int, size: int) -> AutopilotError:
    return AutopilotError(
        "there is too much to copy into a worktree",
        location=Location(os.path.join(top, path)),
        found=f"{count} files, {size / 1e6:.0f} MB, and more",
        expected=f"at most {MAX_FILES} files and {MAX_BYTES / 1e6:.0f} MB",
        hint="name less in `[worktrees] copy`, or make the rest there by `[worktrees] post_create`",
    )


def _not_in_git(git: Git, specs: Sequence[str]) -> list[str]:
    """Reports files that are neither committed nor ignored: a copy would look like the lane's own work."""
    options = ("--others", "--exclude-standard", "--directory", "--no-empty-directory", "-z")
    found = git.ask("ls-files", *options, "--", *specs, environment=_GLOBS).fields
    return [f"neither committed nor ignored, so a worktree has none of it: {format_paths(found)}"] if found else []


class CopiedFiles(NamedTuple):
    copied: dict[str, str]  # path → stamp of every copy of ours
    notes: tuple[str, ...] = ()


def copy_ignored_files(source: Git, target: Git, files: IgnoredFiles, before: Mapping[str, str]) -> CopiedFiles:
    """Copies missing files and updates unmodified copies; leaves everything else as is."""
    plain = [path for path in files.paths if has_plain_parents(target.top, path)]
    allowed = _ignored_in_target(target, plain)
    left = [path for path in files.paths if path not in allowed]
    copied = {path: stamp for path, stamp in before.items() if path not in allowed}
    for path in (path for path in plain if path in allowed):
        stamp = _copy_unless_modified(source.top, target.top, path, before.get(path, ""))
        if stamp:
            copied[path] = stamp
    notes = [f"not brought along, because git does not ignore them there: {format_paths(left)}"] if left else []
    return CopiedFiles(copied, (*files.notes, *notes))


def _copy_unless_modified(source: str, target: str, path: str, before: str) -> str:
    """Stamp of our copy; empty if the existing file is not ours."""
    original, there = file_stamp(os.path.join(source, path)), file_stamp(os.path.join(target, path))
    if not original:
        return before if before == there else ""
    if not os.path.lexists(os.path.join(target, path)) or "" != before == there != original:
        return copy_into(source, target, path)
    if there in (before, original):
        return there
    return there if has_same_content(os.path.join(source, path), os.path.join(target, path)) else before


def _ignored_in_target(git: Git, paths: Sequence[str]) -> set[str]:
    """Paths ignored by the lane's branch. Others would be committed with its work, including secrets, or are
    already tracked."""
    if not paths:
        return set()
    feed = join_with_nul(f"./{path}" for path in paths)  # no literal pathspecs here, and a path may start with `:`
    answer = git.ask("check-ignore", "-z", "--stdin", feed=feed, codes=(0, 1), environment=_GLOBS)
    return {path.removeprefix("./") for path in answer.fields}


def modified_files(
    source: Git, target: Git, specs: Sequence[str], part: str, copied: Mapping[str, str]
) -> list[str]:
    """Ignored files that would be lost with the worktree: they match neither our copy nor the main checkout."""
    found = {*ignored_files(target, specs, part), *(path for path in copied if file_stamp(f"{target.top}/{path}"))}
    return sorted(
        path
        for path in found
        if file_stamp(os.path.join(target.top, path)) != copied.get(path)
        and not has_same_content(os.path.join(source.top, path), os.path.join(target.top, path))
    )


# Checkout of a new worktree: tracked files, LFS files, submodules.

SECONDS = 600.0

_NO_LFS_SETTINGS = ("filter.lfs.smudge=", "filter.lfs.process=", "filter.lfs.required=false")


def check_out(git: Git, lock_fd: int) -> list[str]:
    """Checks out HEAD and returns notes for the user. `lock_fd`: a lock that git keeps open while it writes."""
    without_lfs = _uses_lfs(git) and find_program("git-lfs") is None
    settings = _NO_LFS_SETTINGS if without_lfs else ()
    words = ("reset", "--hard", "--quiet", "--no-recurse-submodules")
    git.ask(*words, settings=settings, seconds=SECONDS, keep_fds=(lock_fd,))
    note = "git-lfs is not installed: the files that it keeps are pointers only"
    return [note] if without_lfs else []


def _uses_lfs(git: Git) -> bool:
    where = ("HEAD", "--", ":(glob)**/.gitattributes")
    return git.ask("grep", "-q", "-e", "filter=lfs", *where, codes=(0, 1), environment=_GLOBS).code == 0


class Submodule(NamedTuple):
    name: str
    path: str
    main_repository: str  # its repository inside the main checkout's git folder, if initialised

    @property
    def has_main_repository(self) -> bool:
        return os.path.isfile(os.path.join(self.main_repository, "HEAD"))


def has_submodules(git: Git) -> bool:
    modules = os.path.join(git.top, ".gitmodules")
    return os.path.isfile(modules) and not os.path.islink(modules)


def submodules(git: Git) -> Iterator[Submodule]:
    """Submodules from `.gitmodules`. The file is part of the tree, so its content is untrusted."""
    tree = git.work_tree
    if tree is None or not has_submodules(git):
        return
    ask = (
        "config",
        "-z",
        "--file",
        os.path.join(git.top, ".gitmodules"),
        "--get-regexp",
        r"^submodule\..*\.path$",
    )
    for field in git.ask(*ask, codes=(0, 1, 128)).fields:
        key, _, path = field.partition("\n")
        name = key.removeprefix("submodule.").removesuffix(".path")
        # In `-c submodule.NAME.url=…` the first `=` ends the name.
        if is_inside(name) and is_inside(path) and "=" not in name and "\n" not in name:
            yield Submodule(name, path, os.path.join(tree.common_dir, "modules", name))


def fill_submodules(git: Git, lock_fd: int) -> list[str]:
    """Fills submodules from the main checkout's copies, without network. Returns notes about those left empty."""
    notes = []
    for module in submodules(git):
        if not module.has_main_repository:
            notes.append(f"submodule {module.path}: not initialised in the main checkout, so left empty")
            continue
        try:
            _fill(git, module, lock_fd)
        except AutopilotError as error:
            notes.append(f"submodule {module.path}: left as it is: {error.message}")
            continue
        if os.path.isfile(os.path.join(git.top, module.path, ".gitmodules")):
            notes.append(f"submodule {module.path}: its own submodules are left empty")
    return notes


def _fill(git: Git, module: Submodule, lock_fd: int) -> None:
    settings = ("protocol.file.allow=always", f"submodule.{module.name}.url={module.main_repository}")
    # --dissociate: borrowed objects would disappear with the main checkout's next gc.
    options = ("--init", "--checkout", "--quiet", "--reference", module.main_repository, "--dissociate")
    update = ("submodule", *("update", *options), "--", module.path)
    git.ask(*update, settings=settings, pinned=False, seconds=SECONDS, keep_fds=(lock_fd,))
    config = os.path.join(module.main_repository, "config")
    url = git.ask("config", "--file", config, "remote.origin.url", codes=(0, 1)).text
    if url:
        Git(os.path.join(git.top, module.path)).ask("config", "remote.origin.url", url)


def lost_commits(git: Git) -> list[str]:
    """Submodules with commits that no copy in the main checkout has and that would be lost."""
    return [module.path for module in submodules(git) if _has_unique_commits(git, module)]


def _has_unique_commits(git: Git, module: Submodule) -> bool:
    folder = os.path.join(git.top, module.path)
    if not os.path.lexists(os.path.join(folder, ".git")):
        return False
    own = Git(folder)
    heads = own.ask("for-each-ref", "--format=%(objectname)", "refs/heads/", "refs/stash").text.split()
    heads += own.ask("rev-parse", "--verify", "--quiet", "HEAD", codes=(0, 1)).text.split()
    if not heads:
        return False
    if not module.has_main_repository:
        return True
    # A missing object is no error; its line ends with `missing`.
    ask = ("--git-dir", module.main_repository, "cat-file", "--batch-check")
    answer = git.ask(*ask, feed="".join(f"{sha}\n" for sha in heads).encode(), pinned=False)
    return any(line.endswith(" missing") for line in answer.text.splitlines())

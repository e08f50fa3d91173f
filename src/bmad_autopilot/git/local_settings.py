"""Hashes the repository's local state that no commit shows: excludes, attributes, hooks, and settings that run
programs or hide changes. Reads the files directly: a git process for each would dominate the cost."""

import os
import re
import stat
from collections.abc import Iterator
from hashlib import sha256

from ..core.errors import FileError
from ..io.files import read_bytes
from ..project.root import WorkTree
from .git import Git, decode, encode, is_inside

MAX_HOOKS = 200
MAX_SETTINGS_FILE = 1024 * 1024
HOOKS_PATH = ".git/config:core.hookspath"

_FILES = ("info/exclude", "info/attributes")
# By lower-case name. Identity and branches are excluded because legitimate work sets them; push targets are
# watched.
_WATCHED = re.compile(
    r"core\.(?:hookspath|worktree|sparsecheckout(?:cone)?|excludesfile|attributesfile|fsmonitor|sshcommand|askpass|editor|pager)"
    r"|(?:filter|alias|include|includeif|credential|url|gpg)\..*"
    r"|remote\..*\.(?:url|pushurl|vcs)|http\..*"
    r"|diff\.(?:external|.*\.(?:command|textconv))|merge\..*\.driver"
)
_SECTION = re.compile(r'\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\](.*)', re.DOTALL)
_SETTING = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?\Z", re.DOTALL)


def hash_local_settings(tree: WorkTree) -> dict[str, str]:
    """Name → hash of each existing item. Hashes, because values may contain credentials."""
    found = {f".git/{name}": _hash_file(os.path.join(tree.common_dir, name)) for name in _FILES}
    found |= _hooks(os.path.join(tree.common_dir, "hooks"))
    settings: dict[str, list[str]] = {}
    for name, value in _settings(tree):
        settings.setdefault(f".git/config:{name}", []).append(value)
    found |= {name: _hash(encode("\0".join(values))) for name, values in settings.items()}
    return {name: known for name, known in found.items() if known}


def has_usual_hooks_path(git: Git, before: str) -> bool:
    """Whether core.hooksPath is where project tools usually install hooks: in the work tree, in a folder that
    existed in the tree `before` or that git ignores."""
    tree = git.work_tree
    values = [value for name, value in _settings(tree) if name == "core.hookspath"] if tree is not None else []
    if not values:
        return False
    folder = os.path.relpath(os.path.normpath(os.path.join(git.top, _unquote(values[-1]))), git.top)
    if not is_inside(folder) or os.path.realpath(os.path.join(git.top, folder)) != os.path.join(git.top, folder):
        return False
    if git.ask("ls-tree", "--full-tree", before, "--", folder).out:
        return True
    plain = {"GIT_LITERAL_PATHSPECS": "0"}
    return git.ask("check-ignore", "-q", "--", f"./{folder}/hook", codes=(0, 1, 128), environment=plain).code == 0


def _hooks(folder: str) -> dict[str, str]:
    try:
        names = sorted(name for name in os.listdir(folder) if not name.endswith(".sample"))
    except OSError:
        return {}
    found = {f".git/hooks/{name}": _hash_file(os.path.join(folder, name)) for name in names[:MAX_HOOKS]}
    rest = {".git/hooks": _hash(encode("\0".join(names)))}
    return found if len(names) <= MAX_HOOKS else found | rest


def _hash_file(path: str) -> str:
    """Empty if there is no file. An unreadable file is identified by size and time."""
    try:
        info = os.lstat(path)
    except OSError:
        return ""
    leads = os.readlink(path) if stat.S_ISLNK(info.st_mode) else ""
    try:
        data = read_bytes(path, limit=MAX_SETTINGS_FILE)
    except FileError:
        data = f"{info.st_size} {info.st_mtime_ns}".encode()
    runs = "x" if info.st_mode & 0o111 else ""
    return _hash(encode(f"{runs}\0{leads}\0") + data)


def _hash(data: bytes) -> str:
    return sha256(data).hexdigest()[:32]


def _settings(tree: WorkTree) -> Iterator[tuple[str, str]]:
    """Name and raw value of each watched setting, in the order in which git reads them."""
    files = dict.fromkeys((f"{tree.common_dir}/config", f"{tree.git_dir}/config.worktree"))
    for path in files:
        try:
            text = decode(read_bytes(path, limit=MAX_SETTINGS_FILE))
        except FileError:
            continue
        section = ""
        for line in re.sub(r"\\\r?\n", "", text).splitlines():
            if (head := _SECTION.match(line)) is not None:
                section = ".".join(part for part in (head[1].lower(), head[2]) if part)
                line = head[3]
            setting = _SETTING.match(line)
            if setting is not None and _WATCHED.fullmatch(name := f"{section}.{setting[1].lower()}"):
                yield name, setting[2] or ""


def _unquote(value: str) -> str:
    """Removes quotes and a trailing comment."""
    bare = value.strip()
    if bare.startswith('"'):
        return re.sub(r"\\(.)", r"\1", bare[1:].partition('"')[0])
    return re.split(r"\s*[#;]", bare, maxsplit=1)[0]

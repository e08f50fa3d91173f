"""Scans the project's folder, within bounds: whether it has source code and a user interface, and which files of a
flow exist."""

import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache

from ..core.errors import Diagnostic, FileError, Location, Severity
from ..io.files import read_bytes
from ..io.patterns import fill_placeholders
from .root import BMAD_FOLDERS

MAX_ENTRIES = 20_000
MAX_DEPTH = 8
MAX_OPENED = 40  # files of languages used with and without a user interface

_MANIFESTS = frozenset(
    "package.json cargo.toml pyproject.toml setup.py go.mod pom.xml build.gradle build.gradle.kts gemfile "
    "composer.json pubspec.yaml cmakelists.txt mix.exs package.swift deno.json build.sbt project.clj".split()
)
_CODE = frozenset(
    ".py .pyx .js .mjs .cjs .ts .mts .cts .rs .go .java .kt .kts .scala .groovy .clj .cs .fs .vb .csproj .fsproj "
    ".vbproj .sln .c .h .cc .cpp .cxx .hpp .m .mm .swift .rb .php .pl .lua .r .jl .ex .exs .erl .hs .ml .elm "
    ".dart .zig .nim .sol .asm .f90 .pas .cob .cbl".split()
)
_UI = frozenset(
    ".html .htm .css .scss .sass .less .tsx .jsx .vue .svelte .astro .xaml .axaml .qml .razor .cshtml .storyboard "
    ".xib .erb .hbs .ejs .pug .twig .jsp .slint .ui".split()
)
# Languages used with and without a user interface: text at the head of a file that proves one.
_UI_WORDS = {
    ".swift": (b"import SwiftUI", b"import UIKit", b"import AppKit"),
    ".dart": (b"package:flutter/",),
    ".kt": (b"androidx.compose", b"import android.view"),
    ".py": (b"import tkinter", b"from tkinter", b"import PyQt", b"from PyQt", b"from PySide", b"import streamlit"),
}
# Third-party code, generated files and documentation.
_PRUNED = frozenset(
    "node_modules vendor third_party worktrees __pycache__ target dist build out bin obj venv env site-packages "
    "htmlcov coverage docs doc site _docs".split()
).union(BMAD_FOLDERS)


def has_sources(top: str, excluded: Iterable[str] = ()) -> bool:
    """`excluded`: folders of plans, relative to the top."""
    return any(_is_code(top, path, name) for path, name in _files(top, excluded))


def has_ui(top: str, excluded: Iterable[str] = ()) -> bool:
    opened = 0
    for path, name in _files(top, excluded):
        extension = _extension(name)
        if extension in _UI:
            return True
        if extension in _UI_WORDS and opened < MAX_OPENED:
            opened += 1
            if _mentions(path, _UI_WORDS[extension]):
                return True
    return False


def has_content(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file() and entry.stat().st_size > 0
    except OSError:  # gone meanwhile
        return False


def _is_code(top: str, path: str, name: str) -> bool:
    extension = _extension(name)
    return extension in _CODE or extension in _UI or name.lower() in _MANIFESTS or _is_in_src(path, top)


def _extension(name: str) -> str:
    return os.path.splitext(name)[1].lower()


def _is_in_src(path: str, top: str) -> bool:
    return os.path.relpath(path, top).startswith(f"src{os.sep}")


def _mentions(path: str, words: Iterable[bytes]) -> bool:
    try:
        head = read_bytes(path, head=4000)
    except FileError:
        return False
    return any(word in head for word in words)


def _files(top: str, excluded: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Files with content, nearest first."""
    ignored = {os.path.normpath(folder) for folder in excluded}
    folders, left = [""], MAX_ENTRIES
    for _ in range(MAX_DEPTH):
        deeper: list[str] = []
        for folder in folders:
            for entry in _entries(os.path.join(top, folder)):
                left -= 1
                if left < 0:
                    return
                part = os.path.join(folder, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    deeper += [part] if _is_searched(entry, part, ignored) else []
                elif has_content(entry):
                    yield entry.path, entry.name
        folders = deeper


def _is_searched(entry: os.DirEntry[str], part: str, ignored: set[str]) -> bool:
    name = entry.name.lower()
    if name.startswith(".") or name in _PRUNED or name.endswith(".worktrees") or part in ignored:
        return False
    return not os.path.lexists(f"{entry.path}/.git")  # a checkout of its own


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted((entry for entry, _ in zip(entries, range(MAX_ENTRIES), strict=False)), key=_name)
    except OSError:
        return []


def _name(entry: os.DirEntry[str]) -> str:
    return entry.name


# One bounded scan of the folders that a flow's steps write to, and of the project's sources.

MAX_FILES = 100_000
MAX_FLOW_DEPTH = 25

_SKIPPED_FOLDERS = (".git", "node_modules")
_WILD = re.compile(r"[*?]")


class FolderScan:
    """The state of the project's folder, for evaluating a flow's conditions. Empty files count as missing, and so
    do the flows' own state files: they record progress and are no output of a step."""

    def __init__(
        self,
        top: str,
        globs: Iterable[str],
        *,
        placeholders: Mapping[str, str] | None = None,
        state_files: Iterable[str] = (),
        bmad: bool = False,
        board: bool = False,
        artefacts: frozenset[str] = frozenset(),
    ) -> None:
        """`placeholders`: their values, relative to the project's top."""
        self.top = top
        self.placeholders = placeholders or {}
        self.bmad = bmad
        self.board = board
        self.artefacts = artefacts
        walk = _Walk(top, frozenset(map(self._fill, state_files)))
        walk.walk(_folders_to_walk(map(self._fill, globs)))
        self.files = sorted(walk.files)
        self.diagnostics = tuple(walk.notes)
        self._file_set = frozenset(self.files)
        self._cache: dict[str, bool] = {}

    def has(self, glob: str) -> bool:
        if glob not in self._cache:
            self._cache[glob] = self._has(self._fill(glob))
        return self._cache[glob]

    @cached_property
    def sources(self) -> bool:
        return has_sources(self.top, self._plans)

    @cached_property
    def ui(self) -> bool:
        return has_ui(self.top, self._plans)

    @property
    def _plans(self) -> tuple[str, ...]:
        return (*self.placeholders.values(), "_docs")

    def _has(self, glob: str) -> bool:
        return next(self._matching(glob), None) is not None

    def _matching(self, glob: str) -> Iterator[str]:
        if not _WILD.search(glob) and not glob.endswith("/"):
            yield from [glob] if glob in self._file_set else []
            return
        fixed, pattern = _WILD.split(glob, maxsplit=1)[0], _compiled(glob)
        by_name = not _WILD.search(glob.rpartition("/")[2])
        for at in range(bisect_left(self.files, fixed), len(self.files)):
            if not self.files[at].startswith(fixed):
                return
            if pattern.fullmatch(self.files[at]) and (by_name or _is_content_file(self.files[at])):
                yield self.files[at]

    def _fill(self, glob: str) -> str:
        """The glob with its placeholders filled in. An unknown placeholder matches nothing."""
        filled = fill_placeholders(glob, lambda name: self.placeholders.get(name, f"{{{name}}}"))
        return os.path.normpath(filled) + "/" * filled.endswith("/")


def _is_content_file(path: str) -> bool:
    """`*.md` means tasks and reports, not the files that explain or list them."""
    name = path.rpartition("/")[2].lower()
    return not name.startswith((".", "_")) and name != "readme.md"


@lru_cache(maxsize=512)
def _compiled(glob: str) -> re.Pattern[str]:
    meaning = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", f"{glob}**" if glob.endswith("/") else glob)
    return re.compile("".join(meaning.get(piece) or re.escape(piece) for piece in pieces), re.DOTALL)


def _folders_to_walk(globs: Iterable[str]) -> dict[str, bool]:
    """The folders to scan, and whether recursively. None is inside a folder that is scanned recursively."""
    found: dict[str, bool] = {}
    for glob in globs:
        wild = _WILD.search(glob)
        fixed = glob[: wild.start()] if wild else glob
        folder, _, rest = fixed.rpartition("/")
        deep = glob.endswith("/") or "/" in glob[len(fixed) - len(rest) :] or "**" in glob
        found[folder] = deep or found.get(folder, False)
    whole = [folder for folder, deep in found.items() if deep]
    return {
        folder: deep
        for folder, deep in found.items()
        if not any(folder != other and f"{folder}/".startswith(f"{other}/" if other else "") for other in whole)
    }


class _Walk:
    def __init__(self, top: str, ignored: frozenset[str]) -> None:
        self.top = top
        self.ignored = ignored
        self.files: set[str] = set()
        self.notes: list[Diagnostic] = []
        self._left = MAX_FILES
        self._linked: set[tuple[int, int]] = set()  # folders behind links: each is scanned once

    def walk(self, folders: Mapping[str, bool]) -> None:
        for folder, deep in folders.items():
            todo = [(folder, 0)]
            while todo:
                part, depth = todo.pop()
                inner = self._scan(part)
                if deep and depth < MAX_FLOW_DEPTH:
                    todo += [(one, depth + 1) for one in inner]
        if self._left <= 0:
            message = f"holds more than {MAX_FILES} files of flows: the rest was not looked at"
            self.notes.append(Diagnostic(Severity.WARNING, "too-many-files", message, Location(self.top)))

    def _scan(self, folder: str) -> list[str]:
        """Collect the files in one folder, and return its subfolders."""
        inner: list[str] = []
        try:
            with os.scandir(os.path.join(self.top, folder)) as entries:
                for entry in entries:
                    self._left -= 1
                    if self._left < 0:
                        break
                    name = f"{folder}/{entry.name}" if folder else entry.name
                    if entry.is_dir():
                        inner += [name] if entry.name not in _SKIPPED_FOLDERS and self._is_new(entry) else []
                    elif name not in self.ignored and has_content(entry):
                        self.files.add(name)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            location = Location(os.path.join(self.top, folder))
            message = f"cannot be looked into, and counts as empty: {error.strerror}"
            self.notes.append(Diagnostic(Severity.WARNING, "unreadable-folder", message, location))
        return inner

    def _is_new(self, entry: os.DirEntry[str]) -> bool:
        if not entry.is_symlink():
            return True
        info = entry.stat()
        key = (info.st_dev, info.st_ino)
        is_new = key not in self._linked
        self._linked.add(key)
        return is_new

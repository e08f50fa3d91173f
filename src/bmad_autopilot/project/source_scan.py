"""Has the project source code, and does that show a user interface? Looked for from the top down, bounded."""

import os
from collections.abc import Iterable, Iterator

from ..core.errors import FileError
from ..files import read_bytes
from .traces import BMAD_FOLDERS

MAX_ENTRIES = 20_000
MAX_DEPTH = 8
MAX_OPENED = 40  # files of a language that is written with and without a user interface

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
# Languages for either: what a file with a user interface begins with.
_UI_WORDS = {
    ".swift": (b"import SwiftUI", b"import UIKit", b"import AppKit"),
    ".dart": (b"package:flutter/",),
    ".kt": (b"androidx.compose", b"import android.view"),
    ".py": (b"import tkinter", b"from tkinter", b"import PyQt", b"from PyQt", b"from PySide", b"import streamlit"),
}
# Others' code, what was generated, and words about the project.
_PRUNED = frozenset(
    "node_modules vendor third_party worktrees __pycache__ target dist build out bin obj venv env site-packages "
    "htmlcov coverage docs doc site _docs".split()
).union(BMAD_FOLDERS)


def has_sources(top: str, left_out: Iterable[str] = ()) -> bool:
    """`left_out`: folders from the top in which plans lie."""
    return any(_is_code(top, path, name) for path, name in _files(top, left_out))


def has_ui(top: str, left_out: Iterable[str] = ()) -> bool:
    opened = 0
    for path, name in _files(top, left_out):
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


def _files(top: str, left_out: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Files with content, nearest first."""
    passed_over = {os.path.normpath(folder) for folder in left_out}
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
                    deeper += [part] if _is_worth(entry, part, passed_over) else []
                elif has_content(entry):
                    yield entry.path, entry.name
        folders = deeper


def _is_worth(entry: os.DirEntry[str], part: str, passed_over: set[str]) -> bool:
    name = entry.name.lower()
    if name.startswith(".") or name in _PRUNED or name.endswith(".worktrees") or part in passed_over:
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

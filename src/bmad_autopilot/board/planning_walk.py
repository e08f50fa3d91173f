"""One bounded walk over the folders in which plans are kept."""

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..project.traces import BMAD_FOLDERS
from .planning_names import MEMLOG

MAX_ENTRIES = 20_000
MAX_DEPTH = 4  # output/planning-artifacts/prds/prd-shop-2026-01-15/prd.md

_PRUNED = frozenset(
    "archive archives archived backup backups old stories implementation-artifacts sprint-artifacts sprints epics"
    " node_modules vendor __pycache__ target dist venv site-packages fixtures src digests imports mockups".split()
).union(BMAD_FOLDERS)


class Walked(NamedTuple):
    files: tuple[tuple[str, str], ...]  # (the folder it was found from, its path below that), in order
    complete: bool


def walk(roots: Iterable[str], leave_out: Iterable[str]) -> Walked:
    """Every Markdown file, and a few others. A root inside another is walked as a part of it, but its
    files count as its own."""
    wanted = list(dict.fromkeys(root.rstrip("/") for root in roots))
    outside = {path.rstrip("/") for path in leave_out} - set(wanted)
    files: list[tuple[str, str]] = []
    entries, seen = 0, set[str]()
    queue = [(root, root, 0) for root in sorted(wanted, key=lambda root: -root.count("/"))]
    while queue:
        folder, root, depth = queue.pop(0)
        if folder in seen or folder in outside:
            continue
        seen.add(folder)
        for entry in _entries(folder, MAX_ENTRIES - entries):
            entries += 1
            if entry.is_dir(follow_symlinks=False):
                if depth < MAX_DEPTH and _worth(entry.name):
                    queue.append((entry.path, root, depth + 1))
            elif _is_text(entry):
                files.append((root, entry.path[len(root) + 1 :]))
        if entries >= MAX_ENTRIES:
            return Walked(tuple(files), False)
    return Walked(tuple(files), True)


def _entries(folder: str, limit: int) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry, _ in zip(entries, range(max(limit, 0)), strict=False)]
    except OSError:  # not there, or not for us
        return
    yield from sorted(found, key=lambda entry: entry.name)


def _worth(name: str) -> bool:
    return not name.startswith(".") and name.lower() not in _PRUNED


def _is_text(entry: os.DirEntry[str]) -> bool:
    name = entry.name.lower()
    if name != MEMLOG and (name.startswith(".") or not name.endswith((".md", ".html"))):
        return False
    try:
        return entry.is_file()
    except OSError:
        return False

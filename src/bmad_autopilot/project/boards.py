"""Finding `sprint-status.yaml` where no setting leads to it."""

import os
from typing import NamedTuple

from .traces import BMAD_FOLDERS, BOARD_NAME, TASKS_FOLDER, is_archived

MAX_ENTRIES = 20_000
MAX_DEPTH = 6

# Copies, other people's projects and heaps of generated files.
_PRUNED = frozenset(
    "archive archives archived fixtures fixture node_modules vendor worktrees __pycache__ target dist venv "
    "site-packages .git .hg .svn .venv .tox .nox .cache .runs .claude .agents".split()
).union(BMAD_FOLDERS, [os.path.basename(TASKS_FOLDER)])  # whose board is a flow's


class Search(NamedTuple):
    boards: tuple[str, ...]
    complete: bool  # False: the bound was met before the end, there may be more


def search_boards(base: str) -> Search:
    """Every board below `base` that is no copy, nearest first; bounded in depth and in entries."""
    boards: list[str] = []
    folders = [base]
    entries = 0
    for _ in range(MAX_DEPTH):
        deeper: list[str] = []
        for folder in folders:
            names, inner, seen = _look(folder)
            entries += seen
            boards += names
            deeper += inner
            if entries > MAX_ENTRIES:
                return Search(tuple(sorted(boards)), False)
        folders = deeper
    return Search(tuple(boards), True)


def _look(folder: str) -> tuple[list[str], list[str], int]:
    """The boards in one folder, the folders below it worth a look, and the number of entries."""
    boards: list[str] = []
    inner: list[str] = []
    count = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                count += 1
                if count > MAX_ENTRIES:
                    break
                if entry.name == BOARD_NAME:
                    boards.append(entry.path)
                elif entry.is_dir(follow_symlinks=False) and _worth(entry):
                    inner.append(entry.path)
    except OSError:  # unreadable or gone: nothing of ours
        pass
    return boards, sorted(inner), count


def _worth(entry: os.DirEntry[str]) -> bool:
    name = entry.name.lower()
    if name in _PRUNED or name.endswith(".worktrees") or is_archived(name):
        return False
    return not os.path.lexists(f"{entry.path}/.git")  # a checkout of its own

"""The work trees that git knows of."""

import os
from typing import NamedTuple

from ...core.errors import FileError
from ...files import read_text
from ..git import Git

_HEADS = "refs/heads/"
MAX_GITDIR = 64 * 1024


class Entry(NamedTuple):
    folder: str
    admin: str = ""  # its own git folder; empty for the main checkout
    branch: str = ""  # empty: none is checked out
    lock: str | None = None  # why somebody has locked it; None: nobody has

    @property
    def is_there(self) -> bool:
        return os.path.lexists(os.path.join(self.folder, ".git"))

    @property
    def is_checked_out(self) -> bool:
        """git writes the index when all files are there."""
        return os.path.exists(os.path.join(self.admin, "index"))


def list_entries(git: Git) -> list[Entry]:
    """The main checkout first."""
    admins = _admins(git)
    found: list[Entry] = []
    for field in git.ask("worktree", "list", "--porcelain", "-z", pinned=False).fields:
        name, _, value = field.partition(" ")
        if name == "worktree":
            found.append(Entry(value, admins.get(value, "")))
        elif name == "branch":
            found[-1] = found[-1]._replace(branch=value.removeprefix(_HEADS))
        elif name == "locked":
            found[-1] = found[-1]._replace(lock=value)
    return found


def _admins(git: Git) -> dict[str, str]:
    """By the folder that each belongs to: git itself lists only the folders."""
    tree = git.work_tree
    base = os.path.join(tree.common_dir if tree is not None else git.git_dir, "worktrees")
    try:
        names = sorted(os.listdir(base))
    except OSError:
        return {}
    found = {}
    for name in names:
        admin = os.path.join(base, name)
        try:
            named = read_text(os.path.join(admin, "gitdir"), limit=MAX_GITDIR).text.rstrip("\r\n")
        except FileError:
            continue
        # Newer versions of git may write it relative to where it stands.
        found[os.path.dirname(os.path.normpath(os.path.join(admin, named)))] = admin
    return found

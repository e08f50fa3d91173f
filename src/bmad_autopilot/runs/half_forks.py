"""Going back to a checkpoint, cut short: a note in the work tree's own git folder, from before its files are
touched until the new run has its journal."""

import os
from contextlib import suppress
from typing import NamedTuple

from ..core.errors import ConflictError, FileError
from ..project.gitdir import find_work_tree
from .journal import NAME as JOURNAL
from .json_files import read_object, text_of, write_object
from .layout import folder_name

NAME = "bmad-autopilot-fork"


class HalfFork(NamedTuple):
    checkpoint: str  # its digest
    session: str
    run: str  # the new one
    branch: str
    saved: str  # the ref of what lay in the work tree

    def folder(self, runs: str) -> str:
        return os.path.join(runs, self.session, self.run)


def half_fork(git_dir: str, runs: str) -> HalfFork | None:
    """None also where it is whole, and only the note was left. An agent could have written it: names that lead
    elsewhere are none."""
    try:
        data = read_object(os.path.join(git_dir, NAME)) or {}
    except FileError:
        return None
    half = HalfFork(*(text_of(data.get(name)) for name in HalfFork._fields))
    is_ours = all(half) and all(folder_name(name) == name for name in (half.session, half.run))
    return half if is_ours and not os.path.exists(os.path.join(half.folder(runs), JOURNAL)) else None


def keep_half(git_dir: str, half: HalfFork) -> None:
    write_object(os.path.join(git_dir, NAME), half._asdict())


def forget_half(git_dir: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(git_dir, NAME))


def refuse_half(checkout: str, runs: str) -> None:
    """Nobody works in a tree that is partly as it was then."""
    tree = find_work_tree(checkout)
    half = half_fork(tree.git_dir, runs) if tree is not None else None
    if half is not None:
        raise ConflictError(
            f"going back to checkpoint {half.checkpoint[:6]} was cut short in this work tree",
            found=f"its files may be partly as they were then; what lay there before: {half.saved}",
            hint=f"bmad resume --checkpoint {half.checkpoint[:12]} finishes it; then any other run can go on",
        )

"""What is written down about tasks outside a run, and committed by us: their plan, and what came of it."""

import os
from collections.abc import Iterable

from ...board.sprint import board_from_text
from ...core.errors import FileError
from ...files import Text
from ...github.commits import commit
from ...github.git import Git
from ...github.ground import look_at_ground, refusal
from ...github.history import head_of
from ...github.identities import OURS
from ...github.messages import STEP
from ...github.trees import read_file
from ...project.open import Project
from ...runs.finding import unfinished
from ...runs.layout import folder_name, runs_folder
from ...runs.state import Status
from ..driving import lane_of


def commit_changed(project: Project, paths: Iterable[str], message: str, key: str) -> str:
    """Those of these files that differ from HEAD, in one commit; empty: none does. What is done is seen in the
    tree, so that a commit cut short is made by the next call, and never twice."""
    git = Git(project.root.checkout)
    ground = look_at_ground(git)
    problem = refusal(ground)
    if problem is not None:
        raise problem
    changed = {*ground.dirty, *ground.untracked}
    named = sorted({from_top(git, path) for path in paths} & changed)
    if not named:
        return ""
    return commit(git, named, message, {STEP: key}, identity=ground.identity or OURS)


def changed_of(project: Project, paths: Iterable[str]) -> set[str]:
    """Those of them that differ from HEAD, from git's top."""
    git = Git(project.root.checkout)
    ground = look_at_ground(git)
    return {from_top(git, path) for path in paths} & {*ground.dirty, *ground.untracked}


def rows_committed(project: Project) -> frozenset[str]:
    """Keys of the tasks' board as HEAD has it."""
    git = Git(project.root.checkout)
    head = head_of(git)
    path = project.require_board()
    raw = read_file(git, head, from_top(git, path)) if head else None
    try:
        return frozenset(board_from_text(Text(path, raw)).rows) if raw is not None else frozenset()
    except FileError:
        return frozenset()


def from_top(git: Git, path: str) -> str:
    return os.path.relpath(os.path.realpath(path), git.top)


def is_under_way(project: Project, session: str, key: str = "") -> bool:
    """A run of this batch, or of any, is to be gone on with: what lies in the tree may be its."""
    for run in unfinished(runs_folder(project.root.path)):
        if (
            run.session == folder_name(session)
            and key in ("", run.target)
            and run.state.status is not Status.FAILED
        ):
            lane = lane_of(run)
            if lane is not None and lane.of_tasks:
                return True
    return False

"""Going back to a checkpoint: a new run, on a branch of its own, that begins where the old one stood then.

The old run stays as it is. What lies in the work tree now is saved under a ref first, so that nothing later is
lost; the new run's journal is written last, so that a fork that was cut short is no run."""

import os
import shutil
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..board.sprint import read_board
from ..board.store import set_status
from ..core.errors import AutopilotError, FileError
from ..github.commits import move_ref
from ..github.git import Git, GitError
from ..github.ground import look_at_ground, refusal
from ..github.history import head_of
from ..github.putting_back import put_back
from ..github.saving import SAVED, save_all
from ..github.trees import changes
from ..project.open import Project
from ..runs.agent_state import clear
from ..runs.checkpoints import Checkpoint
from ..runs.copying import copy_run
from ..runs.journal import NAME as JOURNAL
from ..runs.journal import lane_entry
from ..runs.journal_lines import Entry
from ..runs.layout import make_run, runs_folder
from ..workflows.contract import agent_state

MAX_BRANCHES = 100


class Fork(NamedTuple):
    folder: str
    said: Mapping[str, Any]  # by the journal: run, from, checkpoint, step, branch and the ref of what was saved

    @property
    def run_id(self) -> str:
        return os.path.basename(self.folder)


def fork_run(project: Project, at: Checkpoint) -> Fork:
    entry = lane_entry(at.folder)
    assert entry is not None, at.folder
    folder = make_run(runs_folder(project.root.path), at.session, str(entry.data.get("target", "")), time.time())
    try:
        return Fork(folder, _begin(project, at, folder))
    except BaseException:
        if not os.path.exists(os.path.join(folder, JOURNAL)):  # as if it had never been asked for
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _begin(project: Project, at: Checkpoint, folder: str) -> dict[str, Any]:
    run = os.path.basename(folder)
    branch, saved = _go_back(project, at, run) if at.tree else ("", "")
    if at.rows:
        _set_rows(project, at)
    if at.story:
        clear(agent_state(project.folders.implementation, at.story))
    forked = {"run": at.run, "checkpoint": at.digest, "step": at.step, "entry": at.entry}
    head = {"run_id": run, "forked_from": forked, **({"branch": branch} if branch else {})}
    said = {"run": run, "from": at.run, "checkpoint": at.digest, "step": at.step, "branch": branch, "saved": saved}
    copy_run(at, folder, head, Entry(0, time.time(), "forked", said))
    return said


def _go_back(project: Project, at: Checkpoint, run: str) -> tuple[str, str]:
    """The work tree as it was, on a new branch from the commit it stood on."""
    git = Git(project.root.checkout)
    problem = refusal(look_at_ground(git))
    if problem is not None:
        raise problem
    tree = _tree_of(git, at)
    head = at.head or head_of(git)
    if head is None:
        raise GitError("has no commit to make a branch from", found=git.folder)
    ref = f"{SAVED}{run}/before"
    saved = save_all(git, ref, f"Before going back to checkpoint {at.id}")
    branch = _new_branch(git, at, head)
    paths = {path for one in changes(git, saved, tree) for path in (one.path, one.old_path)}
    if paths:
        put_back(git, tree, paths, saved=ref)
    git.ask("symbolic-ref", "-m", "autopilot", "HEAD", f"refs/heads/{branch}")
    git.ask("read-tree", head)
    git.ask("update-index", "-q", "--refresh", codes=(0, 1))
    return branch, ref


def _tree_of(git: Git, at: Checkpoint) -> str:
    found = git.ask("rev-parse", "--verify", "--quiet", f"{at.ref or at.tree}^{{tree}}", codes=(0, 1, 128)).text
    if not found:
        raise AutopilotError(
            f"the work tree of checkpoint {at.id} is not kept any more",
            found=at.ref or "no ref",
            hint="bmad resume --list shows the others",
        )
    return found


def _new_branch(git: Git, at: Checkpoint, head: str) -> str:
    stem = f"{at.branch or 'fork'}-{at.id}"
    for again in range(1, MAX_BRANCHES):
        branch = stem if again == 1 else f"{stem}-{again}"
        ref = f"refs/heads/{branch}"
        if not git.ask("rev-parse", "--verify", "--quiet", ref, codes=(0, 1)).text:
            move_ref(git, ref, head, "")
            return branch
    raise AutopilotError(f"{MAX_BRANCHES} branches are called {stem}-…", hint=f"git branch --list '{stem}*'")


def _set_rows(project: Project, at: Checkpoint) -> None:
    """The board may be none of git's business, or have been written since the tree was taken."""
    try:
        path = project.require_board()
        rows = read_board(path).rows
    except FileError:
        return  # the loop says so, better than we can
    for key, raw in at.rows.items():
        if key in rows and rows[key].status.raw != raw:
            set_status(path, key, raw, state=project.state_folder, expect=rows[key].status.raw, regress=True)

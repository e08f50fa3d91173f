"""Going back to a checkpoint: a new run, on a branch of its own, that begins where the old one stood then.

The old run stays as it is. What lies in the work tree now is saved under a ref first, so that nothing later is
lost; the new run's journal is written last, so that a fork that was cut short is no run: the same command finishes
it, and no other run goes on in that work tree before."""

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..agents import worktree_lock
from ..board.sprint import read_board
from ..board.store import set_status
from ..core.commands import command
from ..core.errors import AutopilotError, ConflictError, FileError
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
from ..runs.half_forks import HalfFork, forget_half, half_fork, keep_half
from ..runs.journal import NAME as JOURNAL
from ..runs.journal import first_entry
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
    entry = first_entry(at.folder)
    assert entry is not None, at.folder
    git = Git(project.root.checkout) if at.tree else None
    runs, target = runs_folder(project.root.path), str(entry.data.get("target", ""))
    half = half_fork(git.git_dir, runs) if git is not None else None
    half = half if half is not None and half.checkpoint == at.digest else None
    folder = half.folder(runs) if half else make_run(runs, at.session, target, time.time())
    try:
        if git is None:
            return _begin(project, at, folder, "", "")
        with _alone_in(git, folder):
            branch, saved = _go_back(git, at, folder, half)
            fork = _begin(project, at, folder, branch, saved)
            forget_half(git.git_dir)
            return fork
    except BaseException:
        if not os.path.exists(os.path.join(folder, JOURNAL)):  # as if it had never been asked for
            shutil.rmtree(folder, ignore_errors=True)
        raise


@contextmanager
def _alone_in(git: Git, folder: str) -> Iterator[None]:
    """No agent works in the work tree, and none begins to, while its files are changed."""
    try:
        lock = worktree_lock.take(git.top, folder)
    except ConflictError as error:
        run = os.path.basename(os.path.normpath(os.path.join(error.found or "", "../../..")))
        raise ConflictError(
            "an agent is at work in this work tree",
            found=error.found,
            hint=f"{command('resume', '--run', run)} waits for it, {command('agent', 'cancel', run)} stops it",
        ) from None
    try:
        yield
    finally:
        os.close(lock)


def _begin(project: Project, at: Checkpoint, folder: str, branch: str, saved: str) -> Fork:
    run = os.path.basename(folder)
    if at.rows:
        _set_rows(project, at)
    if at.story:
        clear(agent_state(project.folders.implementation, at.story))
    forked = {"run": at.run, "checkpoint": at.digest, "step": at.step, "entry": at.entry}
    head = {"run_id": run, "forked_from": forked, **({"branch": branch} if branch else {})}
    said = {"run": run, "from": at.run, "checkpoint": at.digest, "step": at.step, "branch": branch, "saved": saved}
    shutil.rmtree(folder, ignore_errors=True)  # of one that was cut short, some of it is there already
    os.makedirs(folder)
    copy_run(at, folder, head, Entry(0, time.time(), "forked", said))
    return Fork(folder, said)


def _go_back(git: Git, at: Checkpoint, folder: str, half: HalfFork | None) -> tuple[str, str]:
    """The work tree as it was, on a new branch from the commit it stood on. One that was cut short goes on with
    what it had saved: a file is still as it was then, or already as it shall be."""
    problem = refusal(look_at_ground(git))
    if problem is not None:
        raise problem
    tree = _tree_of(git, at)
    head = at.head or head_of(git)
    if head is None:
        raise GitError("has no commit to make a branch from", found=git.folder)
    ref = half.saved if half else f"{SAVED}{os.path.basename(folder)}/before"
    branch = half.branch if half else _free_branch(git, at)
    saved = _commit_at(git, ref) or _save(git, at, ref)
    keep_half(git.git_dir, HalfFork(at.digest, at.session, os.path.basename(folder), branch, ref))
    try:
        _put_back(git, saved, tree, ref)
    except ConflictError:
        if half is None:  # nothing was touched
            forget_half(git.git_dir)
            raise
        _put_back(git, _save(git, at, ref), tree, ref)  # written over since: that is saved too, beside what was
    if not _commit_at(git, f"refs/heads/{branch}"):
        move_ref(git, f"refs/heads/{branch}", head, "")
    git.ask("symbolic-ref", "-m", "autopilot", "HEAD", f"refs/heads/{branch}")
    git.ask("read-tree", head)
    git.ask("update-index", "-q", "--refresh", codes=(0, 1))
    return branch, ref


def _save(git: Git, at: Checkpoint, ref: str) -> str:
    return save_all(git, ref, f"Before going back to checkpoint {at.id}")


def _put_back(git: Git, saved: str, tree: str, ref: str) -> None:
    paths = {path for one in changes(git, saved, tree) for path in (one.path, one.old_path)}
    if paths:
        put_back(git, tree, paths, saved=ref)


def _commit_at(git: Git, ref: str) -> str:
    return git.ask("rev-parse", "--verify", "--quiet", ref, codes=(0, 1)).text


def _tree_of(git: Git, at: Checkpoint) -> str:
    found = git.ask("rev-parse", "--verify", "--quiet", f"{at.ref or at.tree}^{{tree}}", codes=(0, 1, 128)).text
    if not found:
        raise AutopilotError(
            f"the work tree of checkpoint {at.id} is not kept any more",
            found=at.ref or "no ref",
            hint="bmad resume --list shows the others",
        )
    return found


def _free_branch(git: Git, at: Checkpoint) -> str:
    stem = f"{at.branch or 'fork'}-{at.id}"
    for again in range(1, MAX_BRANCHES):
        branch = stem if again == 1 else f"{stem}-{again}"
        if not _commit_at(git, f"refs/heads/{branch}"):
            return branch
    raise AutopilotError(f"{MAX_BRANCHES} branches are called {stem}-…", hint=f"git branch --list '{stem}*'")


def _set_rows(project: Project, at: Checkpoint) -> None:
    """The board may be none of git's business, or have been written since the tree was taken."""
    try:
        path = project.require_board()
        rows = read_board(path).rows
    except FileError:
        return  # the loop says so, better than we can
    state, inside = project.state_folder, project.inside
    for key, raw in at.rows.items():
        if key in rows and rows[key].status.raw != raw:
            expect = rows[key].status.raw
            set_status(path, key, raw, state=state, inside=inside, expect=expect, regress=True)

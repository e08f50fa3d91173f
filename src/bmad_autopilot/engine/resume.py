"""Resumes an unfinished run, or forks a new run from a checkpoint of any run."""

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..agents import start
from ..board.sprint_status import read_board
from ..board.sprint_status_writer import set_status
from ..core.errors import AutopilotError, ConflictError, FileError, command
from ..git.commits import move_ref
from ..git.git import Git, GitError
from ..git.history import current_head
from ..git.refs import SAVED, restore_paths, save_work_tree
from ..git.trees import diff_trees
from ..git.worktree_state import precondition_error, read_worktree_state
from ..project.project import Project
from ..runs.agent_state import clear_agent_state
from ..runs.checkpoints import (
    Checkpoint,
    InterruptedFork,
    copy_run,
    find_interrupted_fork,
    forget_half,
    write_fork_marker,
)
from ..runs.index import Run
from ..runs.journal import JOURNAL_FILE as JOURNAL
from ..runs.journal import JournalEntry, first_entry
from ..runs.layout import make_run, runs_folder
from ..runs.supervisor_lock import clear_request, hold_supervisor_lock
from ..workflows.contract import agent_state_path
from .policy import with_base_settings
from .ports import EventSink, Prompter
from .run_setup import NO_CAPS
from .runner import EMPTY_MAPPING, RunEnd, lane_of_run, read_lane, resume_lane, supervise

# Forking: a new run, on its own branch, that begins at a checkpoint of the old run.
#
# The old run is not changed. The current work tree is saved under a ref first, so that nothing is lost. The new
# run's journal is written last, so an interrupted fork is not a run: the same command finishes it, and no other
# run may continue in that work tree before.

MAX_BRANCHES = 100


class Fork(NamedTuple):
    folder: str
    event_data: Mapping[
        str, Any
    ]  # of the journal entry: run, from, checkpoint, step, branch, ref of the saved work

    @property
    def run_id(self) -> str:
        return os.path.basename(self.folder)


def fork_run(project: Project, checkpoint: Checkpoint) -> Fork:
    entry = first_entry(checkpoint.folder)
    assert entry is not None, checkpoint.folder
    git = Git(project.root.checkout) if checkpoint.tree else None
    runs, target = runs_folder(project.root.path), str(entry.data.get("target", ""))
    half = find_interrupted_fork(git.git_dir, runs) if git is not None else None
    half = half if half is not None and half.checkpoint == checkpoint.digest else None
    folder = half.folder(runs) if half else make_run(runs, checkpoint.session, target, time.time())
    try:
        if git is None:
            return _write_fork(project, checkpoint, folder, "", "")
        with _lock_worktree(git, folder):
            branch, saved = _restore_checkpoint(git, checkpoint, folder, half)
            fork = _write_fork(project, checkpoint, folder, branch, saved)
            forget_half(git.git_dir)
            return fork
    except BaseException:
        if not os.path.exists(os.path.join(folder, JOURNAL)):  # leave no trace of the request
            shutil.rmtree(folder, ignore_errors=True)
        raise


@contextmanager
def _lock_worktree(git: Git, folder: str) -> Iterator[None]:
    """Keep agents out of the work tree while its files are changed."""
    try:
        lock = start.acquire_worktree_lock(git.top, folder)
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


def _write_fork(project: Project, checkpoint: Checkpoint, folder: str, branch: str, saved: str) -> Fork:
    run = os.path.basename(folder)
    if checkpoint.rows:
        _set_rows(project, checkpoint)
    if checkpoint.story:
        clear_agent_state(agent_state_path(project.folders.implementation, checkpoint.story))
    forked = {
        "run": checkpoint.run,
        "checkpoint": checkpoint.digest,
        "step": checkpoint.step,
        "entry": checkpoint.entry,
    }
    head = {"run_id": run, "forked_from": forked, **({"branch": branch} if branch else {})}
    event_data = {
        "run": run,
        "from": checkpoint.run,
        "checkpoint": checkpoint.digest,
        "step": checkpoint.step,
        "branch": branch,
        "saved": saved,
    }
    shutil.rmtree(folder, ignore_errors=True)  # an interrupted fork may have left parts
    os.makedirs(folder)
    copy_run(checkpoint, folder, head, JournalEntry(0, time.time(), "forked", event_data))
    return Fork(folder, event_data)


def _restore_checkpoint(
    git: Git, checkpoint: Checkpoint, folder: str, half: InterruptedFork | None
) -> tuple[str, str]:
    """Restore the work tree on a new branch from the checkpoint's commit. An interrupted fork continues with what
    it had saved: each file is either still as it was then, or already restored."""
    problem = precondition_error(read_worktree_state(git))
    if problem is not None:
        raise problem
    tree = _tree_of(git, checkpoint)
    head = checkpoint.head or current_head(git)
    if head is None:
        raise GitError("has no commit to make a branch from", found=git.folder)
    ref = half.saved if half else f"{SAVED}{os.path.basename(folder)}/before"
    branch = half.branch if half else _free_branch(git, checkpoint)
    saved = _commit_at(git, ref) or _save(git, checkpoint, ref)
    write_fork_marker(
        git.git_dir, InterruptedFork(checkpoint.digest, checkpoint.session, os.path.basename(folder), branch, ref)
    )
    try:
        _put_back(git, saved, tree, ref)
    except ConflictError:
        if half is None:  # nothing was touched
            forget_half(git.git_dir)
            raise
        _put_back(git, _save(git, checkpoint, ref), tree, ref)  # overwritten since the interruption: save that too
    if not _commit_at(git, f"refs/heads/{branch}"):
        move_ref(git, f"refs/heads/{branch}", head, "")
    git.ask("symbolic-ref", "-m", "autopilot", "HEAD", f"refs/heads/{branch}")
    git.ask("read-tree", head)
    git.ask("update-index", "-q", "--refresh", codes=(0, 1))
    return branch, ref


def _save(git: Git, checkpoint: Checkpoint, ref: str) -> str:
    return save_work_tree(git, ref, f"Before going back to checkpoint {checkpoint.id}")


def _put_back(git: Git, saved: str, tree: str, ref: str) -> None:
    paths = {path for one in diff_trees(git, saved, tree) for path in (one.path, one.old_path)}
    if paths:
        restore_paths(git, tree, paths, saved_ref=ref)


def _commit_at(git: Git, ref: str) -> str:
    return git.ask("rev-parse", "--verify", "--quiet", ref, codes=(0, 1)).text


def _tree_of(git: Git, checkpoint: Checkpoint) -> str:
    found = git.ask(
        "rev-parse", "--verify", "--quiet", f"{checkpoint.ref or checkpoint.tree}^{{tree}}", codes=(0, 1, 128)
    ).text
    if not found:
        raise AutopilotError(
            f"the work tree of checkpoint {checkpoint.id} is not kept any more",
            found=checkpoint.ref or "no ref",
            hint="bmad resume --list shows the others",
        )
    return found


def _free_branch(git: Git, checkpoint: Checkpoint) -> str:
    stem = f"{checkpoint.branch or 'fork'}-{checkpoint.id}"
    for again in range(1, MAX_BRANCHES):
        branch = stem if again == 1 else f"{stem}-{again}"
        if not _commit_at(git, f"refs/heads/{branch}"):
            return branch
    raise AutopilotError(f"{MAX_BRANCHES} branches are called {stem}-…", hint=f"git branch --list '{stem}*'")


def _set_rows(project: Project, checkpoint: Checkpoint) -> None:
    """The board may be outside git, or have been written after the checkpoint's tree."""
    try:
        path = project.require_board()
        rows = read_board(path).rows
    except FileError:
        return  # the loop reports it
    state, inside = project.state_folder, project.work_tree
    for key, raw in checkpoint.rows.items():
        if key in rows and rows[key].status.raw != raw:
            expect = rows[key].status.raw
            set_status(path, key, raw, state=state, allowed_root=inside, expect=expect, regress=True)


def resume_run(
    project: Project,
    run: Run,
    *,
    on_event: EventSink,
    human: Prompter | None = None,
    unattended: Mapping[str, str] = EMPTY_MAPPING,
) -> RunEnd:
    project.bmad.require_supported()
    lane = lane_of_run(run)
    if lane is None:
        raise _not_understood(run.id)
    project = with_base_settings(project, on_event)
    with supervise(project, lane, "resume", run.id):
        clear_request(run.folder)
        if lane.is_flow:
            from .flows.runner import FlowOptions, resume_flow

            return resume_flow(
                project, run.folder, FlowOptions(unattended=unattended), on_event=on_event, human=human
            )
        return resume_lane(project, run.folder, on_event, human, NO_CAPS, unattended=unattended)


def _not_understood(run: str) -> AutopilotError:
    return AutopilotError(
        f"{run} cannot be gone on with",
        found="a run of another tool, or of a version whose workflow nobody understands any more",
        hint=f"bmad runs show {run}",
    )


def fork_protocol(project: Project, checkpoint: Checkpoint) -> Fork:
    """Fork a run that agents keep with `bmad checkpoint`; no loop runs the new one either."""
    from ..agents.shim.redact import Redactor, environment_secrets
    from ..runs.checkpoint_protocol import CheckpointProtocol

    with hold_supervisor_lock(project.state_folder, f"resume --checkpoint {checkpoint.id}"):
        fork = fork_run(project, checkpoint)
        redact = Redactor(environment_secrets(os.environ)).value
        CheckpointProtocol(runs_folder(project.root.path), redact, time.time()).refresh_files(fork.folder)
        return fork


def resume_fork(
    project: Project, checkpoint: Checkpoint, *, on_event: EventSink, human: Prompter | None = None
) -> RunEnd:
    """Fork a new run from a checkpoint, on its own branch, and run it. The old run is not changed."""
    project.bmad.require_supported()
    project = with_base_settings(project, on_event)
    lane = read_lane(checkpoint.folder)
    if lane is None:
        raise _not_understood(checkpoint.run)
    with supervise(project, lane, f"resume --checkpoint {checkpoint.id}") as supervision:
        fork = fork_run(project, checkpoint)
        supervision.set_run(fork.run_id)
        clear_request(fork.folder)
        on_event("forked", {**fork.event_data, "steps": lane.stories * len(lane.workflow.steps)}, time.time())
        return resume_lane(project, fork.folder, on_event, human, NO_CAPS)

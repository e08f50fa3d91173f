"""Restarts a story: saves its work under a ref, reverts what its calls changed, resets its row.

Each part checks whether it is already done, and the journal entry comes last: an interrupted restart is finished
by running it again."""

import os
from typing import NamedTuple

from ..agents.attempt import AttemptState, attempt_state
from ..board.sprint_status import Board, Row, find_row, read_board
from ..board.sprint_status_writer import set_status
from ..core.errors import ConflictError, command
from ..core.journal_fold import fold
from ..core.run_record import Data, StoryRecord
from ..core.statuses import BACKLOG, DONE, IN_PROGRESS, READY, RowKind
from ..git.commits import commit_paths
from ..git.git import Git
from ..git.history import AUTOPILOT_IDENTITY, commits_touching
from ..git.refs import SAVED, restore_paths, save_work_tree
from ..git.trees import diff_trees
from ..git.worktree_state import read_worktree_state
from ..project.project import Project
from ..runs.journal import Journal, JournalEntry
from ..runs.layout import attempt_folder, find_runs, runs_folder
from ..runs.questions import withdraw_questions
from ..runs.supervisor_lock import hold_supervisor_lock
from .collect import paths_changed_by
from .run_setup import load_lane
from .story_paths import find_story_paths
from .world.worktree import RUN_TRAILER


class RestartReport(NamedTuple):
    saved_ref: str  # empty: there was nothing to save
    files: tuple[str, ...]
    row_before: str
    row_after: str
    epic: str = ""  # the key of the epic, if it was done and is open again


class _LastRun(NamedTuple):
    """The last run that worked on the story."""

    at: float  # time of its last entry about the story
    folder: str
    head: Data  # the run's first entry
    story: StoryRecord | None  # None: already restarted, and not started since
    row: str  # the row's status before the story


def restart_story(project: Project, key: str) -> RestartReport:
    with hold_supervisor_lock(project.state_folder, f"restart {key}"):
        board = read_board(project.require_board())
        row = find_row(board, key)
        known = _newest_run(project, row.key)
        saved, files = _put_back(project, known, known.story) if known and known.story else ("", ())
        has_file = find_story_paths(project, board, row, row.key).story is not None
        after = (known.row if known else "") or (READY if has_file else BACKLOG)
        epic = _set_rows(project, board, row, after)
        if known:
            _commit(project, known, row.key, files)
            _record(known, row.key, after)
        return RestartReport(saved, files, row.status.raw, after, epic)


def _newest_run(project: Project, key: str) -> _LastRun | None:
    runs = runs_folder(project.root.path)
    found = [_read_last_run(os.path.join(runs, session, name), key) for session, name in find_runs(runs)]
    return max(filter(None, found), key=lambda one: one.at, default=None)


def _read_last_run(folder: str, key: str) -> _LastRun | None:
    """Read from the journal: a run that began earlier may have worked on the story last."""
    journal = Journal(folder, lambda value: value)
    entries = journal.entries()
    journal.close()
    about = [entry for entry in entries if entry.data.get("story") == key]
    run = fold((entry.kind, entry.data, entry.at) for entry in entries)
    if not about or "workflow" not in run.start_entry:
        return None
    story = run.stories.get(key)
    row = story.initial_status if story else _restarted_row(about)
    return _LastRun(max(entry.at for entry in about), folder, run.start_entry, story, row)


def _restarted_row(about: list[JournalEntry]) -> str:
    restarts = (entry for entry in reversed(about) if entry.kind == "restarted")
    return next((str(entry.data.get("row", "")) for entry in restarts), "")


def _put_back(project: Project, known: _LastRun, story: StoryRecord) -> tuple[str, tuple[str, ...]]:
    calls = [(step, call) for step in story.steps for call in step.calls]
    folders = [attempt_folder(known.folder, step.number, step.step, call.attempt) for step, call in calls]
    running = next((folder for folder in folders if attempt_state(folder) is AttemptState.RUNNING), None)
    run = os.path.basename(known.folder)
    if running is not None:
        raise ConflictError("an agent is at work on it", found=running, hint=command("agent", "cancel", run))
    git = Git(project.root.checkout)
    if story.tree is None or not calls:
        return "", ()
    # Named after the story's last step, which is unique per restart: an interrupted restart finds its ref again.
    ref = f"{SAVED}restart-{story.key}-{run}-{calls[-1][0].number}"
    saved = _commit_at(git, ref) or _save(git, ref, story.key)
    touched = paths_changed_by(git, folders, lambda: (story.tree, saved))
    differing = {path for change in diff_trees(git, story.tree, saved) for path in (change.path, change.old_path)}
    own = os.path.relpath(os.path.realpath(project.require_board()), git.top)
    paths = sorted((touched & differing) - {own} - set(load_lane(known.folder, known.head).dirty))
    _refuse_later_work(git, story, paths)
    try:
        restore_paths(git, story.tree, paths, saved_ref=ref)
    except ConflictError:  # overwritten since the interruption: save that too
        _save(git, ref, story.key)
        restore_paths(git, story.tree, paths, saved_ref=ref)
    return ref, tuple(paths)


def _commit_at(git: Git, ref: str) -> str:
    return git.ask("rev-parse", "--verify", "--quiet", ref, codes=(0, 1)).text


def _save(git: Git, ref: str, key: str) -> str:
    return save_work_tree(git, ref, f"Work on {key} before it was begun anew")


def _refuse_later_work(git: Git, story: StoryRecord, paths: list[str]) -> None:
    """Refuse if later commits changed the same files: a restart would revert them too."""
    done = story.commits.get("done")
    if done is None or not paths:
        return
    found = commits_touching(git, f"{done}..HEAD", paths)
    later = [one for one in found if (one.committer, one.subject) != (AUTOPILOT_IDENTITY, _subject(story.key))]
    if later:
        shown = ", ".join(f"{commit.sha[:8]} {commit.subject}" for commit in later[:3])
        back = command("board", "set", story.key, "backlog", "--force")
        raise ConflictError(
            f"later commits changed files of {story.key} too",
            found=shown + (f" and {len(later) - 3} more" if len(later) > 3 else ""),
            hint=f"take it back by hand: git revert {done[:8]}, then {back}",
        )


def _set_rows(project: Project, board: Board, row: Row, after: str) -> str:
    """Set the story's row, and reopen its epic if that was done. Return the epic's key then."""
    path = project.require_board()
    state, inside = project.state_folder, project.work_tree
    if row.meaning != after:
        set_status(path, row.key, after, state=state, allowed_root=inside, expect=row.status.raw, regress=True)
    epics = (one for one in board.rows.values() if one.kind is RowKind.EPIC and one.number == row.epic)
    epic = next((one for one in epics if one.meaning == DONE), None)
    if epic is None or after == DONE:
        return ""
    expect = epic.status.raw
    set_status(path, epic.key, IN_PROGRESS, state=state, allowed_root=inside, expect=expect, regress=True)
    return epic.key


def _subject(key: str) -> str:
    return f"Begin story {key} anew"


def _commit(project: Project, known: _LastRun, key: str, files: tuple[str, ...]) -> None:
    """Commit the reverted files and the row, so that the tree stays clean."""
    git = Git(project.root.checkout)
    worktree_state = read_worktree_state(git)
    board = os.path.relpath(os.path.realpath(project.require_board()), git.top)
    paths = [path for path in (*files, board) if path in {*worktree_state.dirty, *worktree_state.untracked}]
    if paths and worktree_state.identity is not None:
        trailers = {RUN_TRAILER: os.path.basename(known.folder)}
        commit_paths(git, paths, _subject(key), trailers, identity=worktree_state.identity)


def _record(known: _LastRun, key: str, row: str) -> None:
    """Journal first: from then on earlier questions are void, answered or not."""
    if known.story is not None:
        journal = Journal(known.folder, lambda value: value)
        try:
            journal.append("restarted", story=key, row=row)
        finally:
            journal.close()
    withdraw_questions(known.folder, key)

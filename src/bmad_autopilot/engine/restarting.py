"""Beginning a story anew: its work saved under a ref, what its calls changed put back, its row where it was."""

import os
import time
from typing import NamedTuple

from ..agents.attempts import State, state_of
from ..board.sprint import find_row, read_board
from ..board.store import set_status
from ..core.commands import command
from ..core.errors import ConflictError
from ..core.records import RunRecord, StoryRecord, fold
from ..core.statuses import BACKLOG, READY
from ..github.commits import commit
from ..github.git import Git
from ..github.ground import look_at_ground
from ..github.history import commits_touching
from ..github.putting_back import put_back
from ..github.saving import save_all
from ..github.trees import changes
from ..project.open import Project
from ..runs.journal import Journal
from ..runs.layout import attempt_folder, begun, find_runs, runs_folder
from ..runs.supervisor import hold
from .books import books_of
from .lane import Lane, lane_from_json
from .touching import touched_paths
from .world.repository import RUN_TRAILER

SAVED = "refs/autopilot/saved/"


class RestartReport(NamedTuple):
    saved_ref: str  # empty: there was nothing to save
    files: tuple[str, ...]
    row_before: str
    row_after: str


class _Known(NamedTuple):
    """The newest run that has worked on the story."""

    folder: str
    run: RunRecord
    lane: Lane
    story: StoryRecord


def restart_story(project: Project, key: str) -> RestartReport:
    with hold(project.state_folder, f"restart {key}"):
        board = read_board(project.require_board())
        row = find_row(board, key)
        known = _newest(project, row.key)
        saved, files = _put_back(project, known) if known else ("", ())
        has_file = books_of(project, board, row, row.key).story is not None
        after = (known.story.began_as if known else "") or (READY if has_file else BACKLOG)
        if row.meaning != after:
            path, state = project.require_board(), project.state_folder
            set_status(path, row.key, after, state=state, expect=row.status.raw, regress=True)
        if known:
            _commit(project, known, files)
            _record(known)
        return RestartReport(saved, files, row.status.raw, after)


def _newest(project: Project, key: str) -> _Known | None:
    runs = runs_folder(project.root.path)
    for session, name in sorted(find_runs(runs), key=lambda run: begun(run[1]), reverse=True):
        folder = os.path.join(runs, session, name)
        journal = Journal(folder, lambda value: value)
        entries = journal.entries()
        journal.close()
        run = fold((entry.kind, entry.data, entry.at) for entry in entries)
        if key in run.stories and "workflow" in run.head:
            return _Known(folder, run, lane_from_json(run.head), run.stories[key])
    return None


def _put_back(project: Project, known: _Known) -> tuple[str, tuple[str, ...]]:
    story = known.story
    calls = [(step, call) for step in story.steps for call in step.calls]
    folders = [attempt_folder(known.folder, step.number, step.step, call.attempt) for step, call in calls]
    running = next((folder for folder in folders if state_of(folder) is State.RUNNING), None)
    if running is not None:
        name = os.path.basename(known.folder)
        raise ConflictError("an agent is at work on it", found=running, hint=command("agent", "cancel", name))
    git = Git(project.root.checkout)
    if story.tree is None or not calls:
        return "", ()
    ref = f"{SAVED}restart-{story.key}-{time.strftime('%Y%m%d-%H%M%S')}"
    saved = save_all(git, ref, f"Work on {story.key} before it was begun anew")
    touched = touched_paths(git, folders, lambda: (story.tree, saved))
    differing = {path for change in changes(git, story.tree, saved) for path in (change.path, change.old_path)}
    own = os.path.relpath(os.path.realpath(project.require_board()), git.top)
    paths = sorted((touched & differing) - {own} - set(known.lane.dirty))
    _refuse_later_work(git, story, paths)
    return ref, tuple(put_back(git, story.tree, paths, saved=ref))


def _refuse_later_work(git: Git, story: StoryRecord, paths: list[str]) -> None:
    """What others have committed to the same files since it was done would go with it."""
    done = story.commits.get("done")
    if done is None or not paths:
        return
    later = commits_touching(git, f"{done}..HEAD", paths)
    if later:
        shown = ", ".join(f"{commit.sha[:8]} {commit.subject}" for commit in later[:3])
        back = command("board", "set", story.key, "backlog", "--force")
        raise ConflictError(
            f"later commits changed files of {story.key} too",
            found=shown + (f" and {len(later) - 3} more" if len(later) > 3 else ""),
            hint=f"take it back by hand: git revert {done[:8]}, then {back}",
        )


def _commit(project: Project, known: _Known, files: tuple[str, ...]) -> None:
    """What was committed of it before is taken back by a commit, and the row with it: the tree stays clean."""
    git = Git(project.root.checkout)
    ground = look_at_ground(git)
    board = os.path.relpath(os.path.realpath(project.require_board()), git.top)
    paths = [path for path in (*files, board) if path in {*ground.dirty, *ground.untracked}]
    if paths and ground.identity is not None:
        message = f"Begin story {known.story.key} anew"
        trailers = {RUN_TRAILER: os.path.basename(known.folder)}
        commit(git, paths, message, trailers, identity=ground.identity)


def _record(known: _Known) -> None:
    journal = Journal(known.folder, lambda value: value)
    try:
        journal.append("restarted", story=known.story.key)
    finally:
        journal.close()

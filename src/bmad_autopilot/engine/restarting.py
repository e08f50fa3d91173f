"""Beginning a story anew: its work saved under a ref, what its calls changed put back, its row where it was.

Each part looks whether it is done already and the record comes last: cut short anywhere, it is finished by running
it again."""

import os
from typing import NamedTuple

from ..agents.attempts import State, state_of
from ..board.sprint import Board, Row, find_row, read_board
from ..board.store import set_status
from ..core.commands import command
from ..core.errors import ConflictError
from ..core.folding import fold
from ..core.records import Data, StoryRecord
from ..core.statuses import BACKLOG, DONE, IN_PROGRESS, READY, Kind
from ..github.commits import commit
from ..github.git import Git
from ..github.ground import look_at_ground
from ..github.history import commits_touching
from ..github.identities import OURS
from ..github.putting_back import put_back
from ..github.saving import SAVED, save_all
from ..github.trees import changes
from ..project.open import Project
from ..runs.journal import Journal
from ..runs.journal_lines import Entry
from ..runs.layout import attempt_folder, find_runs, runs_folder
from ..runs.questions import withdraw
from ..runs.supervisor import hold
from .books import books_of
from .left_out import frozen_lane
from .touching import touched_paths
from .world.repository import RUN_TRAILER


class RestartReport(NamedTuple):
    saved_ref: str  # empty: there was nothing to save
    files: tuple[str, ...]
    row_before: str
    row_after: str
    epic: str = ""  # its key, where it was done and is open again


class _Known(NamedTuple):
    """The run that was the last to work on the story."""

    at: float  # when that was
    folder: str
    head: Data  # what that run was asked for
    story: StoryRecord | None  # None: it was begun anew already, and not taken up since
    row: str  # what its row said before


def restart_story(project: Project, key: str) -> RestartReport:
    with hold(project.state_folder, f"restart {key}"):
        board = read_board(project.require_board())
        row = find_row(board, key)
        known = _newest(project, row.key)
        saved, files = _put_back(project, known, known.story) if known and known.story else ("", ())
        has_file = books_of(project, board, row, row.key).story is not None
        after = (known.row if known else "") or (READY if has_file else BACKLOG)
        epic = _set_rows(project, board, row, after)
        if known:
            _commit(project, known, row.key, files)
            _record(known, row.key, after)
        return RestartReport(saved, files, row.status.raw, after, epic)


def _newest(project: Project, key: str) -> _Known | None:
    runs = runs_folder(project.root.path)
    found = [_known(os.path.join(runs, session, name), key) for session, name in find_runs(runs)]
    return max(filter(None, found), key=lambda one: one.at, default=None)


def _known(folder: str, key: str) -> _Known | None:
    """By the journal: a run that began earlier may have been the last to go on with it."""
    journal = Journal(folder, lambda value: value)
    entries = journal.entries()
    journal.close()
    about = [entry for entry in entries if entry.data.get("story") == key]
    run = fold((entry.kind, entry.data, entry.at) for entry in entries)
    if not about or "workflow" not in run.head:
        return None
    story = run.stories.get(key)
    row = story.began_as if story else _row_then(about)
    return _Known(max(entry.at for entry in about), folder, run.head, story, row)


def _row_then(about: list[Entry]) -> str:
    restarts = (entry for entry in reversed(about) if entry.kind == "restarted")
    return next((str(entry.data.get("row", "")) for entry in restarts), "")


def _put_back(project: Project, known: _Known, story: StoryRecord) -> tuple[str, tuple[str, ...]]:
    calls = [(step, call) for step in story.steps for call in step.calls]
    folders = [attempt_folder(known.folder, step.number, step.step, call.attempt) for step, call in calls]
    running = next((folder for folder in folders if state_of(folder) is State.RUNNING), None)
    run = os.path.basename(known.folder)
    if running is not None:
        raise ConflictError("an agent is at work on it", found=running, hint=command("agent", "cancel", run))
    git = Git(project.root.checkout)
    if story.tree is None or not calls:
        return "", ()
    # Named by its last step, which no other life of the story has: one that was cut short is found again.
    ref = f"{SAVED}restart-{story.key}-{run}-{calls[-1][0].number}"
    saved = _held(git, ref) or _save(git, ref, story.key)
    touched = touched_paths(git, folders, lambda: (story.tree, saved))
    differing = {path for change in changes(git, story.tree, saved) for path in (change.path, change.old_path)}
    own = os.path.relpath(os.path.realpath(project.require_board()), git.top)
    paths = sorted((touched & differing) - {own} - set(frozen_lane(known.folder, known.head).dirty))
    _refuse_later_work(git, story, paths)
    try:
        put_back(git, story.tree, paths, saved=ref)
    except ConflictError:  # written over since it was cut short: that is saved too, beside what was
        _save(git, ref, story.key)
        put_back(git, story.tree, paths, saved=ref)
    return ref, tuple(paths)


def _held(git: Git, ref: str) -> str:
    return git.ask("rev-parse", "--verify", "--quiet", ref, codes=(0, 1)).text


def _save(git: Git, ref: str, key: str) -> str:
    return save_all(git, ref, f"Work on {key} before it was begun anew")


def _refuse_later_work(git: Git, story: StoryRecord, paths: list[str]) -> None:
    """What others have committed to the same files since it was done would go with it."""
    done = story.commits.get("done")
    if done is None or not paths:
        return
    found = commits_touching(git, f"{done}..HEAD", paths)
    later = [one for one in found if (one.committer, one.subject) != (OURS, _subject(story.key))]
    if later:
        shown = ", ".join(f"{commit.sha[:8]} {commit.subject}" for commit in later[:3])
        back = command("board", "set", story.key, "backlog", "--force")
        raise ConflictError(
            f"later commits changed files of {story.key} too",
            found=shown + (f" and {len(later) - 3} more" if len(later) > 3 else ""),
            hint=f"take it back by hand: git revert {done[:8]}, then {back}",
        )


def _set_rows(project: Project, board: Board, row: Row, after: str) -> str:
    """The story's; and its epic's, which is not done any more. That one's key."""
    path = project.require_board()
    state, inside = project.state_folder, project.inside
    if row.meaning != after:
        set_status(path, row.key, after, state=state, inside=inside, expect=row.status.raw, regress=True)
    epics = (one for one in board.rows.values() if one.kind is Kind.EPIC and one.number == row.epic)
    epic = next((one for one in epics if one.meaning == DONE), None)
    if epic is None or after == DONE:
        return ""
    expect = epic.status.raw
    set_status(path, epic.key, IN_PROGRESS, state=state, inside=inside, expect=expect, regress=True)
    return epic.key


def _subject(key: str) -> str:
    return f"Begin story {key} anew"


def _commit(project: Project, known: _Known, key: str, files: tuple[str, ...]) -> None:
    """What was committed of it before is taken back by a commit, and the row with it: the tree stays clean."""
    git = Git(project.root.checkout)
    ground = look_at_ground(git)
    board = os.path.relpath(os.path.realpath(project.require_board()), git.top)
    paths = [path for path in (*files, board) if path in {*ground.dirty, *ground.untracked}]
    if paths and ground.identity is not None:
        trailers = {RUN_TRAILER: os.path.basename(known.folder)}
        commit(git, paths, _subject(key), trailers, identity=ground.identity)


def _record(known: _Known, key: str, row: str) -> None:
    """In the journal first: from then on no question of before counts, answered or not."""
    if known.story is not None:
        journal = Journal(known.folder, lambda value: value)
        try:
            journal.append("restarted", story=key, row=row)
        finally:
            journal.close()
    withdraw(known.folder, key)

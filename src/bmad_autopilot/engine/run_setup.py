"""Sets up a new run: finds its row, checks the work tree, builds its lane, and adopts another tool's run."""

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ..board.overview import duplicate_numbers
from ..board.sprint_status import Row, find_row, read_board
from ..core.errors import AutopilotError, ConflictError, FileError, Location, command
from ..core.lane_scope import LaneScope
from ..core.statuses import DONE, PARKED, UNKNOWN, RowKind
from ..git.commits import hidden_paths, ignored_paths
from ..git.git import Git
from ..git.worktree_state import WorktreeState, precondition_error, read_worktree_state
from ..io.files import copy_file, read_bytes, write_atomic
from ..io.json_files import to_iso
from ..project.bmad_install import Era
from ..project.project import Project
from ..runs.agent_state import AgentState, read_agent_state
from ..runs.index import unfinished_runs
from ..runs.layout import runs_folder
from ..runs.legacy_state import COMMANDS, ForeignRun, find_foreign_run
from ..workflows.agent_call import AnsweredQuestion, PausedAttempt
from ..workflows.selection import workflow_for_project
from .lane import Lane, lane_from_json
from .observation import statuses_of, stories_of
from .policy import check_commands
from .ports import UnansweredQuestion


class Caps(NamedTuple):
    """Cost and time limits of the command line; None: as in the settings."""

    cost: float | None = None
    hours: float | None = None


NO_CAPS = Caps()


def find_target_row(project: Project, scope: LaneScope, key: str) -> Row:
    """The row that `key` names; raises a helpful error if it cannot be worked on."""
    kind = RowKind.EPIC if scope is LaneScope.EPIC else RowKind.STORY
    board = read_board(project.require_board())
    row = find_row(board, key, kind)
    stories = [
        one for one in board.of_kind(RowKind.STORY) if row.key == one.key or row.number in (one.epic, one.number)
    ]
    for number, twins in duplicate_numbers(stories):
        raise AutopilotError(
            f"two stories are called {number}",
            location=Location(board.path, twins[-1].line),
            found=", ".join(twin.key for twin in twins),
            expected="a number of its own for each: their files could not be told apart",
        )
    if row.meaning in (PARKED, UNKNOWN):
        why = f": {row.reason}" if row.reason else ""
        raise AutopilotError(
            f"{row.key} is {row.status.raw}{why}",
            expected="a status that can be worked on",
            hint=command("board", "set", row.key, "ready-for-dev") if kind is RowKind.STORY else "bmad status",
        )
    return row


def new_lane(
    project: Project, scope: LaneScope, row: Row, caps: Caps, retrospective: str | None, allow_dirty: bool
) -> Lane:
    config = project.config
    git = Git(project.root.checkout)
    worktree_state = _require_usable_worktree(git, project, allow_dirty)
    lane = Lane(
        scope,
        row.key,
        row.number if row.kind is RowKind.EPIC else row.epic,
        workflow_for_project(project, only_build=project.bmad.era is Era.BUILD),
        branch=worktree_state.branch or "",
        max_rounds=config.max_review_rounds,
        max_fixes=config.max_check_fixes,
        max_cost=config.max_cost if caps.cost is None else caps.cost,
        max_hours=config.max_hours if caps.hours is None else caps.hours,
        retrospective="skip" if project.tasks_folder else retrospective or config.retrospective,
        checks=check_commands(project),
        unprotected=config.unprotected,
        human_checkpoint=config.human_checkpoint,
        dirty=users_files(git, worktree_state),
        of_tasks=bool(project.tasks_folder),
    )
    rows = read_board(project.require_board()).rows
    left = sum(one.meaning not in (DONE, PARKED, UNKNOWN) for one in stories_of(lane, rows))
    return lane._replace(stories=left, rows=statuses_of(lane, rows))


def users_files(git: Git, worktree_state: WorktreeState) -> tuple[str, ...]:
    """Paths changed, untracked or ignored before a run, also if an index flag hides them from `git status`.
    Ignored files count because an agent may change the ignore rules or add them by force (`.env`)."""
    found = (*worktree_state.dirty, *worktree_state.untracked, *hidden_paths(git), *ignored_paths(git))
    return tuple(dict.fromkeys(found))


def _require_usable_worktree(git: Git, project: Project, allow_dirty: bool) -> WorktreeState:
    worktree_state = read_worktree_state(git)
    problem = precondition_error(worktree_state)
    if problem is not None:
        raise problem
    if worktree_state.dirty and not allow_dirty:
        found = unfinished_runs(runs_folder(project.root.path))
        raise DirtyTree(worktree_state.dirty, found[0].id if found else "")
    return worktree_state


class DirtyTree(AutopilotError):
    """Tracked files are changed. We never commit those changes, and an agent may overwrite them."""

    def __init__(self, paths: tuple[str, ...], run: str = "") -> None:
        shown = ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")
        resume = f"go on with the run they may belong to: bmad resume {run}; or " if run else ""
        super().__init__(
            "tracked files have changes that are not committed",
            found=shown,
            hint=f"{resume}commit or stash them, or leave them out of everything with --allow-dirty",
        )
        self.paths = paths


# Adopting another tool's run: the epic comes from the board; questions and answers of its current story are kept.

ADOPTED_FILE = "adopted.json"  # in the run's folder: a copy of the other tool's state file


def find_adoptable_run(project: Project, *, adopt: bool) -> ForeignRun | None:
    """Another tool's unfinished run, if `adopt`. Without `adopt`, one that says it is running is refused: its
    state file exists to prevent two at the same time."""
    left = find_foreign_run(project.root.path, project.folders.implementation)
    if left is not None and left.tool == COMMANDS and left.status == "running" and not adopt:
        raise ForeignRunActive(left)
    return left if adopt else None


class ForeignRunActive(ConflictError):
    """Another tool's run says that it is running; whether it is cannot be known."""

    def __init__(self, left: ForeignRun) -> None:
        since = f"since {to_iso(left.since)}" if left.since else ""
        super().__init__(
            f"{left.tool} says that it is at work on {left.epic}",
            location=Location(left.path),
            found=", ".join(filter(None, ("status running", left.story and f"at {left.story}", since))),
            hint="bmad resume --adopt goes on with it; bmad stop sets it to paused",
        )
        self.left = left


def adopt_lane(lane: Lane, left: ForeignRun, folder: str) -> Lane:
    """Open questions of the story's agent-state file are asked first; answers go into the next prompt."""
    copy_file(left.path, os.path.join(folder, ADOPTED_FILE))
    return lane._replace(adopted=left.story)


def read_unanswered_question(path: str) -> UnansweredQuestion | None:
    """The first unanswered question in an agent-state file."""
    state = _state(path)
    asked = next(iter(state.open_questions), None) if state else None
    if asked is None or state is None:
        return None
    return UnansweredQuestion(asked.id, asked.question, asked.context, asked.options, state.block_reason)


def read_previous_progress(path: str) -> PausedAttempt | None:
    """What our first call needs to know of the call that asked."""
    state = _state(path)
    if state is None or not (state.questions or state.blocked_at or state.last_completed_step):
        return None
    answers = (AnsweredQuestion(one.question, one.answer, one.context) for one in state.questions if one.answer)
    return PausedAttempt(state.blocked_at, state.last_completed_step, state.artifacts_produced, tuple(answers))


def _state(path: str) -> AgentState | None:
    try:
        return read_agent_state(path)
    except FileError:
        return None


# Paths changed or untracked before the run, which are left out of its commits. Kept in a file of the run, because
# the journal clips long values, and a path lost there would be committed after a resume.

LEFT_OUT_FILE = "left-out"
MAX_BYTES = 256 * 1024 * 1024  # git lists no more of them


def save_left_out(run: str, paths: Iterable[str]) -> None:
    write_atomic(
        os.path.join(run, LEFT_OUT_FILE),
        b"".join(path.encode("utf-8", "surrogateescape") + b"\0" for path in paths),
    )


def leave_out_own_output(run: str, lane: Lane, top: str) -> Lane:
    """Also leave out the files in this work tree to which our own output is redirected. They change with every
    line, so no tree would stay the one that was checked."""
    added = tuple(path for path in own_output_files(top) if path not in lane.dirty)
    if added:
        lane = lane._replace(dirty=(*lane.dirty, *added))
        save_left_out(run, lane.dirty)
    return lane


def own_output_files(top: str) -> tuple[str, ...]:
    """Files that stdout or stderr write to, as paths from the top of the work tree."""
    inside = os.path.realpath(top) + os.sep
    found = []
    for number in (1, 2):
        with suppress(OSError):  # closed, or a system without /proc
            if stat.S_ISREG(os.fstat(number).st_mode):
                found.append(os.readlink(f"/proc/self/fd/{number}"))
    return tuple(dict.fromkeys(path[len(inside) :] for path in found if path.startswith(inside)))


def load_lane(run: str, head: Mapping[str, Any]) -> Lane:
    """The lane of a run's first entry, with its `dirty` paths. If some of these are missing the run cannot resume:
    they would be committed."""
    lane, count = lane_from_json(head), head.get("dirty")
    path = os.path.join(run, LEFT_OUT_FILE)
    raw = read_bytes(path, limit=MAX_BYTES) if count or os.path.exists(path) else b""
    dirty = tuple(name.decode("utf-8", "surrogateescape") for name in raw.split(b"\0")[:-1])
    if not isinstance(count, int) or len(dirty) < count:  # more: our own output was added later
        raise FileError(
            "does not name what was changed before the run began",
            location=Location(path),
            found=f"{len(dirty)} paths",
            expected=f"{count} paths",
            hint=f"commit or stash what is yours, then remove the run: rm -r {run}",
        )
    return lane._replace(dirty=dirty)

"""Finds epics in progress in worktrees or on other branches, and reads their rows from their own boards, because
the board in this checkout is behind."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Annotated, NamedTuple

from ..board.overview import EpicView, epic_views
from ..board.sprint_status import Board, Row, board_from_text, read_board
from ..core.errors import AutopilotError, FileError
from ..core.statuses import RowKind
from ..git.worktrees.marker import LaneWorktree, checked_out_branch, list_lane_worktrees
from ..io.files import TextFile
from ..io.json_files import as_text
from ..project.project import Project
from ..runs.journal import lane_entry
from .context import EpicLane, ProjectFacts

MAX_LANES = 100  # lanes read; no more pull requests may be pending
MOST_SHOWN = 5


def with_lanes(facts: ProjectFacts, runs: Iterable[str]) -> ProjectFacts:
    """`runs`: folders of unfinished runs, newest first."""
    lanes = _lanes(facts.project, runs)
    if not lanes:
        return facts
    views = {
        number: view for number, lane in lanes.items() if (view := _epic_view(number, lane.board)) is not None
    }
    epics = [views.get(epic.number or "", epic) for epic in facts.epics]
    here = {epic.number for epic in epics}
    return facts._replace(epics=epics, lanes={number: lanes[number] for number in views if number in here})


def _lanes(project: Project, runs: Iterable[str]) -> dict[str, EpicLane]:
    """Epic number → lane."""
    here = checked_out_branch(project.root.checkout)
    found: dict[str, EpicLane] = {}
    for run in runs:
        entry = lane_entry(run)
        known = entry.data if entry is not None else {}
        plan, key = known.get("delivery"), as_text(known.get("key"))
        number, branch = as_text(known.get("epic")), as_text(known.get("branch"))
        if not isinstance(plan, dict) or not number or not branch or number in found or len(found) == MAX_LANES:
            continue
        found[number] = EpicLane(key, branch, as_text(plan.get("base")))
    elsewhere = {number: lane for number, lane in found.items() if lane.branch != here}
    return _with_boards(project, elsewhere) if elsewhere else {}


def _with_boards(project: Project, lanes: dict[str, EpicLane]) -> dict[str, EpicLane]:
    """The lanes whose own board can be read."""
    base, own = project.folders.base, project.require_board()
    part = os.path.relpath(own, base)
    if part.startswith(".."):
        return {}
    worktrees = {(one.epic, one.branch): one for one in list_lane_worktrees(project.root)}
    found: dict[str, EpicLane] = {}
    branches: dict[str, str] = {}
    for number, lane in lanes.items():
        worktree = worktrees.get((lane.key, lane.branch))
        if worktree is None:
            branches[lane.branch] = number
        elif (board := _board_in(worktree, part)) is not None:
            found[number] = lane._replace(folder=worktree.folder, board=board)
    for branch, board in _boards_on(project, own, branches):
        found[branches[branch]] = lanes[branches[branch]]._replace(board=board)
    return found


def _board_in(worktree: LaneWorktree, part: str) -> Board | None:
    """None if git ignores the board: then the only copy is the one in this checkout."""
    with suppress(FileError):
        return read_board(os.path.join(worktree.folder, part))
    return None


def _boards_on(project: Project, own: str, branches: Iterable[str]) -> Iterator[tuple[str, Board]]:
    """Boards of branches without a worktree: the only case that needs git."""
    names = {f"refs/heads/{branch}": branch for branch in branches}
    if not names:
        return
    from ..git.git import Git
    from ..git.trees import read_versions

    git = Git(project.root.checkout)
    try:
        versions = read_versions(git, os.path.relpath(os.path.realpath(own), git.top), names)
    except AutopilotError:  # without git, the local board is shown
        return
    for name, raw in versions.items():
        with suppress(FileError):
            yield names[name], board_from_text(TextFile(own, raw))


def _epic_view(number: str, board: Board | None) -> EpicView | None:
    """None: the board does not have the epic."""
    if board is None:
        return None

    def is_own(row: Row) -> bool:
        return number == (row.number if row.kind is RowKind.EPIC else row.epic)

    own = {key: row for key, row in board.rows.items() if is_own(row)}
    return next((view for view in epic_views(board._replace(rows=own)) if view.number == number), None)


def describe_lanes(facts: ProjectFacts) -> Iterator[str]:
    lanes = list(facts.lanes.values())
    for lane in lanes[:MOST_SHOWN]:
        where = f" ({os.path.relpath(lane.folder, facts.project.root.checkout)})" if lane.folder else ""
        yield f"{lane.key} is shown as on {lane.branch}{where}, not on {lane.base} yet"
    if len(lanes) > MOST_SHOWN:
        yield f"{len(lanes) - MOST_SHOWN} more epics are shown as on their branches"


class LaneRow(NamedTuple):
    epic: str
    branch: str
    base: Annotated[str, "the branch that it is not on yet"]
    folder: Annotated[str | None, "its worktree; null: its branch is checked out nowhere"]


def lane_rows(facts: ProjectFacts) -> list[LaneRow]:
    return [LaneRow(lane.key, lane.branch, lane.base, lane.folder or None) for lane in facts.lanes.values()]

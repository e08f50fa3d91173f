"""Epics that are under way elsewhere, in a worktree or on a branch that is not checked out here: their rows are
shown as their own boards have them, because the one here does not know yet."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from ..board.overview import EpicView, overview
from ..board.sprint import Board, Row, board_from_text, read_board
from ..core.errors import AutopilotError, FileError
from ..core.statuses import Kind
from ..files import Text
from ..github.worktrees.standing import Standing, branch_here, standing_worktrees
from ..project.open import Project
from ..runs.journal import lane_entry
from ..runs.json_files import text_of
from .facts import Facts, Lane

MOST = 100  # lanes that are looked at: no more pull requests than that may wait
MOST_SHOWN = 5


def with_lanes(facts: Facts, runs: Iterable[str]) -> Facts:
    """`runs`: the folders of those that are not over, the newest first."""
    lanes = _lanes(facts.project, runs)
    if not lanes:
        return facts
    views = {number: view for number, lane in lanes.items() if (view := _view(number, lane.board)) is not None}
    epics = [views.get(epic.number or "", epic) for epic in facts.epics]
    here = {epic.number for epic in epics}
    return facts._replace(epics=epics, lanes={number: lanes[number] for number in views if number in here})


def _lanes(project: Project, runs: Iterable[str]) -> dict[str, Lane]:
    """By the epic's number."""
    here = branch_here(project.root.checkout)
    found: dict[str, Lane] = {}
    for run in runs:
        entry = lane_entry(run)
        known = entry.data if entry is not None else {}
        plan, key = known.get("delivery"), text_of(known.get("key"))
        number, branch = text_of(known.get("epic")), text_of(known.get("branch"))
        if not isinstance(plan, dict) or not number or not branch or number in found or len(found) == MOST:
            continue
        found[number] = Lane(key, branch, text_of(plan.get("base")))
    elsewhere = {number: lane for number, lane in found.items() if lane.branch != here}
    return _with_boards(project, elsewhere) if elsewhere else {}


def _with_boards(project: Project, lanes: dict[str, Lane]) -> dict[str, Lane]:
    """Those whose own board can be read."""
    base, own = project.folders.base, project.require_board()
    part = os.path.relpath(own, base)
    if part.startswith(".."):
        return {}
    standing = {(one.epic, one.branch): one for one in standing_worktrees(project.root)}
    found: dict[str, Lane] = {}
    branches: dict[str, str] = {}
    for number, lane in lanes.items():
        there = standing.get((lane.key, lane.branch))
        if there is None:
            branches[lane.branch] = number
        elif (board := _board_in(there, part)) is not None:
            found[number] = lane._replace(folder=there.folder, board=board)
    for branch, board in _boards_on(project, own, branches):
        found[branches[branch]] = lanes[branches[branch]]._replace(board=board)
    return found


def _board_in(there: Standing, part: str) -> Board | None:
    """None where git ignores it: then there is only one, and it is read already."""
    with suppress(FileError):
        return read_board(os.path.join(there.folder, part))
    return None


def _boards_on(project: Project, own: str, branches: Iterable[str]) -> Iterator[tuple[str, Board]]:
    """Of branches that are checked out nowhere: only here git has to be asked."""
    names = {f"refs/heads/{branch}": branch for branch in branches}
    if not names:
        return
    from ..github.git import Git
    from ..github.trees import read_versions

    git = Git(project.root.checkout)
    try:
        versions = read_versions(git, os.path.relpath(os.path.realpath(own), git.top), names)
    except AutopilotError:  # no git, or none that answers: what is here is shown
        return
    for name, raw in versions.items():
        with suppress(FileError):
            yield names[name], board_from_text(Text(own, raw))


def _view(number: str, board: Board | None) -> EpicView | None:
    """None: its board has no such epic."""
    if board is None:
        return None

    def is_own(row: Row) -> bool:
        return number == (row.number if row.kind is Kind.EPIC else row.epic)

    own = {key: row for key, row in board.rows.items() if is_own(row)}
    return next((view for view in overview(board._replace(rows=own)) if view.number == number), None)


def told(facts: Facts) -> Iterator[str]:
    lanes = list(facts.lanes.values())
    for lane in lanes[:MOST_SHOWN]:
        where = f" ({os.path.relpath(lane.folder, facts.project.root.checkout)})" if lane.folder else ""
        yield f"{lane.key} is shown as on {lane.branch}{where}, not on {lane.base} yet"
    if len(lanes) > MOST_SHOWN:
        yield f"{len(lanes) - MOST_SHOWN} more epics are shown as on their branches"


def document(facts: Facts) -> list[dict[str, object]]:
    return [
        {"epic": lane.key, "branch": lane.branch, "base": lane.base, "folder": lane.folder or None}
        for lane in facts.lanes.values()
    ]

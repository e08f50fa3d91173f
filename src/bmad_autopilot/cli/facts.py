"""What several verbs need to know, gathered once."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import click

from ..board.overview import EpicView, overview
from ..board.reconcile import Drift, find_drift, locate, locate_some
from ..board.sprint import Board, Row, find_row, inline_comments, read_board, short_key
from ..board.story_files import StoryFiles
from ..core.statuses import PARKED, UNKNOWN, Kind
from ..project.open import Project, open_project
from ..project.traces import OUTPUT_FOLDER

if TYPE_CHECKING:
    from ..board.epics import EpicsFile
    from ..views.terminal import Terminal


_ACTING = ("board set", "board repair", "run-story", "run-epic", "next", "autopilot", "resume", "restart", "init")


class Lane(NamedTuple):
    """An epic that is under way elsewhere."""

    key: str
    branch: str
    base: str  # the branch that it goes to
    folder: str = ""  # the project in its worktree; empty: its branch is checked out nowhere
    board: Board | None = None  # its own


class Facts(NamedTuple):
    project: Project
    board: Board
    epics: list[EpicView]
    lanes: Mapping[str, Lane] = {}  # by the epic's number: those epics are as their own boards have them

    @property
    def here(self) -> list[EpicView]:
        """The epics that may be worked on in this work tree."""
        return [epic for epic in self.epics if epic.number not in self.lanes] if self.lanes else self.epics

    def of(self, epic: EpicView) -> "Facts":
        """Of this epic alone."""
        lanes = {number: lane for number, lane in self.lanes.items() if number == epic.number}
        return self._replace(epics=[epic], lanes=lanes)


def the_project(ctx: click.Context) -> Project:
    return open_project(ctx.obj[0])


def gather(ctx: click.Context) -> Facts:
    return facts_of(the_project(ctx))


def gather_to_act(ctx: click.Context) -> Facts:
    """The same for a verb that starts agents, changes the board, or shows how it would."""
    project = the_project(ctx)
    project.bmad.require_supported()
    return facts_of(project)


def facts_of(project: Project) -> Facts:
    board = read_board(project.require_board())
    return Facts(project, board, overview(board))


def has_runs(facts: Facts) -> bool:
    """Whether there has ever been one."""
    return os.path.isdir(os.path.join(facts.project.root.path, OUTPUT_FOLDER, ".runs"))


def one_epic(facts: Facts, wanted: str) -> EpicView:
    number = wanted.lower().removeprefix("epic-")
    for view in facts.epics:
        if view.number is not None and view.row is None and number == view.number.replace(".", "-"):
            return view  # stories name it, but it has no row of its own
    row = find_row(facts.board, wanted, Kind.EPIC)
    return next(view for view in facts.epics if view.number == row.number)


def read_plan(facts: Facts) -> "EpicsFile":
    """What the epics files say."""
    from ..board.epics import read_all_epics
    from ..board.epics_files import find_epics_files

    folders = facts.project.folders
    others = [folders.output, os.path.dirname(facts.board.path)]
    return read_all_epics(find_epics_files(folders.planning, others))


def short_name(facts: Facts, row: Row) -> str:
    epic = next((epic for epic in facts.epics if epic.number == row.epic), None)
    return short_key(row, epic.stories if epic else [])


def all_files(facts: Facts) -> StoryFiles:
    return locate(facts.board, facts.project.folders.base, _places(facts))


def all_stories(facts: Facts) -> list[Row]:
    return [row for epic in facts.epics for row in epic.stories]


def drift_of(facts: Facts, rows: list[Row]) -> list[Drift]:
    """Disagreements about some stories: a look at the board need not open ten thousand files."""
    if not rows:
        return []
    drift = drift_in(facts, rows, locate_some(facts.board, rows, facts.project.folders.base, _places(facts)))
    # A repair is recommended only after the whole project has been searched for further files of the story.
    return drift_in(facts, rows, all_files(facts)) if any(item.further for item in drift) else drift


def drift_in(facts: Facts, rows: list[Row], files: StoryFiles) -> list[Drift]:
    drift = find_drift(facts.board, rows, files)
    # Where the board may not be changed, no repair is recommended.
    return [item._replace(further=None) for item in drift] if facts.project.bmad.tickets else drift


def drift_under_way(facts: Facts) -> list[Drift]:
    return drift_of(facts, [row for epic in facts.here if epic.is_under_way for row in epic.stories])


def _places(facts: Facts) -> list[str]:
    folders = facts.project.folders
    places = [os.path.dirname(facts.board.path), folders.implementation]
    return [*places, folders.stories] if folders.stories else places


def usable_hint(project: Project, hint: str | None) -> str | None:
    """The hint, unless it names a command that is refused in this project."""
    refused = project.bmad.tickets and hint and any(f"bmad {verb}" in hint for verb in _ACTING)
    return None if refused else hint


def reasons(facts: Facts) -> dict[str, str]:
    """Why a story is parked: its `blocked_reason`, else the comment beside it."""
    found = _reasons(facts.board, facts.here)
    for number, lane in facts.lanes.items():
        found |= _reasons(lane.board or facts.board, [epic for epic in facts.epics if epic.number == number])
    return found


def _reasons(board: Board, epics: list[EpicView]) -> dict[str, str]:
    waiting = [
        row
        for epic in epics
        if PARKED in epic.meanings or UNKNOWN in epic.meanings
        for row in epic.stories
        if row.meaning in (PARKED, UNKNOWN)
    ]
    if not waiting:
        return {}
    return inline_comments(board, waiting) | {row.key: row.reason for row in waiting if row.reason}


def terminal(ctx: click.Context) -> "Terminal":
    from ..views.terminal import Terminal

    return Terminal(ctx.obj[1])


def shown_path(project: Project, path: str) -> str:
    """A path as a person in the project's folder would write it."""
    relative = os.path.relpath(path, project.folders.base)
    return path if relative.startswith("..") else relative


def print_json(data: object) -> None:
    import json

    click.echo(json.dumps(data, ensure_ascii=False))

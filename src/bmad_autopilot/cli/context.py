"""Opens the project and collects its board, epics and lanes for the verbs."""

import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import click

from ..board.drift import Drift, find_board_files, find_drift, find_row_files
from ..board.overview import EpicView, epic_views
from ..board.sprint_status import Board, Row, find_row, inline_comments, read_board, short_key
from ..board.story_lookup import StoryFiles
from ..core.errors import FileError, Location
from ..core.messages import use_language
from ..core.statuses import PARKED, UNKNOWN, RowKind
from ..project.bmad_install import BmadInstall, Era, detect_bmad
from ..project.bmad_settings import read_settings
from ..project.config import Config, load_config
from ..project.folders import find_folders
from ..project.project import Project, add_tickets, open_project
from ..project.root import OUTPUT_FOLDER, find_root

if TYPE_CHECKING:
    from ..board.epics_file import EpicsFile
    from ..views.terminal import Terminal


_CHANGING_VERBS = (
    "board set",
    "board repair",
    "run-story",
    "run-epic",
    "next",
    "autopilot",
    "resume",
    "restart",
    "init",
)


class EpicLane(NamedTuple):
    """An epic in progress on another branch or in a worktree."""

    key: str
    branch: str
    base: str  # the branch it is merged into
    folder: str = ""  # its worktree's project folder; empty: the branch is not checked out
    board: Board | None = None  # the board on that branch


class ProjectFacts(NamedTuple):
    project: Project
    board: Board
    epics: list[EpicView]
    lanes: Mapping[str, EpicLane] = {}  # by epic number; these epics are shown from their own boards

    @property
    def local_epics(self) -> list[EpicView]:
        """The epics that can be worked on in this work tree."""
        return [epic for epic in self.epics if epic.number not in self.lanes] if self.lanes else self.epics

    def for_epic(self, epic: EpicView) -> "ProjectFacts":
        """The facts restricted to one epic."""
        lanes = {number: lane for number, lane in self.lanes.items() if number == epic.number}
        return self._replace(epics=[epic], lanes=lanes)


def current_project(ctx: click.Context) -> Project:
    """The project of this command; its language is the one of all messages from now on."""
    project = open_project(ctx.obj[0])
    use_language(project.language)
    return project


def gather_facts(ctx: click.Context) -> ProjectFacts:
    return facts_of(current_project(ctx))


def gather_facts_to_act(ctx: click.Context) -> ProjectFacts:
    """Like gather_facts, for verbs that start agents or change the board (or preview that)."""
    project = current_project(ctx)
    project.bmad.require_supported()
    return facts_of(project)


def facts_of(project: Project) -> ProjectFacts:
    board = read_board(project.require_board())
    return ProjectFacts(project, board, epic_views(board))


def has_runs(facts: ProjectFacts) -> bool:
    """Whether the project has ever had a run."""
    return os.path.isdir(os.path.join(facts.project.root.path, OUTPUT_FOLDER, ".runs"))


def find_epic(facts: ProjectFacts, wanted: str) -> EpicView:
    number = wanted.lower().removeprefix("epic-")
    for view in facts.epics:
        if view.number is not None and view.row is None and number == view.number.replace(".", "-"):
            return view  # an epic without a row, known from its stories
    row = find_row(facts.board, wanted, RowKind.EPIC)
    return next(view for view in facts.epics if view.number == row.number)


def read_epics(facts: ProjectFacts) -> "EpicsFile":
    """Read the epics files."""
    from ..board.epics_file import find_epics_files, read_all_epics

    folders = facts.project.folders
    others = [folders.output, os.path.dirname(facts.board.path)]
    return read_all_epics(find_epics_files(folders.planning, others))


def short_name(facts: ProjectFacts, row: Row) -> str:
    epic = next((epic for epic in facts.epics if epic.number == row.epic), None)
    return short_key(row, epic.stories if epic else [])


def all_story_files(facts: ProjectFacts) -> StoryFiles:
    return find_board_files(facts.board, facts.project.folders.base, _story_folders(facts))


def all_stories(facts: ProjectFacts) -> list[Row]:
    return [row for epic in facts.epics for row in epic.stories]


def find_story_drift(facts: ProjectFacts, rows: list[Row]) -> list[Drift]:
    """Drift of some stories only: a board may have ten thousand story files."""
    if not rows:
        return []
    drift = drift_in_files(
        facts, rows, find_row_files(facts.board, rows, facts.project.folders.base, _story_folders(facts))
    )
    # A repair is recommended only after the whole project has been searched for further files of the story.
    return (
        drift_in_files(facts, rows, all_story_files(facts)) if any(item.target_status for item in drift) else drift
    )


def drift_in_files(facts: ProjectFacts, rows: list[Row], files: StoryFiles) -> list[Drift]:
    drift = find_drift(facts.board, rows, files)
    # Where the board may not be changed, no repair is recommended.
    return [item._replace(target_status=None) for item in drift] if facts.project.bmad.tickets else drift


def active_drift(facts: ProjectFacts) -> list[Drift]:
    return find_story_drift(
        facts, [row for epic in facts.local_epics if epic.is_in_progress for row in epic.stories]
    )


def _story_folders(facts: ProjectFacts) -> list[str]:
    folders = facts.project.folders
    places = [os.path.dirname(facts.board.path), folders.implementation]
    return [*places, folders.stories] if folders.stories else places


def usable_hint(project: Project, hint: str | None) -> str | None:
    """The hint, unless it names a command this project refuses."""
    refused = project.bmad.tickets and hint and any(f"bmad {verb}" in hint for verb in _CHANGING_VERBS)
    return None if refused else hint


def parked_reasons(facts: ProjectFacts) -> dict[str, str]:
    """Story key → why it is parked: its `blocked_reason`, else its inline comment."""
    found = _reasons_on_board(facts.board, facts.local_epics)
    for number, lane in facts.lanes.items():
        found |= _reasons_on_board(
            lane.board or facts.board, [epic for epic in facts.epics if epic.number == number]
        )
    return found


def _reasons_on_board(board: Board, epics: list[EpicView]) -> dict[str, str]:
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


def display_path(project: Project, path: str) -> str:
    """The path relative to the project folder, if below it."""
    relative = os.path.relpath(path, project.folders.base)
    return path if relative.startswith("..") else relative


def print_json(kind: str, record: object) -> None:
    """Print the `--json` document of a record."""
    import json

    from ..io.json_files import document

    click.echo(json.dumps(document(kind, record), ensure_ascii=False))


def print_event(kind: str, record: object) -> None:
    """Print a single event of a command that prints events with `--json`."""
    import json

    from ..io.json_files import to_json

    head = {"version": 1, "event": kind, "at": time.time()}
    click.echo(json.dumps(head | to_json(record), ensure_ascii=False))


# Opening a project with broken files: unreadable parts are replaced by defaults and reported.

T = TypeVar("T")


class BrokenPart(NamedTuple):
    part: str
    error: FileError


def open_tolerant(start: str) -> tuple[Project, list[BrokenPart]]:
    """Like open_project, but fails only if `start` is not a folder or a git file is a dangling link."""
    root = find_root(start)
    broken: list[BrokenPart] = []
    config = _try_read("config", lambda: load_config(root), broken) or Config()
    home = os.path.expanduser("~")
    found = _try_read("BMAD", lambda: detect_bmad(root, home), broken)
    bmad, notes = found or (BmadInstall(Era.NONE, None, None, (), False), ())
    settings = _try_read("BMAD's settings", lambda: read_settings(bmad.folder), broken) or read_settings(None)
    places = _try_read("board", lambda: find_folders(root, settings, config.board), broken)
    folders, more = places or find_folders(root, read_settings(None), None)
    project = Project(root, bmad, folders, config, (*config.diagnostics, *notes, *more), settings.language)
    return add_tickets(project, settings, home), broken


def _try_read(part: str, read: Callable[[], T], broken: list[BrokenPart]) -> T | None:
    try:
        return read()
    except FileError as error:
        broken.append(BrokenPart(part, error))
    except OSError as error:
        place = Location(os.fsdecode(error.filename)) if error.filename else None
        broken.append(BrokenPart(part, FileError(f"cannot be read: {error.strerror}", location=place)))
    return None

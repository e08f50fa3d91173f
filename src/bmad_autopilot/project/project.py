"""Opens the project of the current folder. Every command starts with this call."""

import os
from typing import TYPE_CHECKING, NamedTuple

from ..core.errors import Diagnostic, Location, Severity
from .bmad_install import (
    BMAD6_BOARD_MESSAGE,
    MIGRATE_HINT,
    BmadInstall,
    Era,
    TicketState,
    detect_bmad,
    detect_tickets,
)
from .bmad_settings import BmadSettings, read_settings
from .config import Config, load_config
from .folders import BoardOrigin, Folders, find_folders, require_board
from .root import BOARD_NAME, TASKS_FOLDER, Root, find_root, find_work_tree

if TYPE_CHECKING:
    from .skills import Skill


class Project(NamedTuple):
    root: Root
    bmad: BmadInstall
    folders: Folders
    config: Config
    diagnostics: tuple[Diagnostic, ...]
    language: str = ""  # BMAD's communication_language, used for questions to the user
    tasks_folder: str = ""  # the folder of a flow's tasks, if these are the project's stories

    def require_board(self) -> str:
        """The board's path. Raises a FileError with the reason and a hint if there is none."""
        self.bmad.require_readable()
        return require_board(self.folders, installed=self.bmad.era is not Era.NONE)

    def find_skill(self, agent: str, name: str) -> "Skill | None":
        """A BMAD skill with this agent's invocation, from the work tree, the main checkout or the home folder."""
        from .skills import find_skill

        client = self.config.client_of(agent)
        found = (
            find_skill(location, client, os.path.expanduser("~"), name) for location in self.root.search_folders
        )
        return next((skill for skill in found if skill is not None), None)

    def find_any_skill(self, agent: str, name: str) -> "Skill | None":
        """The same, or a skill of the project with exactly this name."""
        from .skills import find_project_skill

        found = self.find_skill(agent, name)
        client, home = self.config.client_of(agent), os.path.expanduser("~")
        own = (find_project_skill(location, client, home, name) for location in self.root.search_folders)
        return found if found is not None else next((skill for skill in own if skill is not None), None)

    @property
    def work_tree(self) -> str:
        """The work tree's top. No symbolic link may lead a write out of it."""
        tree = find_work_tree(self.root.checkout) if self.root.common_dir else None
        return tree.top if tree is not None else self.root.checkout

    @property
    def state_folder(self) -> str:
        return self.root.state_folder


def open_project(start: str, *, home: str | None = None) -> Project:
    """Read the project from a few small files. An unreadable file raises a FileError; oddities are diagnostics."""
    root = find_root(start)
    config = load_config(root)
    home = home if home is not None else os.path.expanduser("~")
    bmad, notes = detect_bmad(root, home)
    settings = read_settings(bmad.folder)
    folders, more = find_folders(root, settings, config.board)
    project = Project(root, bmad, folders, config, (*config.diagnostics, *notes, *more), settings.language)
    return add_tickets(project, settings, home)


def add_tickets(project: Project, settings: BmadSettings, home: str) -> Project:
    """Add the state of BMAD 7. With a ticket tree the project has no board."""
    bmad, folders = project.bmad, project.folders
    output = settings.values.get("output_folder")
    boards = [*([folders.board] if folders.board else []), *folders.other_boards]
    tickets = detect_tickets(project.root, bmad, home, output.value if output else None, boards)
    if tickets is None:
        return project
    if tickets.state is TicketState.BOARD:
        note = Diagnostic(
            Severity.WARNING, "board-of-bmad-6", BMAD6_BOARD_MESSAGE, Location(tickets.path), MIGRATE_HINT
        )
        return project._replace(bmad=bmad._replace(tickets=tickets), diagnostics=(*project.diagnostics, note))
    return project._replace(
        bmad=bmad._replace(era=Era.TICKETS, version=None, tickets=tickets),
        folders=folders._replace(board=None, board_origin=BoardOrigin.NONE, other_boards=()),
    )


# The project with a flow's tasks as its stories.


def task_project(project: Project) -> Project:
    """The project with the board and folder of its flow's tasks; settings, roles and checks stay."""
    folder = os.path.join(project.root.checkout, TASKS_FOLDER)
    folders = project.folders._replace(
        base=project.root.checkout,
        output=folder,
        planning=folder,
        implementation=folder,
        stories=None,
        board=os.path.join(folder, BOARD_NAME),
        board_origin=BoardOrigin.CHOSEN,
        other_boards=(),
    )
    return project._replace(folders=folders, tasks_folder=folder)

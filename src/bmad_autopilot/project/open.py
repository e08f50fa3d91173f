"""Open the project the user stands in: the one call every command begins with."""

import os
from typing import TYPE_CHECKING, NamedTuple

from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import Place
from .bmad import BOARD_OF_6, MIGRATE, Bmad, Era, Ticketing, detect_bmad, detect_tickets
from .config import Config, load_config
from .folders import Folders, Found, find_folders, require_board
from .gitdir import find_work_tree
from .layers import BmadSettings, read_settings
from .root import Root, find_root

if TYPE_CHECKING:
    from .skills import Skill


class Project(NamedTuple):
    root: Root
    bmad: Bmad
    folders: Folders
    config: Config
    diagnostics: tuple[Diagnostic, ...]
    language: str = ""  # BMAD's communication_language: what people are asked in
    tasks: str = ""  # seen with a flow's tasks for stories: their folder

    def require_board(self) -> str:
        """The board's path, or the FileError that says why there is none and what helps."""
        self.bmad.require_readable()
        return require_board(self.folders, installed=self.bmad.era is not Era.NONE)

    def find_skill(self, agent: str, name: str) -> "Skill | None":
        """A BMAD skill as this agent calls it, in the work tree, at the owner or in the home folder."""
        from .skills import find_skill

        client = self.config.client_of(agent)
        found = (find_skill(place, client, os.path.expanduser("~"), name) for place in self.root.places)
        return next((skill for skill in found if skill is not None), None)

    def find_any_skill(self, agent: str, name: str) -> "Skill | None":
        """The same, or one of the project's own that is called just that."""
        from .skills import find_own_skill

        found = self.find_skill(agent, name)
        client, home = self.config.client_of(agent), os.path.expanduser("~")
        own = (find_own_skill(place, client, home, name) for place in self.root.places)
        return found if found is not None else next((skill for skill in own if skill is not None), None)

    @property
    def inside(self) -> str:
        """The folder that no symbolic link may lead out of where something is written: the work tree."""
        tree = find_work_tree(self.root.checkout) if self.root.common_dir else None
        return tree.top if tree is not None else self.root.checkout

    @property
    def state_folder(self) -> str:
        return self.root.state_folder


def open_project(start: str, *, home: str | None = None) -> Project:
    """Everything about the project that a few small files tell. A file that cannot be read is a FileError;
    what is merely odd is a diagnostic."""
    root = find_root(start)
    config = load_config(root)
    home = home if home is not None else os.path.expanduser("~")
    bmad, notes = detect_bmad(root, home)
    settings = read_settings(bmad.folder)
    folders, more = find_folders(root, settings, config.board)
    project = Project(root, bmad, folders, config, (*config.diagnostics, *notes, *more), settings.language)
    return with_tickets(project, settings, home)


def with_tickets(project: Project, settings: BmadSettings, home: str) -> Project:
    """With what there is of BMAD 7. Beside a ticket tree no board is the project's."""
    bmad, folders = project.bmad, project.folders
    output = settings.values.get("output_folder")
    boards = [*([folders.board] if folders.board else []), *folders.others]
    tickets = detect_tickets(project.root, bmad, home, output.value if output else None, boards)
    if tickets is None:
        return project
    if tickets.state is Ticketing.BOARD:
        note = Diagnostic(Severity.WARNING, "board-of-bmad-6", BOARD_OF_6, Place(tickets.place), MIGRATE)
        return project._replace(bmad=bmad._replace(tickets=tickets), diagnostics=(*project.diagnostics, note))
    return project._replace(
        bmad=bmad._replace(era=Era.TICKETS, version=None, tickets=tickets),
        folders=folders._replace(board=None, found=Found.NONE, others=()),
    )

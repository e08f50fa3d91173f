"""Where the project keeps its plans, its stories and its board."""

import os
from enum import Enum
from typing import NamedTuple

from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import FileError, Place
from .layers import BmadSettings, Setting
from .paths import Resolved, resolve
from .root import Root
from .traces import BOARD_NAME, CONFIG_NAME, OUTPUT_FOLDER

_DEFAULT_IMPLEMENTATION = f"{OUTPUT_FOLDER}/implementation-artifacts"
# Where boards of older versions still lie after an upgrade.
_USUAL = (_DEFAULT_IMPLEMENTATION, "docs/sprint-artifacts", "docs")


class Found(Enum):
    """How the board was found."""

    CHOSEN = "chosen in bmad-autopilot.toml"
    CONFIGURED = "in BMAD's configured folder"
    DEFAULT = "in BMAD's default folder"
    USUAL = "in a folder older versions used"
    SEARCHED = "by searching the project"
    SEVERAL = "several boards, and nothing decides"
    NONE = "no board"


class Folders(NamedTuple):
    base: str  # the checkout, or the owner where git ignores BMAD's files
    output: str
    planning: str
    implementation: str
    stories: str | None  # a folder of their own for story files, where the settings name one
    board: str | None  # None: there is none, or several
    found: Found
    others: tuple[str, ...]  # further boards, none of which is read


def find_folders(
    root: Root, settings: BmadSettings, chosen: Setting | None
) -> tuple[Folders, tuple[Diagnostic, ...]]:
    """The folders in the checkout, or at the owner where only that has a board. `chosen` is our own setting."""
    results = []
    for base in root.places:
        results.append(_Finder(root, base, settings, chosen).find())
        folders = results[-1][0]
        if folders.found is Found.SEVERAL or (folders.board and os.path.lexists(folders.board)):
            return results[-1]
    return next((found for found in results if os.path.isdir(found[0].output)), results[-1])


def require_board(folders: Folders, *, installed: bool = True) -> str:
    """The board's path, or the error that says why there is none and what helps."""
    if folders.board is not None:
        return folders.board
    if folders.found is Found.SEVERAL:
        shown = [os.path.relpath(path, folders.base) for path in folders.others]
        raise FileError(
            f"{len(shown)} boards, and nothing says which one counts",
            place=Place(folders.base),
            found=", ".join(shown[:8]) + (" …" if len(shown) > 8 else ""),
            hint="choose one in bmad-autopilot.toml:\n"
            + "\n".join(f'              board = "{path}"' for path in shown[:8]),
        )
    if not installed:
        raise FileError(
            "no board, and BMAD is not installed here",
            place=Place(folders.base),
            hint="another folder? bmad -C DIR status; else see what is missing: bmad doctor",
        )
    raise FileError(
        "no board yet",
        place=Place(os.path.join(folders.implementation, BOARD_NAME)),
        hint='make one with BMAD\'s sprint-planning, or name it in bmad-autopilot.toml: board = "path"',
    )


class _Finder:
    """One look at one base folder."""

    def __init__(self, root: Root, base: str, settings: BmadSettings, chosen: Setting | None) -> None:
        self.base = base
        self.aliases = root.places
        self.settings = settings
        self.chosen = chosen
        self.notes: list[Diagnostic] = list(settings.diagnostics)
        output = settings.values.get("output_folder")
        self.output_value = output.value if output else OUTPUT_FOLDER

    def find(self) -> tuple[Folders, tuple[Diagnostic, ...]]:
        output = self._folder("output_folder") or f"{self.base}/{OUTPUT_FOLDER}"
        stories = self._folder("dev_story_location")
        implementation, found = self._implementation(output, stories)
        planning = self._folder("planning_artifacts") or self._default_planning(output)
        self._compare_settings()
        board, found, others = self._board(implementation, found)
        folders = Folders(self.base, output, planning, implementation, stories, board, found, others)
        return folders, tuple(self.notes)

    def _implementation(self, output: str, stories: str | None) -> tuple[str, Found]:
        for key in ("implementation_artifacts", "sprint_artifacts"):
            folder = self._folder(key)
            if folder is not None:
                return folder, Found.CONFIGURED
        if stories is not None:  # the first alphas kept the board in the output folder, v4 kept none
            return (output if "output_folder" in self.settings.values else stories), Found.CONFIGURED
        return f"{output}/implementation-artifacts", Found.DEFAULT

    def _default_planning(self, output: str) -> str:
        """The alphas wrote their plans straight into the output folder."""
        inner = f"{output}/planning-artifacts"
        old = self.settings.values.keys() & {"sprint_artifacts", "dev_story_location"}
        return output if old and not os.path.isdir(inner) else inner

    def _folder(self, key: str) -> str | None:
        setting = self.settings.values.get(key)
        if setting is None:
            return None
        resolved = self._resolve(setting)
        if resolved.path is None:
            self._refuse(setting, resolved)
        return resolved.path

    def _resolve(self, setting: Setting) -> Resolved:
        output = OUTPUT_FOLDER if setting.key == "output_folder" else self.output_value
        return resolve(setting.value, self.base, output=output, aliases=self.aliases)

    def _refuse(self, setting: Setting, resolved: Resolved) -> None:
        message = f"`{setting.key}` {resolved.problem}, and is ignored: {setting.value}"
        hint = "write it as {project-root}/…" if resolved.code == "foreign-path" else None
        self._note(Severity.WARNING, resolved.code, message, setting.place, hint)

    def _compare_settings(self) -> None:
        for key, other in self.settings.shadowed.items():
            used = self.settings.values[key]
            if self._resolve(used) != self._resolve(other):
                self._note(
                    Severity.WARNING,
                    "split-settings",
                    f"`{key}` is {other.value} here, but {used.value} in {used.place}: BMAD's skills disagree",
                    other.place,
                    "set both to the same folder",
                )

    def _board(self, implementation: str, found: Found) -> tuple[str | None, Found, tuple[str, ...]]:
        usual = [f"{self.base}/{part}/{BOARD_NAME}" for part in _USUAL]
        first = f"{implementation}/{BOARD_NAME}"
        here = [path for path in dict.fromkeys([first, *usual]) if os.path.lexists(path)]
        if self.chosen is not None:
            board = self._chosen_board(self.chosen)
            return board, Found.CHOSEN, tuple(path for path in here if path != board)
        if first in here:
            for other in here[1:]:
                self._other_board(other, first)
            return first, found, tuple(here[1:])
        if len(here) == 1:
            self._elsewhere(here[0], implementation)
            return here[0], Found.USUAL, ()
        if here:
            return None, Found.SEVERAL, tuple(here)
        return self._search(implementation)

    def _chosen_board(self, chosen: Setting) -> str:
        resolved = resolve(chosen.value, self.base, output=self.output_value, aliases=self.aliases)
        if resolved.path is None:
            raise FileError(
                f"`board` {resolved.problem}",
                place=chosen.place,
                found=chosen.value,
                expected="a path inside the project",
            )
        if not os.path.lexists(resolved.path):
            message = f"`board` names a file that is not there: {chosen.value}"
            self._note(Severity.ERROR, "board-missing", message, chosen.place)
        return resolved.path

    def _search(self, implementation: str) -> tuple[str | None, Found, tuple[str, ...]]:
        from .boards import search_boards

        search = search_boards(self.base)
        if not search.complete:
            message = "is too large to be searched whole for a board"
            hint = f'name the board in {CONFIG_NAME}: board = "path"'
            self._note(Severity.WARNING, "search-cut", message, Place(self.base), hint)
        if len(search.boards) == 1:
            self._elsewhere(search.boards[0], implementation)
            return search.boards[0], Found.SEARCHED, ()
        return None, (Found.SEVERAL if search.boards else Found.NONE), search.boards

    def _elsewhere(self, board: str, implementation: str) -> None:
        message = f"the board is here, not in {os.path.relpath(implementation, self.base)}"
        self._note(Severity.NOTE, "board-elsewhere", message, Place(board), self._choose(board))

    def _other_board(self, other: str, used: str) -> None:
        message = f"another board, which is not read; {os.path.relpath(used, self.base)} is"
        self._note(Severity.WARNING, "other-board", message, Place(other), self._choose(other))

    def _choose(self, board: str) -> str:
        return f'to choose it: board = "{os.path.relpath(board, self.base)}" in {CONFIG_NAME}'

    def _note(self, severity: Severity, code: str, message: str, place: Place, hint: str | None = None) -> None:
        self.notes.append(Diagnostic(severity, code, message, place, hint))

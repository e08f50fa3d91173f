"""Finds the folders of the project's plans and stories, and its board."""

import os
from enum import Enum
from typing import NamedTuple

from ..core.errors import Diagnostic, FileError, Location, Severity
from .bmad_settings import BmadSettings, Setting
from .root import BMAD_FOLDERS, BOARD_NAME, CONFIG_NAME, OUTPUT_FOLDER, TASKS_FOLDER, Root, is_archived

# Search for `sprint-status.yaml` if no setting leads to it.

MAX_ENTRIES = 20_000
MAX_DEPTH = 6

# Copies, foreign projects and generated files.
_PRUNED = frozenset(
    "archive archives archived fixtures fixture node_modules vendor worktrees __pycache__ target dist venv "
    "site-packages .git .hg .svn .venv .tox .nox .cache .runs .claude .agents".split()
).union(BMAD_FOLDERS, [os.path.basename(TASKS_FOLDER)])  # the board of a flow's tasks


class BoardSearch(NamedTuple):
    boards: tuple[str, ...]
    is_complete: bool  # False: the search hit its limit, there may be more boards


def search_boards(base: str) -> BoardSearch:
    """Find the boards below `base` that are not copies, nearest first; bounded in depth and entries."""
    boards: list[str] = []
    folders = [base]
    entries = 0
    for _ in range(MAX_DEPTH):
        deeper: list[str] = []
        for folder in folders:
            names, inner, seen = _scan_folder(folder)
            entries += seen
            boards += names
            deeper += inner
            if entries > MAX_ENTRIES:
                return BoardSearch(tuple(sorted(boards)), False)
        folders = deeper
    return BoardSearch(tuple(boards), True)


def _scan_folder(folder: str) -> tuple[list[str], list[str], int]:
    """The boards in one folder, the subfolders to search, and the number of entries."""
    boards: list[str] = []
    inner: list[str] = []
    count = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                count += 1
                if count > MAX_ENTRIES:
                    break
                if entry.name == BOARD_NAME:
                    boards.append(entry.path)
                elif entry.is_dir(follow_symlinks=False) and _is_searched(entry):
                    inner.append(entry.path)
    except OSError:  # unreadable or gone
        pass
    return boards, sorted(inner), count


def _is_searched(entry: os.DirEntry[str]) -> bool:
    name = entry.name.lower()
    if name in _PRUNED or name.endswith(".worktrees") or is_archived(name):
        return False
    return not os.path.lexists(f"{entry.path}/.git")  # a checkout of its own


# Resolve a path from a settings file to a folder of this project.

_PROJECT = ("{project-root}", "{project_root}")
_OUTPUT = ("{output_folder}", "{output-folder}")


class ResolvedPath(NamedTuple):
    """A path inside the project, or the code and text of the problem."""

    path: str | None
    code: str = ""
    problem: str = ""


def resolve_path(
    value: str, base: str, *, output: str = OUTPUT_FOLDER, aliases: tuple[str, ...] = ()
) -> ResolvedPath:
    """Resolve `value` against `base`. `aliases` are other folders of the same project (its main checkout):
    an absolute path into one of them means the same file below `base`."""
    text = value.strip()
    if not text or any(letter < " " or letter == "\x7f" for letter in text):
        return ResolvedPath(None, "bad-path", "is not a path")
    for name in _OUTPUT:
        text = text.replace(name, output)
    for name in _PROJECT:
        # The last one counts: an output folder may begin with {project-root} itself.
        if name in text:
            text = text.rpartition(name)[2].lstrip("/\\") or "."
    if "{" in text and "}" in text:
        return ResolvedPath(None, "unknown-placeholder", "holds a placeholder nobody fills in")
    return _resolve_text(text, base, aliases)


def _resolve_text(text: str, base: str, aliases: tuple[str, ...]) -> ResolvedPath:
    if text[1:3] in (":\\", ":/") or text.startswith(("~", "\\\\")):
        return ResolvedPath(None, "foreign-path", "is an absolute path of another machine")
    if text.startswith("/"):
        inner = _relative_to_any(text, (base, *aliases)) or _relative_to_any(
            os.path.realpath(text), (base, *aliases)
        )
        if inner is None:
            return ResolvedPath(None, "foreign-path", "is an absolute path outside this project")
        text = inner
    part = os.path.normpath(text.replace("\\", "/"))
    if part == ".." or part.startswith("../"):
        return ResolvedPath(None, "outside-project", "leaves the project")
    return ResolvedPath(base if part == "." else os.path.join(base, part))


def _relative_to_any(path: str, roots: tuple[str, ...]) -> str | None:
    for root in roots:
        if path == root or path.startswith(f"{root.rstrip('/')}/"):
            return os.path.relpath(path, root)
    return None


_DEFAULT_IMPLEMENTATION = f"{OUTPUT_FOLDER}/implementation-artifacts"
# Where the boards of older versions remain after an upgrade.
_LEGACY_FOLDERS = (_DEFAULT_IMPLEMENTATION, "docs/sprint-artifacts", "docs")


class BoardOrigin(Enum):
    """How the board was found."""

    CHOSEN = "chosen in bmad-autopilot.toml"
    CONFIGURED = "in BMAD's configured folder"
    DEFAULT = "in BMAD's default folder"
    LEGACY_FOLDER = "in a folder older versions used"
    SEARCHED = "by searching the project"
    SEVERAL = "several boards, and nothing decides"
    NONE = "no board"


class Folders(NamedTuple):
    base: str  # the checkout, or the main checkout if git ignores BMAD's files
    output: str
    planning: str
    implementation: str
    stories: str | None  # the folder of story files, if the settings name one
    board: str | None  # None: there is none, or several
    board_origin: BoardOrigin
    other_boards: tuple[str, ...]  # further boards, which are not read


def find_folders(
    root: Root, settings: BmadSettings, chosen: Setting | None
) -> tuple[Folders, tuple[Diagnostic, ...]]:
    """Find the folders in the checkout, or in the main checkout if only that has a board. `chosen`: our `board`
    setting."""
    results = []
    for base in root.search_folders:
        results.append(_FolderFinder(root, base, settings, chosen).find())
        folders = results[-1][0]
        if folders.board_origin is BoardOrigin.SEVERAL or (folders.board and os.path.lexists(folders.board)):
            return results[-1]
    return next((found for found in results if os.path.isdir(found[0].output)), results[-1])


def require_board(folders: Folders, *, installed: bool = True) -> str:
    """The board's path. Raises a FileError with the reason and a hint if there is none."""
    if folders.board is not None:
        return folders.board
    if folders.board_origin is BoardOrigin.SEVERAL:
        shown = [os.path.relpath(path, folders.base) for path in folders.other_boards]
        raise FileError(
            f"{len(shown)} boards, and nothing says which one counts",
            location=Location(folders.base),
            found=", ".join(shown[:8]) + (" …" if len(shown) > 8 else ""),
            hint="choose one in bmad-autopilot.toml:\n"
            + "\n".join(f'              board = "{path}"' for path in shown[:8]),
        )
    if not installed:
        raise FileError(
            "no board, and BMAD is not installed here",
            location=Location(folders.base),
            hint="another folder? bmad -C DIR status; else see what is missing: bmad doctor",
        )
    raise FileError(
        "no board yet",
        location=Location(os.path.join(folders.implementation, BOARD_NAME)),
        hint='make one with BMAD\'s sprint-planning, or name it in bmad-autopilot.toml: board = "path"',
    )


class _FolderFinder:
    """Finds the folders below one base folder."""

    def __init__(self, root: Root, base: str, settings: BmadSettings, chosen: Setting | None) -> None:
        self.base = base
        self.aliases = root.search_folders
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

    def _implementation(self, output: str, stories: str | None) -> tuple[str, BoardOrigin]:
        for key in ("implementation_artifacts", "sprint_artifacts"):
            folder = self._folder(key)
            if folder is not None:
                return folder, BoardOrigin.CONFIGURED
        if stories is not None:  # the first alphas kept the board in the output folder, v4 kept none
            return (output if "output_folder" in self.settings.values else stories), BoardOrigin.CONFIGURED
        return f"{output}/implementation-artifacts", BoardOrigin.DEFAULT

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
            self._note_ignored_setting(setting, resolved)
        return resolved.path

    def _resolve(self, setting: Setting) -> ResolvedPath:
        output = OUTPUT_FOLDER if setting.key == "output_folder" else self.output_value
        return resolve_path(setting.value, self.base, output=output, aliases=self.aliases)

    def _note_ignored_setting(self, setting: Setting, resolved: ResolvedPath) -> None:
        message = f"`{setting.key}` {resolved.problem}, and is ignored: {setting.value}"
        hint = "write it as {project-root}/…" if resolved.code == "foreign-path" else None
        self._note(Severity.WARNING, resolved.code, message, setting.location, hint)

    def _compare_settings(self) -> None:
        for key, other in self.settings.shadowed.items():
            used = self.settings.values[key]
            if self._resolve(used) != self._resolve(other):
                self._note(
                    Severity.WARNING,
                    "split-settings",
                    f"`{key}` is {other.value} here, but {used.value} in {used.location}: BMAD's skills disagree",
                    other.location,
                    "set both to the same folder",
                )

    def _board(self, implementation: str, found: BoardOrigin) -> tuple[str | None, BoardOrigin, tuple[str, ...]]:
        usual = [f"{self.base}/{part}/{BOARD_NAME}" for part in _LEGACY_FOLDERS]
        first = f"{implementation}/{BOARD_NAME}"
        here = [path for path in dict.fromkeys([first, *usual]) if os.path.lexists(path)]
        if self.chosen is not None:
            board = self._chosen_board(self.chosen)
            return board, BoardOrigin.CHOSEN, tuple(path for path in here if path != board)
        if first in here:
            for other in here[1:]:
                self._note_other_board(other, first)
            return first, found, tuple(here[1:])
        if len(here) == 1:
            self._note_board_elsewhere(here[0], implementation)
            return here[0], BoardOrigin.LEGACY_FOLDER, ()
        if here:
            return None, BoardOrigin.SEVERAL, tuple(here)
        return self._search(implementation)

    def _chosen_board(self, chosen: Setting) -> str:
        resolved = resolve_path(chosen.value, self.base, output=self.output_value, aliases=self.aliases)
        if resolved.path is None:
            raise FileError(
                f"`board` {resolved.problem}",
                location=chosen.location,
                found=chosen.value,
                expected="a path inside the project",
            )
        if not os.path.lexists(resolved.path):
            message = f"`board` names a file that is not there: {chosen.value}"
            self._note(Severity.ERROR, "board-missing", message, chosen.location)
        return resolved.path

    def _search(self, implementation: str) -> tuple[str | None, BoardOrigin, tuple[str, ...]]:

        search = search_boards(self.base)
        if not search.is_complete:
            message = "is too large to be searched whole for a board"
            hint = f'name the board in {CONFIG_NAME}: board = "path"'
            self._note(Severity.WARNING, "search-cut", message, Location(self.base), hint)
        if len(search.boards) == 1:
            self._note_board_elsewhere(search.boards[0], implementation)
            return search.boards[0], BoardOrigin.SEARCHED, ()
        return None, (BoardOrigin.SEVERAL if search.boards else BoardOrigin.NONE), search.boards

    def _note_board_elsewhere(self, board: str, implementation: str) -> None:
        message = f"the board is here, not in {os.path.relpath(implementation, self.base)}"
        self._note(Severity.NOTE, "board-elsewhere", message, Location(board), self._choose_hint(board))

    def _note_other_board(self, other: str, used: str) -> None:
        message = f"another board, which is not read; {os.path.relpath(used, self.base)} is"
        self._note(Severity.WARNING, "other-board", message, Location(other), self._choose_hint(other))

    def _choose_hint(self, board: str) -> str:
        return f'to choose it: board = "{os.path.relpath(board, self.base)}" in {CONFIG_NAME}'

    def _note(
        self, severity: Severity, code: str, message: str, location: Location, hint: str | None = None
    ) -> None:
        self.notes.append(Diagnostic(severity, code, message, location, hint))

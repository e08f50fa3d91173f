"""One bounded look at the folders that a flow's steps leave their files in, and at what the project is made of."""

import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache

from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import Place
from .placeholders import fill
from .source_scan import has_content, has_sources, has_ui

MAX_FILES = 100_000
MAX_DEPTH = 25

_HEAPS = (".git", "node_modules")
_WILD = re.compile(r"[*?]")


class Scan:
    """What is there: the `Seen` that conditions are held against. Empty files count as not there, and so do the
    flows' own state files: they say where a flow stands, and are nothing it has left."""

    def __init__(
        self,
        top: str,
        globs: Iterable[str],
        *,
        places: Mapping[str, str] | None = None,
        state_files: Iterable[str] = (),
        bmad: bool = False,
        board: bool = False,
        artefacts: frozenset[str] = frozenset(),
    ) -> None:
        """`places`: what the placeholders stand for, from the project's top."""
        self.top = top
        self.places = places or {}
        self.bmad = bmad
        self.board = board
        self.artefacts = artefacts
        walk = _Walk(top, frozenset(map(self._filled, state_files)))
        walk.through(_folders(map(self._filled, globs)))
        self.files = sorted(walk.files)
        self.diagnostics = tuple(walk.notes)
        self._all = frozenset(self.files)
        self._known: dict[str, bool] = {}

    def has(self, glob: str) -> bool:
        if glob not in self._known:
            self._known[glob] = self._has(self._filled(glob))
        return self._known[glob]

    def names(self, glob: str) -> list[str]:
        """The files that match, from the project's top."""
        return list(self._matching(self._filled(glob)))

    @cached_property
    def sources(self) -> bool:
        return has_sources(self.top, self._plans)

    @cached_property
    def ui(self) -> bool:
        return has_ui(self.top, self._plans)

    @property
    def _plans(self) -> tuple[str, ...]:
        return (*self.places.values(), "_docs")

    def _has(self, glob: str) -> bool:
        return next(self._matching(glob), None) is not None

    def _matching(self, glob: str) -> Iterator[str]:
        if not _WILD.search(glob) and not glob.endswith("/"):
            yield from [glob] if glob in self._all else []
            return
        fixed, pattern = _WILD.split(glob, maxsplit=1)[0], _compiled(glob)
        by_name = not _WILD.search(glob.rpartition("/")[2])
        for at in range(bisect_left(self.files, fixed), len(self.files)):
            if not self.files[at].startswith(fixed):
                return
            if pattern.fullmatch(self.files[at]) and (by_name or _stands_for_itself(self.files[at])):
                yield self.files[at]

    def _filled(self, glob: str) -> str:
        """As files are named here. A placeholder that nobody filled in matches nothing."""
        filled = fill(glob, lambda name: self.places.get(name, f"{{{name}}}"))
        return os.path.normpath(filled) + "/" * filled.endswith("/")


def _stands_for_itself(path: str) -> bool:
    """`*.md` means tasks and reports, not what explains their folder or lists them."""
    name = path.rpartition("/")[2].lower()
    return not name.startswith((".", "_")) and name != "readme.md"


@lru_cache(maxsize=512)
def _compiled(glob: str) -> re.Pattern[str]:
    meaning = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", f"{glob}**" if glob.endswith("/") else glob)
    return re.compile("".join(meaning.get(piece) or re.escape(piece) for piece in pieces), re.DOTALL)


def _folders(globs: Iterable[str]) -> dict[str, bool]:
    """The folders to look into, and whether at what is below them too. None lies in one that is looked through."""
    found: dict[str, bool] = {}
    for glob in globs:
        wild = _WILD.search(glob)
        fixed = glob[: wild.start()] if wild else glob
        folder, _, rest = fixed.rpartition("/")
        deep = glob.endswith("/") or "/" in glob[len(fixed) - len(rest) :] or "**" in glob
        found[folder] = deep or found.get(folder, False)
    whole = [folder for folder, deep in found.items() if deep]
    return {
        folder: deep
        for folder, deep in found.items()
        if not any(folder != other and f"{folder}/".startswith(f"{other}/" if other else "") for other in whole)
    }


class _Walk:
    def __init__(self, top: str, passed_over: frozenset[str]) -> None:
        self.top = top
        self.passed_over = passed_over
        self.files: set[str] = set()
        self.notes: list[Diagnostic] = []
        self._left = MAX_FILES
        self._linked: set[tuple[int, int]] = set()  # folders behind links: looked into once, wherever they lead

    def through(self, folders: Mapping[str, bool]) -> None:
        for folder, deep in folders.items():
            todo = [(folder, 0)]
            while todo:
                part, depth = todo.pop()
                inner = self._look(part)
                if deep and depth < MAX_DEPTH:
                    todo += [(one, depth + 1) for one in inner]
        if self._left <= 0:
            message = f"holds more than {MAX_FILES} files of flows: the rest was not looked at"
            self.notes.append(Diagnostic(Severity.WARNING, "too-many-files", message, Place(self.top)))

    def _look(self, folder: str) -> list[str]:
        """Takes the files in one folder, and names the folders below it."""
        inner: list[str] = []
        try:
            with os.scandir(os.path.join(self.top, folder)) as entries:
                for entry in entries:
                    self._left -= 1
                    if self._left < 0:
                        break
                    name = f"{folder}/{entry.name}" if folder else entry.name
                    if entry.is_dir():
                        inner += [name] if entry.name not in _HEAPS and self._is_new(entry) else []
                    elif name not in self.passed_over and has_content(entry):
                        self.files.add(name)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            place = Place(os.path.join(self.top, folder))
            message = f"cannot be looked into, and counts as empty: {error.strerror}"
            self.notes.append(Diagnostic(Severity.WARNING, "unreadable-folder", message, place))
        return inner

    def _is_new(self, entry: os.DirEntry[str]) -> bool:
        if not entry.is_symlink():
            return True
        info = entry.stat()
        key = (info.st_dev, info.st_ino)
        is_new = key not in self._linked
        self._linked.add(key)
        return is_new

"""Open a project whose files may be broken: what cannot be read is set aside, the rest still speaks."""

import os
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from ..core.errors import FileError, Place
from ..project.bmad import Bmad, Era, detect_bmad
from ..project.config import Config, load_config
from ..project.folders import find_folders
from ..project.layers import read_settings
from ..project.open import Project, with_tickets
from ..project.root import find_root

T = TypeVar("T")


class Broken(NamedTuple):
    part: str
    error: FileError


def open_in_parts(start: str) -> tuple[Project, list[Broken]]:
    """Like open_project, but only a start that is no folder, or a git file that leads nowhere, is an error."""
    root = find_root(start)
    broken: list[Broken] = []
    config = _attempt("config", lambda: load_config(root), broken) or Config()
    home = os.path.expanduser("~")
    found = _attempt("BMAD", lambda: detect_bmad(root, home), broken)
    bmad, notes = found or (Bmad(Era.NONE, None, None, (), False), ())
    settings = _attempt("BMAD's settings", lambda: read_settings(bmad.folder), broken) or read_settings(None)
    places = _attempt("board", lambda: find_folders(root, settings, config.board), broken)
    folders, more = places or find_folders(root, read_settings(None), None)
    project = Project(root, bmad, folders, config, (*config.diagnostics, *notes, *more), settings.language)
    return with_tickets(project, settings, home), broken


def _attempt(part: str, read: Callable[[], T], broken: list[Broken]) -> T | None:
    try:
        return read()
    except FileError as error:
        broken.append(Broken(part, error))
    except OSError as error:
        place = Place(os.fsdecode(error.filename)) if error.filename else None
        broken.append(Broken(part, FileError(f"cannot be read: {error.strerror}", place=place)))
    return None

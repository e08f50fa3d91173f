"""Where the epics are written: one file, several side by side, or a folder with a file per epic."""

import os
import re

_WHOLE = re.compile(r"@?epics(?:[-_ .].*)?\.md|(?:.*[-_])?epics\.md", re.IGNORECASE)
_SHARD = re.compile(r"epic[-_ ]?\d.*\.md", re.IGNORECASE)
_SHARD_FOLDER = re.compile(r".*epics?.*", re.IGNORECASE)
# Written about epics, not by the planner: retrospectives, reports, compiled context.
_ABOUT = re.compile(
    r"[-_.](?:retro(?:spective)?|validation|context|report|readiness|tech-spec|checklist|template|backup|bak|old)"
    r"(?:[-_.]?\d[\d-]*)?\.md$|^(?:archived?|backups?|old)$",
    re.IGNORECASE,
)
MAX_FILES = 200


def find_epics_files(planning_dir: str, other_dirs: tuple[str, ...] | list[str] = ()) -> list[str]:
    """The epics files of a project. Other folders count only where the planning folder has none: after an upgrade
    the old copy is often still there."""
    for folder in (planning_dir, *other_dirs):
        found = _in_folder(folder) or _in_components(folder)
        if found:
            return found[:MAX_FILES]
    return []


def _in_folder(folder: str) -> list[str]:
    """Whole files first; shards only where there is no whole file, as BMAD itself reads them."""
    names = _names(folder)
    whole = [name for name in names if _WHOLE.fullmatch(name) and not _ABOUT.search(name)]
    if whole:
        whole.sort(key=lambda name: (name.lower().lstrip("@") != "epics.md", name))
        return [os.path.join(folder, name) for name in whole]
    shards = _shards(folder, names)
    for name in names:
        below = os.path.join(folder, name)
        if not name.endswith(".md") and _SHARD_FOLDER.fullmatch(name) and not _ABOUT.search(name):
            inner = _names(below)
            index = [os.path.join(below, n) for n in inner if n.lower() in ("index.md", "epics.md")]
            shards += index + _shards(below, inner)
    return shards


def _shards(folder: str, names: list[str]) -> list[str]:
    return [os.path.join(folder, name) for name in names if _SHARD.fullmatch(name) and not _ABOUT.search(name)]


def _in_components(folder: str) -> list[str]:
    """One folder per component, each with an epics file of its own."""
    found = []
    for name in _names(folder):
        path = os.path.join(folder, name, "epics.md")
        if not _ABOUT.search(name) and os.path.isfile(path):
            found.append(path)
    return found


def _names(folder: str) -> list[str]:
    from ..core.keys import natural

    try:
        return sorted(os.listdir(folder), key=lambda name: (natural(name.lower()), name))
    except OSError:
        return []

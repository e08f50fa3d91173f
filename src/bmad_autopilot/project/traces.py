"""What BMAD leaves in a project, by which the project is recognised."""

import os

BOARD_NAME = "sprint-status.yaml"
CONFIG_NAME = "bmad-autopilot.toml"

BMAD_FOLDERS = ("_bmad", ".bmad", "bmad")
V4_FOLDER = ".bmad-core"
OUTPUT_FOLDER = "_bmad-output"
TASKS_FOLDER = "_docs/02_tasks"  # of a flow, with a board of their own
REPORTS_FOLDER = "_docs/03_implementation"

# Written by one installer or another; one of them makes a folder a BMAD folder, whatever its name.
INSTALLED = (
    "bmm/config.yaml",
    "core/config.yaml",
    "_config/manifest.yaml",
    "_cfg/manifest.yaml",
)

_TRACES = (
    "_bmad",
    ".bmad",
    "bmad/bmm",
    "bmad/_cfg",
    V4_FOLDER,
    OUTPUT_FOLDER,
    CONFIG_NAME,
    f"docs/{BOARD_NAME}",
    f"docs/sprint-artifacts/{BOARD_NAME}",
)


_BACKUP = ".v6-v7-migration-backup-"
_ARCHIVE = "archive-v6"


def is_backup(name: str) -> bool:
    """A folder in which BMAD's migration from 6 to 7 keeps what it has replaced."""
    return name.startswith(_BACKUP)


def is_archived(path: str) -> bool:
    """Whether a board is one that a migration has set aside: it is never the project's board."""
    return any(part == _ARCHIVE or is_backup(part) for part in path.split("/"))


def has_traces(folder: str) -> bool:
    return any(os.path.lexists(f"{folder}/{trace}") for trace in _TRACES)


def is_bmad_folder(folder: str) -> bool:
    # TOML came when the folder was already called _bmad; elsewhere a config.toml means nothing.
    names = (*INSTALLED, "config.toml", "custom/config.toml") if folder.endswith("/_bmad") else INSTALLED
    return any(os.path.isfile(f"{folder}/{name}") for name in names)

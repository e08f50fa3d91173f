"""What a project's agents need that git may not have: it is brought along into a new worktree."""

import os

from .skills import CLIENTS
from .state_files import owner_of
from .traces import BMAD_FOLDERS, OUTPUT_FOLDER, V4_FOLDER, is_bmad_folder

MAX_ENTRIES = 2000

_CLIENT_FOLDERS = tuple(
    dict.fromkeys(
        folder.partition("/")[0]
        for client in CLIENTS.values()
        for folder in (*client.skills, *client.commands)
        if not folder.startswith(".github/")
    )
)
_GITHUB_FOLDERS = (".github/skills", ".github/prompts")
_INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md")
# Made anew by whoever needs them.
_LITTER = frozenset(("__pycache__", "node_modules", ".DS_Store", ".git"))


def needed_names(folder: str) -> list[str]:
    """The names below a project's folder under which skills, commands and instructions lie, whether they are there
    or not. An installer may have called BMAD's folder as it liked."""
    found = dict.fromkeys((*_CLIENT_FOLDERS, *_GITHUB_FOLDERS, *_INSTRUCTIONS, *BMAD_FOLDERS[:2], V4_FOLDER))
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry, _ in zip(entries, range(MAX_ENTRIES), strict=False))
    except OSError:
        names = []
    return [*found, *(name for name in names if name not in found and _is_bmads(folder, name))]


def _is_bmads(folder: str, name: str) -> bool:
    return name.startswith(f"{V4_FOLDER.rpartition('-')[0]}-") or is_bmad_folder(os.path.join(folder, name))


def stays_behind(path: str, part: str) -> bool:
    """Records belong to the main checkout, and there only; litter belongs nowhere. `part`: the project's folder
    below git's top."""
    if not _LITTER.isdisjoint(path.split("/")):
        return True
    inner = path if part == "." else path.removeprefix(f"{part}/")
    return owner_of(inner) is not None or inner.startswith(f"{OUTPUT_FOLDER}/")

"""The Python virtual environment of a lane, and the environment variables that select it."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ..core.errors import FileError
from ..io.files import read_bytes, write_atomic
from .root import Root, find_work_tree

VENV = ".venv"
_VENV_RECORD = "bmad-autopilot-venv.json"  # in the worktree's own git folder: removed with the worktree

# Commands that install into the active environment. `uv sync` does not: it has an environment per folder.
_INSTALL_COMMANDS = re.compile(
    r"\b(pip[\d.]*|poetry|pipenv|pdm|flit)\b[^;&|\n]*\b(install|sync|update|add)\b"
    r"|\bsetup\.py\s+(develop|install)\b|\beasy_install\b"
)
# Task runners and the project files that define their tasks.
_RUNNERS = {
    **dict.fromkeys(("make", "gmake"), ("GNUmakefile", "makefile", "Makefile")),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), ("package.json",)),
    **dict.fromkeys(("inv", "invoke"), ("tasks.py",)),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
}
_MAX_SCRIPT = 1024 * 1024
_CONFLICTING_VARIABLES = frozenset(
    "PYTHONHOME CONDA_PREFIX CONDA_DEFAULT_ENV PYENV_VERSION PIP_USER PIP_TARGET PIP_PREFIX PIP_PYTHON "
    "UV_PROJECT_ENVIRONMENT UV_SYSTEM_PYTHON __PYVENV_LAUNCHER__".split()
)


class Venv(NamedTuple):
    """The virtual environment of a worktree."""

    folder: str
    is_complete: bool  # False: its creation started and may have been killed halfway


def read_venv(git_dir: str, checkout: str) -> Venv | None:
    """Read the record of the worktree with this git folder; None: no environment. The record only selects one of
    two fixed folders, since agents can write to it."""
    try:
        path = os.path.join(git_dir, _VENV_RECORD)
        data: Any = json.loads(read_bytes(path, limit=65536, follow=False))
        return Venv(venv_locations(git_dir, checkout)[data["apart"] is True], data["whole"] is True)
    except (FileError, ValueError, LookupError, TypeError, RecursionError):
        return None


def write_venv(git_dir: str, checkout: str, venv: Venv) -> None:
    data = {"apart": venv.folder == venv_locations(git_dir, checkout)[1], "whole": venv.is_complete}
    write_atomic(os.path.join(git_dir, _VENV_RECORD), json.dumps(data).encode())


def venv_locations(git_dir: str, checkout: str) -> tuple[str, str]:
    """In the checkout, where tools look for it; in the worktree's git folder if that name is taken."""
    return os.path.join(checkout, VENV), os.path.join(git_dir, "bmad-autopilot-venv")


def installs_python_packages(setup: Iterable[str], others: Iterable[str], checkout: str) -> bool:
    """Whether a lane's commands install into the active Python environment: the setup commands including the
    scripts they run, the others by their own text."""
    lines = [*setup, *others, *(text for line in setup for text in _script_texts(line, checkout))]
    return any(map(_INSTALL_COMMANDS.search, lines))


def _script_texts(line: str, checkout: str) -> Iterator[str]:
    """The content of the files that a command runs: the project's scripts and its task runners' files."""
    for word in re.split(r"[\s;&|()<>'\"]+", line):
        for name in _RUNNERS.get(word, (word,) if word and not os.path.isabs(word) else ()):
            path = os.path.join(checkout, name)
            if os.path.isfile(path):
                with suppress(FileError):
                    yield read_bytes(path, limit=_MAX_SCRIPT).decode("utf-8", "replace")


def lane_environment(environment: Mapping[str, str], root: Root) -> dict[str, str]:
    """The environment for programs in this checkout: the worktree's virtual environment, if any, replaces the
    user's. There is no fallback to the user's: if the folder was removed meanwhile, pip refuses to install."""
    tree = find_work_tree(root.checkout) if root.is_linked else None
    venv = read_venv(tree.git_dir, root.checkout) if tree is not None else None
    if venv is None or not venv.is_complete:
        return dict(environment)
    active = [environment[name] for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if environment.get(name)]
    left = {os.path.join(folder, "bin") for folder in active}
    path = [
        entry
        for entry in environment.get("PATH", os.defpath).split(os.pathsep)
        if entry not in left and not _is_venv_of(root.path, entry)
    ]
    kept = {name: value for name, value in environment.items() if name not in _CONFLICTING_VARIABLES}
    if "PYTHONPATH" in kept:
        entries = kept["PYTHONPATH"].split(os.pathsep)
        kept["PYTHONPATH"] = os.pathsep.join(_map_to_lane(entry, root) for entry in entries)
    own = os.path.join(venv.folder, "bin")
    return kept | {
        "VIRTUAL_ENV": venv.folder,
        "PATH": os.pathsep.join((own, *path)),
        "PIP_REQUIRE_VIRTUALENV": "1",
    }


def _is_venv_of(folder: str, entry: str) -> bool:
    """Whether a PATH entry is a virtual environment's `bin` inside this folder, as direnv adds it."""
    parent = os.path.dirname(os.path.normpath(entry))
    return parent.startswith(f"{folder}/") and os.path.isfile(os.path.join(parent, "pyvenv.cfg"))


def _map_to_lane(entry: str, root: Root) -> str:
    """Map a folder of the main checkout to the same folder in the lane's worktree."""
    is_main = entry == root.path or entry.startswith(f"{root.path}/")
    return root.checkout + entry[len(root.path) :] if is_main else entry

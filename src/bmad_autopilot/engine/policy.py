"""What judges a run: the project's settings as the base branch has them, and the project's own checks."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from ..core.errors import AutopilotError, FileError, Place
from ..github.git import Git, GitError
from ..github.history import base_branch
from ..github.trees import read_file
from ..project.commands import commands_of
from ..project.config import with_legacy
from ..project.open import Project
from ..project.settings_file import config_from_bytes, keys_set
from ..project.traces import CONFIG_NAME
from .onlookers import Told
from .snapshots import read_kept


def checks_of(project: Project) -> tuple[str, ...]:
    """The commands that judge the work: those of the settings, and those that the project's files name for each
    kind that the settings do not mention."""
    commands = commands_of(project.root.checkout, project.config.commands)
    return (*commands.check, *commands.test, *commands.build)


class _Committed(NamedTuple):
    """The settings file as the base branch has it."""

    base: str
    raw: bytes
    read: Callable[[str], bytes]  # a file beside it, by its path from the project's top


def with_policy(project: Project, told: Told) -> Project:
    """The settings of the base branch, where they are committed there: an agent's branch cannot change them."""
    found = _committed(project)
    if found is None:
        return project
    path = os.path.join(project.root.path, CONFIG_NAME)
    if read_kept(path) != found.raw:
        text = f"{CONFIG_NAME} is not as on {found.base}; what is committed there counts"
        told("notice", {"text": text}, time.time())
    name = f"{found.base}:{CONFIG_NAME}"
    config = config_from_bytes(found.raw, name, found.read)
    return project._replace(config=with_legacy(project.root, config, lambda: keys_set(name, found.raw)))


def policy_bytes(project: Project) -> bytes:
    """The file that with_policy goes by; empty where there is none."""
    found = _committed(project)
    return found.raw if found else read_kept(os.path.join(project.root.path, CONFIG_NAME)) or b""


def _committed(project: Project) -> _Committed | None:
    git = Git(project.root.checkout)
    base = base_branch(git, project.config.base_branch) if git.work_tree is not None else None
    if base is None:
        return None
    part = os.path.relpath(project.root.checkout, git.top)

    def read(name: str) -> bytes:
        path = os.path.normpath(f"{part}/{name}")
        for remote in ("", "origin/"):
            with suppress(GitError):  # no such branch here: only the remote has it
                raw = read_file(git, f"{remote}{base}", path)
                if raw is not None:
                    return raw
        raise FileError("is not there", place=Place(f"{base}:{name}"))

    try:
        return _Committed(base, read(CONFIG_NAME), read)
    except AutopilotError:
        return None

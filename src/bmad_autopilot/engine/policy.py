"""What judges a run: the project's settings as the base branch has them, and the project's own checks."""

import os
import time
from contextlib import suppress

from ..core.errors import AutopilotError, FileError, Place
from ..github.git import Git, GitError
from ..github.history import base_branch
from ..github.trees import read_file
from ..project.commands import detect_commands
from ..project.config import Commands
from ..project.open import Project
from ..project.settings_file import config_from_bytes
from ..project.traces import CONFIG_NAME
from .snapshots import read_kept
from .world.ground import Told


def checks_of(project: Project) -> tuple[str, ...]:
    config = project.config
    commands: Commands = detect_commands(project.root.checkout) if config.path is None else config.commands
    return (*commands.check, *commands.test, *commands.build)


def with_policy(project: Project, told: Told) -> Project:
    """The settings of the base branch, where they are committed there: an agent's branch cannot change them."""
    git = Git(project.root.checkout)
    base = base_branch(git, project.config.base_branch) if git.work_tree is not None else None
    if base is None:
        return project
    part = os.path.relpath(project.root.path, git.top)

    def read(name: str) -> bytes:
        path = os.path.normpath(f"{part}/{name}")
        for remote in ("", "origin/"):
            with suppress(GitError):  # no such branch here: only the remote has it
                raw = read_file(git, f"{remote}{base}", path)
                if raw is not None:
                    return raw
        raise FileError("is not there", place=Place(f"{base}:{name}"))

    try:
        raw = read(CONFIG_NAME)
    except AutopilotError:
        return project
    path = os.path.join(project.root.path, CONFIG_NAME)
    if read_kept(path) != raw:
        text = f"{CONFIG_NAME} is not as on {base}; what is committed there counts"
        told("notice", {"text": text}, time.time())
    return project._replace(config=config_from_bytes(raw, f"{base}:{CONFIG_NAME}", read))

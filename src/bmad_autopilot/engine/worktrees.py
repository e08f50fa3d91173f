"""A project's worktrees, with what this machine has: its checks' way to run a command, its agents' locks."""

import shlex
from collections.abc import Mapping, Sequence

from ..agents.worktree_lock import lock_path
from ..core.errors import AutopilotError
from ..files import is_locked
from ..gates.checks import run_checks
from ..github.worktrees.site import Ran
from ..github.worktrees.worktrees import Worktrees
from ..project.config import Config
from ..project.root import Root


def worktrees_of(root: Root, config: Config, environment: Mapping[str, str]) -> Worktrees:
    """`environment`: what the project's own checks get."""
    seconds = config.check_timeout * 60.0

    def run(words: Sequence[str], folder: str, logs: str) -> Ran:
        report = run_checks([shlex.join(words)], folder, environment, logs, seconds=seconds)
        check = report.checks[0]
        return Ran(check.exit, report.failures[0].excerpt if report.failures else "", check.log)

    settings = config.worktrees
    if settings.post_create is None and config.commands.install:
        # A person's line for a shell, unlike the words of `post_create`.
        settings = settings._replace(post_create=(shlex.join(("sh", "-c", config.commands.install)),))
    return Worktrees(root, settings, run=run, is_busy=_is_busy)


def _is_busy(folder: str) -> bool:
    try:
        return is_locked(lock_path(folder))
    except AutopilotError:  # its git folder is gone: there is nothing to lock
        return False

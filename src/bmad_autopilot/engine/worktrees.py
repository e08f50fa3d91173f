"""A project's worktrees, with what this machine has: its checks' way to run a command, its agents' locks."""

import shlex
import threading
from collections.abc import Callable, Mapping, Sequence

from ..agents.worktree_lock import lock_path
from ..core.errors import AutopilotError, Place
from ..files import is_locked
from ..gates.checks import run_checks
from ..github.worktrees.site import Ran
from ..github.worktrees.worktrees import Worktrees
from ..project.commands import commands_of
from ..project.config import Config
from ..project.programs import lane_environment
from ..project.root import Root


class Preparing:
    """The commands that make worktrees ready just now, in the threads of their lanes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[str, str] = {}  # folder → command
        self._is_over = False

    def under_way(self) -> list[str]:
        """In words."""
        with self._lock:
            return [f"`{line}` in {folder}" for folder, line in self._under_way.items()]

    def end(self) -> None:
        """All of them, with everything that they have started; and none is begun any more."""
        self._is_over = True

    def is_over(self) -> bool:
        return self._is_over

    def begin(self, line: str, folder: str) -> None:
        with self._lock:
            self._under_way[folder] = line

    def ended(self, line: str, folder: str) -> None:
        with self._lock:
            del self._under_way[folder]
        if self._is_over:
            raise AutopilotError(f"`{line}` was stopped", place=Place(folder))


def worktrees_of(
    root: Root, config: Config, environment: Mapping[str, str], preparing: Preparing | None = None
) -> Worktrees:
    """`environment`: what the project's own checks get."""
    seconds = config.check_timeout * 60.0
    known = preparing or Preparing()

    def run(words: Sequence[str], folder: str, logs: str) -> Ran:
        line = shlex.join(words)
        known.begin(line, folder)
        try:
            own = lane_environment(environment, Root(root.path, folder, root.common_dir))
            report = run_checks([line], folder, own, logs, seconds=seconds, ends=known.is_over)
        finally:
            known.ended(line, folder)
        check = report.checks[0]
        return Ran(check.exit, report.failures[0].excerpt if report.failures else "", check.log)

    settings = config.worktrees
    if settings.post_create is None and config.commands.install:
        # A person's line for a shell, unlike the words of `post_create`.
        settings = settings._replace(post_create=(shlex.join(("sh", "-c", config.commands.install)),))
    commands = commands_of(root.checkout, config.commands)
    others = (*commands.check, *commands.test, *commands.build)
    return Worktrees(root, settings, run=run, is_busy=_is_busy, others=others)


def clear_place(worktrees: Worktrees, key: str, say: Callable[[str], None]) -> None:
    """After the epic's merge. What would be lost with its worktree stays, and is named."""
    try:
        removed = worktrees.remove(key) if worktrees.find(key) is not None else None
        why = removed.reason if removed is not None else ""
    except (AutopilotError, OSError) as error:
        why = " ".join(str(error).split())
    if why:
        say(f"the worktree of {key} stays: {why}")


def _is_busy(folder: str) -> bool:
    try:
        return is_locked(lock_path(folder))
    except AutopilotError:  # its git folder is gone: there is nothing to lock
        return False

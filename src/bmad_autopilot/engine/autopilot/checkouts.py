"""Provides the checkout a lane works in: the checkout shared by all lanes, or a worktree of its own."""

import os
import shlex
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ...agents.start import worktree_lock_path
from ...core.errors import AutopilotError, ConflictError, Location
from ...core.lane_scope import LaneScope
from ...core.run_ending import RunEnding
from ...core.text import one_line
from ...gates.checks import run_checks
from ...git.branches import Branches
from ...git.git import Git, format_paths
from ...git.history import current_branch
from ...git.worktree_state import precondition_error, read_worktree_state, worktree_error
from ...git.worktrees.lane_worktrees import Worktrees
from ...git.worktrees.marker import list_lane_worktrees
from ...git.worktrees.site import CommandResult
from ...github.forge import Forge
from ...io.files import is_locked
from ...project.commands import resolve_commands
from ...project.config import Config
from ...project.lane_venv import lane_environment
from ...project.project import Project, open_project, task_project
from ...project.root import Root
from ..commits import first_variables
from ..lane import Lane
from ..run_setup import NO_CAPS, DirtyTree, find_target_row, new_lane
from ..start_agent import command_environment
from ..waiting import Waiter
from .lanes import LaneState
from .ports import EpicBranches, LaneRunContext

if TYPE_CHECKING:
    from ..runner import RunEnd


# Preconditions checked before the first agent call: the checkout, the forge, the base branch.


def check_checkout(git: Git, lanes: list[LaneState], *, use_worktrees: bool) -> None:
    """Refuse uncommitted changes in the shared checkout, unless a lane of ours is at work there."""
    ground = read_worktree_state(git)
    problem = (
        precondition_error(ground) if ground.branch is not None else worktree_error(ground)
    )  # the lane switches to its branch
    if problem is not None:
        raise problem
    if ground.dirty and not use_worktrees and not any(state.is_at_work for state in lanes):
        raise DirtyTree(ground.dirty)


def check_remote(branches: EpicBranches, remote: str) -> None:
    if not branches.remote_url():
        hint = f'git remote add {remote} …; or delivery = "local" in bmad-autopilot.toml: merged here'
        raise AutopilotError(f"there is no remote called {remote}", expected="a GitHub repository", hint=hint)


def check_forge(forge: Forge) -> None:
    repository = forge.repository()
    name = repository.full_name
    if repository.is_archived:
        raise AutopilotError(f"{name} is archived", expected="a repository that takes pull requests")
    if not repository.can_push:
        hint = "gh auth status shows whose login is used; a fork's owner sets its remote as origin"
        raise AutopilotError(f"{repository.viewer or 'this login'} may not push to {name}", hint=hint)


def require_base_branch(branches: EpicBranches, config: Config) -> str:
    base = branches.base_branch(config.base_branch)
    if base is None:
        hint = 'base_branch = "…" in bmad-autopilot.toml'
        raise AutopilotError("it cannot be told which branch work goes to", hint=hint)
    return base


# A lane's checkout for commands that resume it without the autopilot.


def open_lane_project(project: Project, lane: Lane | None) -> Project:
    """The project as the lane sees it: opened in its worktree if it has one, and with its tasks if it works on
    tasks; otherwise unchanged."""
    if lane is None:
        return project
    found = _open_lane_worktree(project, lane) if lane.delivery is not None else project
    return task_project(found) if lane.of_tasks else found


def _open_lane_worktree(project: Project, lane: Lane) -> Project:
    standing = list_lane_worktrees(project.root)
    folder = next((one.folder for one in standing if one.epic == lane.key), project.root.checkout)
    return project if folder == project.root.checkout else open_project(folder)


def remove_merged_worktree(project: Project, end: "RunEnd", notify: Callable[[str], None]) -> None:
    """Remove the worktree of a merged lane, as the autopilot does, unless the current directory is inside it."""
    if (
        not end.record.delivery.merged
        or end.status is not RunEnding.COMPLETED
        or project.root.checkout == project.root.path
    ):
        return
    place = os.path.realpath(project.root.checkout)
    if os.path.commonpath((os.path.realpath(os.getcwd()), place)) == place:
        notify(f"the worktree of {end.lane.key} stays: you are in it; the next bmad autopilot clears it away")
        return

    environment = command_environment(project.config, project.state_folder)
    remove_worktree(make_worktrees(project.root, project.config, environment), end.lane.key, notify)


# Worktrees wired to the check runner (for setup commands) and to the agents' locks.


class SetupCommands:
    """The setup commands running in new worktrees. Each runs in its lane's thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, str] = {}  # folder → command
        self._is_stopped = False

    def describe_running(self) -> list[str]:
        """One text per running command, for messages."""
        with self._lock:
            return [f"`{line}` in {folder}" for folder, line in self._running.items()]

    def stop(self) -> None:
        """Stop all of them with their child processes; later ones stop at once."""
        self._is_stopped = True

    def is_stopped(self) -> bool:
        return self._is_stopped

    def register(self, line: str, folder: str) -> None:
        with self._lock:
            self._running[folder] = line

    def unregister(self, line: str, folder: str) -> None:
        with self._lock:
            del self._running[folder]
        if self._is_stopped:
            raise AutopilotError(f"`{line}` was stopped", location=Location(folder))


def make_worktrees(
    root: Root, config: Config, environment: Mapping[str, str], setup_commands: SetupCommands | None = None
) -> Worktrees:
    """`environment`: the environment of the project's own checks; setup commands get the same."""
    seconds = config.check_timeout * 60.0
    running = setup_commands or SetupCommands()

    def run(words: Sequence[str], folder: str, logs: str) -> CommandResult:
        line = shlex.join(words)
        running.register(line, folder)
        try:
            own = lane_environment(environment, Root(root.path, folder, root.common_dir))
            report = run_checks([line], folder, own, logs, seconds=seconds, should_stop=running.is_stopped)
        finally:
            running.unregister(line, folder)
        check = report.checks[0]
        return CommandResult(check.exit, report.failures[0].excerpt if report.failures else "", check.log)

    settings = config.worktrees
    if settings.post_create is None and config.commands.install:
        # `commands.install` is a shell line, unlike the argument list of `post_create`.
        settings = settings._replace(post_create=(shlex.join(("sh", "-c", config.commands.install)),))
    commands = resolve_commands(root.checkout, config.commands)
    others = (*commands.check, *commands.test, *commands.build)
    return Worktrees(root, settings, run=run, is_busy=_is_busy, later_commands=others)


def remove_worktree(worktrees: Worktrees, key: str, notify: Callable[[str], None]) -> None:
    """Remove the worktree after the epic's merge. It stays, with a notice, if unsaved work would be lost."""
    try:
        removed = worktrees.remove(key) if worktrees.find(key) is not None else None
        why = removed.reason if removed is not None else ""
    except (AutopilotError, OSError) as error:
        why = one_line(str(error))
    if why:
        notify(f"the worktree of {key} stays: {why}")


def _is_busy(folder: str) -> bool:
    try:
        return is_locked(worktree_lock_path(folder))
    except AutopilotError:  # its git folder is gone, so nothing can hold a lock
        return False


class ProjectCheckout:
    """One lane's checkout: the project as it is opened there."""

    def __init__(self, project: Project) -> None:
        self.project = project

    def new_lane(self, key: str) -> Lane:
        row = find_target_row(self.project, LaneScope.EPIC, key)
        return new_lane(self.project, LaneScope.EPIC, row, NO_CAPS, None, False)

    def make_run(self, lane: Lane) -> str:
        from ..runner import make_run_folder

        return make_run_folder(self.project, lane)

    def start(self, lane: Lane, folder: str, context: LaneRunContext) -> "RunEnd":
        from ..runner import run_lane

        return run_lane(
            self.project,
            lane,
            folder,
            context.on_event,
            context.human,
            resumed=False,
            variables=first_variables(lane, os.path.basename(self.project.root.path)),
            forge=lambda git, remote: context.forge(),
            limits=context.limits,
            waiter=_own_waiter(context),
        )

    def resume(self, folder: str, context: LaneRunContext) -> "RunEnd":
        from ..runner import resume_lane

        return resume_lane(
            self.project,
            folder,
            context.on_event,
            context.human,
            NO_CAPS,
            unattended=context.unattended,
            forge=lambda git, remote: context.forge(),
            limits=context.limits,
            waiter=_own_waiter(context),
        )


def _own_waiter(context: LaneRunContext) -> Waiter | None:
    assert context.waiter is None or isinstance(context.waiter, Waiter), "a lane on disk needs a real waiter"
    return context.waiter


class LaneCheckouts:
    """`use_worktrees`: each new lane gets a worktree. An existing worktree is reused either way."""

    def __init__(
        self, project: Project, branches: Branches, notify: Callable[[str], None], *, use_worktrees: bool
    ) -> None:
        self._project = project
        self._branches = branches
        self._notify = notify
        self._use_worktrees = use_worktrees
        self._git = Git(project.root.checkout)
        environment = command_environment(project.config, project.state_folder)
        self._setup_commands = SetupCommands()
        self._worktrees = make_worktrees(project.root, project.config, environment, self._setup_commands)

    def check(self, lanes: list[LaneState]) -> None:
        check_checkout(self._git, lanes, use_worktrees=self._use_worktrees)

    def describe_setup(self) -> list[str]:
        return self._setup_commands.describe_running()

    def stop_setup(self) -> None:
        self._setup_commands.stop()

    def tidy(self, in_use: set[str]) -> None:
        """Remove worktrees that earlier commands left and no lane uses."""
        try:
            found = self._worktrees.remove_unused(in_use)
        except (AutopilotError, OSError) as error:  # cleaning up is optional
            why = one_line(str(error))
            self._notify(f"worktrees that earlier commands left cannot be cleared away: {why}")
            return
        for removed in found:
            if not removed.is_gone:
                self._notify(f"the worktree of {removed.epic} stays: {removed.reason}")

    def create(self, key: str, branch: str, commit: str) -> ProjectCheckout:
        if not self._use_worktrees:
            self._branches.switch(branch, commit)
            return ProjectCheckout(self._project)
        return self._create_worktree(key, branch, commit)

    def reopen(self, state: LaneState) -> ProjectCheckout:
        """The checkout that holds the lane's work. A delivered lane needs it only for fixes and checks."""
        key, branch = state.lane.key, state.lane.branch
        found = self._worktrees.find(key)
        if found is not None:
            self._worktrees.refresh(key)
            return self._open(found)
        if self._is_in_shared_checkout(branch):
            return ProjectCheckout(self._project)
        return self._create_worktree(key, branch, state.record.delivery.head or branch)

    def _has_worktree(self, key: str) -> bool:
        return self._worktrees.find(key) is not None

    def _is_in_shared_checkout(self, branch: str) -> bool:
        return not self._use_worktrees or current_branch(self._git) == branch

    def check_out(self, state: LaneState, lanes: Iterable[LaneState]) -> str:
        """Switch the shared checkout to the lane's branch, if the lane works there. Returns why that is not
        possible now; empty: the lane can resume."""
        key, branch = state.lane.key, state.lane.branch
        if not state.is_at_work or self._has_worktree(key) or not self._is_in_shared_checkout(branch):
            return ""
        try:
            why = self.occupied_reason(key, lanes)
            if not why:
                self._branches.switch(branch)
        except ConflictError as error:
            why = str(error)
        return why

    def occupied_reason(self, key: str, lanes: Iterable[LaneState]) -> str:
        """Why the lane cannot have the shared checkout: another lane's uncommitted files are there. An untracked
        file would follow to any branch, and another lane's agent and checks would see it."""
        if self._has_worktree(key):
            return ""
        ground = read_worktree_state(self._git)
        others = (one for one in lanes if one.lane.key != key and one.is_at_work)
        owner = next((one for one in others if one.lane.branch == ground.branch), None)
        if owner is None or self._has_worktree(owner.lane.key):
            return ""
        files = [path for path in (*ground.dirty, *ground.untracked) if path not in owner.lane.dirty]
        return f"what {owner.lane.key} has not finished lies there: {format_paths(files)}" if files else ""

    def _create_worktree(self, key: str, branch: str, commit: str) -> ProjectCheckout:
        made = self._worktrees.create(key, branch, commit)
        for note in made.notes:
            self._notify(f"{key}: {note}")
        return self._open(made.root)

    def _open(self, root: Root) -> ProjectCheckout:
        """With the settings of the base branch, as for every lane."""
        opened = open_project(root.checkout)._replace(config=self._project.config)
        return ProjectCheckout(task_project(opened) if self._project.tasks_folder else opened)

    def remove(self, key: str) -> None:
        remove_worktree(self._worktrees, key, self._notify)

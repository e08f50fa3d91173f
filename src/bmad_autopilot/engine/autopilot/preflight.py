"""What must hold before an agent costs anything: the checkout, the forge, the branch that work goes to."""

from ...core.errors import AutopilotError
from ...github.branches import Branches
from ...github.forge import Forge
from ...github.git import Git
from ...github.ground import look_at_ground, refusal, unfit
from ...project.config import Config
from ..setting_out import DirtyTree
from .lanes import Held


def check_ground(git: Git, lanes: list[Held], *, apart: bool) -> None:
    """What lies in the checkout is somebody's, unless a lane of ours is at work there."""
    ground = look_at_ground(git)
    problem = refusal(ground) if ground.branch is not None else unfit(ground)  # a branch is switched to
    if problem is not None:
        raise problem
    if ground.dirty and not apart and not any(held.is_at_work for held in lanes):
        raise DirtyTree(ground.dirty)


def check_remote(branches: Branches, remote: str) -> None:
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


def base_of(branches: Branches, config: Config) -> str:
    base = branches.base_branch(config.base_branch)
    if base is None:
        hint = 'base_branch = "…" in bmad-autopilot.toml'
        raise AutopilotError("it cannot be told which branch work goes to", hint=hint)
    return base

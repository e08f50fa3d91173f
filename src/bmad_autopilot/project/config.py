"""The project's settings: bmad-autopilot.toml, then the bash autopilot's old file, then defaults."""

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ..core.diagnostics import Diagnostic
from .layers import Setting
from .root import Root
from .traces import CONFIG_NAME

if TYPE_CHECKING:
    from .custom import CustomAgent, CustomLauncher

ROLES = ("sm", "dev", "revisor", "qa")


class Role(NamedTuple):
    """Who does one kind of step; None stands for the project's agent and the agent's own model."""

    agent: str | None = None
    model: str | None = None
    launcher: str | None = None  # None: the agent's own, else here on this machine


class Commands(NamedTuple):
    """The project's own commands, as a person would type them."""

    install: str | None = None
    check: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    build: tuple[str, ...] = ()


class Config(NamedTuple):
    """Every setting with its default; schema.py describes them, settings_file.py reads them."""

    path: str | None = None  # None: there is no file
    board: Setting | None = None
    workflow: str = "auto"
    agent: str = "claude"
    base_branch: str | None = None  # None: asked of git
    stale_days: int = 7
    roles: Mapping[str, Role] = MappingProxyType(dict.fromkeys(ROLES, Role()))
    commands: Commands = Commands()
    story_timeout: int = 30  # minutes, as all times here
    story_timeout_cap: int = 120
    stall_limit: int = 15
    bypass_permissions: bool = False
    allowed: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    agents: "Mapping[str, CustomAgent]" = MappingProxyType({})
    launchers: "Mapping[str, CustomLauncher]" = MappingProxyType({})
    diagnostics: tuple[Diagnostic, ...] = ()

    def agent_of(self, role: str) -> str:
        return self.roles[role].agent or self.agent

    def launcher_of(self, role: str) -> str | None:
        """The role's, else its agent's; None: no launcher."""
        custom = self.agents.get(self.agent_of(role))
        return self.roles[role].launcher or (custom.launcher if custom else None)

    def client_of(self, agent: str) -> str:
        """The client whose skills and invocations an agent understands: itself, unless the project made it."""
        custom = self.agents.get(agent)
        return custom.skills if custom else agent


def load_config(root: Root) -> Config:
    """The settings of the project's owner: an agent in a worktree cannot change what it is judged by."""
    config = Config()
    path = f"{root.path}/{CONFIG_NAME}"
    if os.path.lexists(path):
        from .settings_file import read_config

        config = read_config(path)
    old = f"{root.path}/.autopilot/config"
    if os.path.lexists(old):
        from .autopilot_config import read_autopilot_config

        legacy = read_autopilot_config(old)
        branch = config.base_branch or legacy.base_branch
        config = config._replace(base_branch=branch, diagnostics=legacy.diagnostics)
    return config

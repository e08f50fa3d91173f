"""Finds an agent's adapter by name: the built-in ones, and custom commands from the project's settings."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from ..core.errors import UsageError

if TYPE_CHECKING:
    from ..project.config import CustomAgent
    from .adapter import Agent


# Name → program. The adapter is the module of that name, imported on first use.
PROGRAMS = {
    "claude": "claude",
    "codex": "codex",
    "opencode": "opencode",
    "gemini": "gemini",
    "copilot": "copilot",
    "cursor": "cursor-agent",
}
AGENT_NAMES = tuple(PROGRAMS)


def find_agent(name: str, custom: "Mapping[str, CustomAgent]") -> "Agent":
    if name in custom:
        from .command import CommandAgent

        return CommandAgent(name, custom[name])
    if name not in AGENT_NAMES:
        known = ", ".join([*AGENT_NAMES, *custom])
        raise UsageError(f"there is no agent {name!r}", expected=known, hint="bmad agent list")
    agent: Agent = getattr(import_module(f".{name}", __package__), name.upper())
    return agent


def find_recorded_agent(name: str, custom: "Mapping[str, CustomAgent]") -> "Agent":
    """The agent named in a record. One that the settings no longer define is treated as a plain command."""
    if name in AGENT_NAMES or name in custom:
        return find_agent(name, custom)
    from ..project.config import CustomAgent
    from .command import CommandAgent

    return CommandAgent(name, CustomAgent(()))


# How to install each agent CLI, and its name in BMAD's installer.


class AgentPackage(NamedTuple):
    install: str  # the command a user types
    installer_id: str  # for the installer's --tools


PACKAGES = {
    "claude": AgentPackage("npm install -g @anthropic-ai/claude-code", "claude-code"),
    "codex": AgentPackage("npm install -g @openai/codex", "codex"),
    "opencode": AgentPackage("npm install -g opencode-ai", "opencode"),
    "gemini": AgentPackage("npm install -g @google/gemini-cli", "gemini"),
    "copilot": AgentPackage("npm install -g @github/copilot", "github-copilot"),
    # The npm package of that name is an unrelated project.
    "cursor": AgentPackage("see https://cursor.com/cli", "cursor"),
}

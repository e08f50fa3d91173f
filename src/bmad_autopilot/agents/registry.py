"""Every agent by its name: those we know, and those a project made of a command."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from ..core.errors import UsageError

if TYPE_CHECKING:
    from ..project.custom import CustomAgent
    from .protocol import Agent

# Name → its program. The adapter is in the file of that name, imported when asked for.
PROGRAMS = {
    "claude": "claude",
    "codex": "codex",
    "opencode": "opencode",
    "gemini": "gemini",
    "copilot": "copilot",
    "cursor": "cursor-agent",
}
NAMES = tuple(PROGRAMS)


def find_agent(name: str, custom: "Mapping[str, CustomAgent]") -> "Agent":
    if name in custom:
        from .command import Command

        return Command(name, custom[name])
    if name not in NAMES:
        known = ", ".join([*NAMES, *custom])
        raise UsageError(f"there is no agent {name!r}", expected=known, hint="bmad agent list")
    agent: Agent = getattr(import_module(f".{name}", __package__), name.upper())
    return agent


def recorded_agent(name: str, custom: "Mapping[str, CustomAgent]") -> "Agent":
    """The agent a record names. One that the settings no longer have is read as any command is."""
    if name in NAMES or name in custom:
        return find_agent(name, custom)
    from ..project.custom import CustomAgent
    from .command import Command

    return Command(name, CustomAgent(()))

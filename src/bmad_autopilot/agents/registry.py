"""Every agent by its name: those we know, and those a project made of a command."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from ..core.errors import UsageError

if TYPE_CHECKING:
    from ..project.custom import CustomAgent
    from .protocol import Agent

# Name → the adapter in the file of that name. Imported when asked for.
NAMES = ("claude", "codex", "opencode", "gemini", "copilot", "cursor")


def find_agent(name: str, custom: "Mapping[str, CustomAgent]") -> "Agent":
    if name in custom:
        from .command import Command

        return Command(name, custom[name])
    if name not in NAMES:
        known = ", ".join([*NAMES, *custom])
        raise UsageError(f"there is no agent {name!r}", expected=known, hint="bmad agent list")
    agent: Agent = getattr(import_module(f".{name}", __package__), name.upper())
    return agent

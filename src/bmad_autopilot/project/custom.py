"""What a project defines itself: agents that are any command, and launchers that take an agent elsewhere."""

from typing import NamedTuple

EXIT = "exit"
EVIDENCE = "evidence"


class CustomAgent(NamedTuple):
    """One [agents.NAME] table."""

    command: tuple[str, ...]  # one text where `shell` is set
    stop: tuple[str, ...] = ()
    shell: bool = False
    completion: str = EXIT  # EVIDENCE: the command returns before the work is done
    skills: str = "claude"  # the client whose skill invocations it understands
    launcher: str | None = None


class CustomLauncher(NamedTuple):
    """One [launchers.NAME] table."""

    kind: str | None = None
    target: str | None = None
    argv: tuple[str, ...] = ()
    stop: tuple[str, ...] = ()

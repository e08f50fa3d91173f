"""What the project's own commands get of our environment: as agents, and none of our tokens."""

import os

from ..agents.environment import agent_environment
from ..project.config import Config


def plain_environment(config: Config, folder: str) -> dict[str, str]:
    """`folder`: in which they have a place of their own for what they would keep in a home."""
    private = os.path.join(folder, "private")
    for name in ("gh", "tmp"):
        os.makedirs(os.path.join(private, name), 0o700, exist_ok=True)
    return agent_environment(os.environ, variables=(), passed=config.passed, private=private, identity=None)

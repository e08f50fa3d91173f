"""What the project's own commands get of our environment: as agents, and none of our tokens."""

import os

from ..agents.environment import agent_environment
from ..project.config import Config
from ..project.programs import lane_environment
from ..project.root import Root


def plain_environment(config: Config, folder: str, root: Root | None = None) -> dict[str, str]:
    """`folder`: in which they have a place of their own for what they would keep in a home. `root`: where they
    run; in a lane's worktree they get its virtual environment of Python."""
    private = os.path.join(folder, "private")
    for name in ("gh", "tmp"):
        os.makedirs(os.path.join(private, name), 0o700, exist_ok=True)
    plain = agent_environment(os.environ, variables=(), passed=config.passed, private=private, identity=None)
    return lane_environment(plain, root) if root is not None else plain

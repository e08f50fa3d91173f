"""The end of what an agent printed, for a person who asks what happened."""

import os
from collections import deque

from ..agents.attempts import read_spec
from ..agents.events import read_events
from ..agents.registry import recorded_agent
from ..agents.shim import records
from ..core.errors import FileError
from ..project.config import Config

MAX_READ = 128 * 1024
MAX_LINES = 8
MAX_LINE = 200


def last_lines(folder: str, config: Config) -> str:
    """Empty: it printed nothing, or nobody knows. Secrets were taken out before it was written down."""
    path = f"{folder}/{records.EVENTS}"
    try:
        agent = recorded_agent(read_spec(folder).agent, config.agents)
        start = max(0, os.stat(path).st_size - MAX_READ)
    except (FileError, OSError):
        return ""
    found: deque[str] = deque(maxlen=MAX_LINES)
    for event, _ in read_events(path, start):  # the rest of a line that was cut in two is passed over
        for line in agent.lines(event):
            found.extend(text.strip()[:MAX_LINE] for text in line.splitlines() if text.strip())
    return "\n".join(found)

"""A run as JSON, one object in each line: the entries of its journal, what is planned before, what came of it."""

import json
from collections.abc import Mapping
from typing import Any

VERSION = 1


def event(kind: str, data: Mapping[str, Any], at: float) -> str:
    """ASCII alone: whatever a pipe is encoded in, and whatever an agent said, it is one line of JSON."""
    head = {"version": VERSION, "event": kind, "at": round(at, 3)}
    return json.dumps(head | {name: value for name, value in data.items() if name not in head}, default=str)

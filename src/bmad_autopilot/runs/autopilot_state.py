"""`.autopilot/state.json` and `autopilot.log`, as the bash autopilot keeps them: for whoever reads those."""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ..core.errors import FileError
from ..files import refuse_shared
from .json_files import list_of, read_object, text_of, write_object

FOLDER, STATE, LOG = ".autopilot", "state.json", "autopilot.log"
MAX_LOG = 5 * 1024 * 1024
MAX_EPICS = 1000


class PendingPull(NamedTuple):
    epic: str
    number: int
    status: str
    checked: float
    review: str = ""  # the last review of Copilot's that was seen


def write_autopilot_state(
    project: str, phase: str, epic: str, completed: Sequence[str], pending: Sequence[PendingPull]
) -> None:
    """In the short form; in the long one as soon as pull requests wait beside the epic in hand, because the short
    one has no place for them."""
    data: dict[str, Any] = {"phase": phase, "current_epic": epic or None, "completed_epics": list(completed)}
    if any(one.epic != epic for one in pending):
        data = {
            "mode": "parallel",
            "active_epic": epic or None,
            "active_phase": phase,
            "active_worktree": None,
            "pending_prs": [_pending(one) for one in pending],
            "completed_epics": list(completed),
            "paused_context": None,
        }
    os.makedirs(os.path.join(project, FOLDER), exist_ok=True)
    write_object(os.path.join(project, FOLDER, STATE), data)


def _pending(one: PendingPull) -> dict[str, Any]:
    return {
        "epic": one.epic,
        "pr_number": one.number,
        "worktree": None,
        "status": one.status,
        "last_check": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(one.checked)),
        "last_copilot_id": one.review or None,
    }


def completed_epics(project: str) -> tuple[str, ...]:
    """As the file says, in either form. One that cannot be read says nothing: what is merged can be seen."""
    try:
        data = read_object(os.path.join(project, FOLDER, STATE))
    except FileError:
        return ()
    found = list_of(data.get("completed_epics")) if data else []
    return tuple(filter(None, (text_of(one) for one in found[:MAX_EPICS])))


def log_line(project: str, text: str) -> None:
    """One line with its time. A log that has grown too long begins anew; the one before it is kept. One that
    cannot be written holds nothing up."""
    from ..agents.shim.redaction import redact

    path = os.path.join(project, FOLDER, LOG)
    line = redact(" ".join(text.split()))[:2000]
    with suppress(OSError, FileError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.lexists(path) and os.path.getsize(path) > MAX_LOG:
            os.replace(path, f"{path}.1")
        # Agents can write there too: no link is followed, and nobody has to read before we go on.
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
        with open(fd, "a", encoding="utf-8", errors="replace") as file:
            refuse_shared(fd, path)
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n")

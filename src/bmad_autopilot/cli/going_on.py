"""What is typed to go on with a run that nobody looks after."""

from ..core.commands import command
from ..runs.journal import lane_entry
from ..runs.layout import SESSION


def going_on(run: str) -> str:
    """With the run in this folder."""
    entry = lane_entry(run)
    known = entry.data if entry is not None else {}
    return command_for(bool(known.get("delivery")), str(known.get("session") or SESSION))


def command_for(is_delivered: bool, session: str) -> str:
    """The autopilot takes its lanes to the base branch, and sees to all of them; any other run is resumed."""
    if not is_delivered:
        return "bmad resume"
    return command("autopilot", *(() if session == SESSION else ("--session", session)))

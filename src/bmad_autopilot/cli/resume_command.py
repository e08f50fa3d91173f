"""The command that resumes a run without a supervisor."""

from ..core.errors import command
from ..runs.journal import lane_entry
from ..runs.layout import SESSION


def resume_command(run: str) -> str:
    """The command for the run in this folder."""
    entry = lane_entry(run)
    known = entry.data if entry is not None else {}
    return resume_command_for(bool(known.get("delivery")), str(known.get("session") or SESSION))


def resume_command_for(is_delivered: bool, session: str) -> str:
    """`bmad autopilot` for runs with delivery, as it resumes all its lanes; `bmad resume` for others."""
    if not is_delivered:
        return "bmad resume"
    return command("autopilot", *(() if session == SESSION else ("--session", session)))

"""Runs that other tools have left behind, found by their state files: 000's commands in Cursor, 002's bash script.
Nothing is changed here; whoever goes on with one takes it from the board."""

import os
from typing import NamedTuple

from ..core.errors import FileError
from .epic_state import NAME as EPIC_STATE
from .epic_state import Status, read_epic_state
from .json_files import Object, list_of, number_of, read_object, text_of

SCRIPT_STATE = os.path.join(".autopilot", "state.json")
COMMANDS, SCRIPT = "the /run-epic command", "the bmad-autopilot script"
MAX_LISTED = 200

_OVER = ("done", "completed", "complete")


class PendingPr(NamedTuple):
    epic: str
    number: int  # 0: not known
    status: str = ""


class LeftBehind(NamedTuple):
    tool: str
    path: str
    epic: str = ""
    story: str = ""
    phase: str = ""
    status: str = ""  # running, paused, blocked
    since: float = 0.0
    failure: str = ""  # what went wrong last: `dev of 1-2-login`
    completed: tuple[str, ...] = ()  # epics
    pending: tuple[PendingPr, ...] = ()
    problem: str = ""  # why the rest is not known: the file cannot be read


def left_behind(root: str, implementation: str) -> LeftBehind | None:
    """`root`: the project's folder, `implementation`: where its stories lie. None: there is nothing, it is over,
    or it is our own."""
    return _by_commands(os.path.join(implementation, EPIC_STATE)) or _by_script(os.path.join(root, SCRIPT_STATE))


def _by_commands(path: str) -> LeftBehind | None:
    try:
        state = read_epic_state(path)
    except FileError:
        return None  # ours is written whole, and made anew
    if state is None or state.run_id or not (state.epic_id or state.current_story_key):
        return None
    is_over = not state.current_story_key or text_of(state.others.get("completedAt"))
    if state.status is not Status.RUNNING and is_over:
        return None
    failure = state.last_failure
    return LeftBehind(
        COMMANDS,
        path,
        state.epic_id,
        state.current_story_key or "",
        state.last_steps[-1].phase if state.last_steps else "",
        state.status.value,
        state.started_at,
        " of ".join(filter(None, (failure.phase, failure.story_key))) if failure else "",
    )


def _by_script(path: str) -> LeftBehind | None:
    try:
        data = read_object(path)
    except FileError as error:
        return LeftBehind(SCRIPT, path, status="unknown", problem=error.message)
    if data is None:
        return None
    paused = data.get("paused_context")
    held: Object = paused if isinstance(paused, dict) else {}
    epic = _name(data.get("current_epic")) or _name(data.get("active_epic")) or _name(held.get("epic"))
    phase = _name(data.get("phase")) or _name(data.get("active_phase")) or _name(held.get("phase"))
    pending = tuple(
        _pending(item) for item in list_of(data.get("pending_prs"))[:MAX_LISTED] if isinstance(item, dict)
    )
    if not epic and not pending:
        return None
    if phase.lower() in _OVER and not pending:
        return None
    completed = tuple(filter(None, map(_name, list_of(data.get("completed_epics"))[:MAX_LISTED])))
    status = "blocked" if phase.upper() == "BLOCKED" else "paused" if _name(held.get("epic")) else "running"
    return LeftBehind(SCRIPT, path, epic, "", phase, status, _time(path), "", completed, pending)


def _pending(item: Object) -> PendingPr:
    return PendingPr(_name(item.get("epic")), number_of(item.get("pr_number")), _name(item.get("status")))


def _name(value: object) -> str:
    """`null` and `none` as a word are what bash makes of nothing."""
    text = text_of(value).strip()
    return "" if text.lower() in ("null", "none", "[]", "{}") else text


def _time(path: str) -> float:
    """It says of itself nothing about when."""
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0

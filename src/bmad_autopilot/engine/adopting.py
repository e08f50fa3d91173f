"""Going on where another tool's run stood: the epic from the board, and what was asked and answered about the
story it was at."""

import os

from ..core.errors import ConflictError, FileError, Place
from ..files import copy_file
from ..project.open import Project
from ..runs.adoption import COMMANDS, LeftBehind, left_behind
from ..runs.agent_state import AgentState, read_agent_state
from ..runs.times import iso
from ..workflows.step_context import Answered, Halfway
from .doors import Asked
from .lane import Lane

KEPT = "adopted.json"  # in the run's folder: the state file of whoever had it before


def take_over(project: Project, *, adopt: bool) -> LeftBehind | None:
    """What another tool has left. One that says it is running is refused: two at once is what its file is for."""
    left = left_behind(project.root.path, project.folders.implementation)
    if left is not None and left.tool == COMMANDS and left.status == "running" and not adopt:
        raise LeftRunning(left)
    return left if adopt else None


class LeftRunning(ConflictError):
    """A run of another tool's that says it is under way; nobody can tell whether it is."""

    def __init__(self, left: LeftBehind) -> None:
        since = f"since {iso(left.since)}" if left.since else ""
        super().__init__(
            f"{left.tool} says that it is at work on {left.epic}",
            place=Place(left.path),
            found=", ".join(filter(None, ("status running", left.story and f"at {left.story}", since))),
            hint="bmad resume --adopt goes on with it; bmad stop sets it to paused",
        )
        self.left = left


def adopt_lane(lane: Lane, left: LeftBehind, folder: str) -> Lane:
    """What is asked in its story's agent-state file is asked first, and what was answered there is told."""
    copy_file(left.path, os.path.join(folder, KEPT))
    return lane._replace(adopted=left.story)


def left_question(path: str) -> Asked | None:
    """The first that nobody has answered."""
    state = _state(path)
    asked = next(iter(state.open), None) if state else None
    if asked is None or state is None:
        return None
    return Asked(asked.id, asked.question, asked.context, asked.options, state.block_reason)


def left_halfway(path: str) -> Halfway | None:
    """What the first call of ours is told of the one that asked."""
    state = _state(path)
    if state is None or not (state.questions or state.blocked_at or state.last_completed_step):
        return None
    answers = (Answered(one.question, one.answer, one.context) for one in state.questions if one.answer)
    return Halfway(state.blocked_at, state.last_completed_step, state.artifacts_produced, tuple(answers))


def _state(path: str) -> AgentState | None:
    try:
        return read_agent_state(path)
    except FileError:
        return None

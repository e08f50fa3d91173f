"""BMAD Autopilot: from a BMAD backlog to merged pull requests.

The names below are the public interface; each is imported when it is first asked for, so that
`import bmad_autopilot` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.2.0"

if TYPE_CHECKING:
    from .board.overview import load_sprint_status, load_story_status
    from .core.next_action import WORKFLOW_MAPPING, Action, SprintStatus, get_next_action
    from .core.results import EpicResult, ExecutionResult, StoryResult
    from .engine.python_api import (
        dispatch_code_review,
        dispatch_to_instance,
        run_epic_to_completion,
        run_story_to_completion,
    )

__all__ = [
    "WORKFLOW_MAPPING",
    "Action",
    "EpicResult",
    "ExecutionResult",
    "SprintStatus",
    "StoryResult",
    "dispatch_code_review",
    "dispatch_to_instance",
    "get_next_action",
    "load_sprint_status",
    "load_story_status",
    "run_epic_to_completion",
    "run_story_to_completion",
]

_HOMES = {
    "EpicResult": ".core.results",
    "ExecutionResult": ".core.results",
    "StoryResult": ".core.results",
    "dispatch_code_review": ".engine.python_api",
    "dispatch_to_instance": ".engine.python_api",
    "load_sprint_status": ".board.overview",
    "load_story_status": ".board.overview",
    "run_epic_to_completion": ".engine.python_api",
    "run_story_to_completion": ".engine.python_api",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, ".core.next_action"), __name__), name)

"""BMAD Autopilot: from a BMAD backlog to merged pull requests.

The names below are the public interface; each is imported when it is first asked for, so that
`import bmad_autopilot` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.1"

if TYPE_CHECKING:
    from .board.loading import load_sprint_status, load_story_status
    from .core.actions import WORKFLOW_MAPPING, Action, SprintStatus, get_next_action
    from .core.results import EpicResult, ExecutionResult, StoryResult
    from .engine.completing import run_epic_to_completion, run_story_to_completion
    from .engine.dispatch import dispatch_code_review, dispatch_to_instance

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
    "dispatch_code_review": ".engine.dispatch",
    "dispatch_to_instance": ".engine.dispatch",
    "load_sprint_status": ".board.loading",
    "load_story_status": ".board.loading",
    "run_epic_to_completion": ".engine.completing",
    "run_story_to_completion": ".engine.completing",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, ".core.actions"), __name__), name)

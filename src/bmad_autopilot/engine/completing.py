"""A story or an epic run to its end by a program: the public functions, beside the commands."""

from collections.abc import Mapping
from typing import Any

from ..core.records import StoryRecord
from ..core.results import EpicResult, ExecutionResult, StoryResult
from ..core.statuses import DONE
from ..project.open import open_project
from .closing import FAILED, INTERVENTION, SUCCESS, TIMEOUT
from .driving import RunEnd
from .running import start_run

_STATUSES = {"good": SUCCESS, "changes": SUCCESS, "asked": INTERVENTION, "hopeless": INTERVENTION}
_TIMES = ("timed-out", "stalled")


def run_story_to_completion(story_id: str, *, project: str = ".") -> StoryResult:
    """Run a story through its steps until it is done, or a person is needed. Cut short, it goes on."""
    end = start_run(open_project(project), "story", story_id, told=_quiet)
    return _story(end, end.lane.key)


def run_epic_to_completion(epic_id: str, *, project: str = ".") -> EpicResult:
    """Run all stories of an epic, one after another; a question ends it with the status `waiting`."""
    end = start_run(open_project(project), "epic", epic_id, told=_quiet)
    keys = [key for key in end.record.stories if key != end.lane.key]
    return EpicResult(end.lane.key, _status(end), tuple(_story(end, key) for key in keys))


def _quiet(kind: str, data: Mapping[str, Any], at: float) -> None:
    """A program reads what comes back; the journal has the rest."""


def _status(end: RunEnd) -> str:
    return DONE if end.status == "completed" else end.status


def _story(end: RunEnd, key: str) -> StoryResult:
    story = end.record.stories.get(key)
    if story is None:
        return StoryResult(key, _status(end))
    status = DONE if story.finished or story.expected == DONE else "skipped" if story.skipped else end.status
    return StoryResult(key, status, tuple(_results(story)))


def _results(story: StoryRecord) -> list[ExecutionResult]:
    return [
        _result(story.key, call.ended) for step in story.steps for call in step.calls if call.ended is not None
    ]


def _result(key: str, ended: Mapping[str, Any]) -> ExecutionResult:
    outcome = str(ended.get("outcome", ""))
    status = TIMEOUT if outcome in _TIMES else _STATUSES.get(str(ended.get("finding")), FAILED)
    return ExecutionResult(status, key, ended.get("exit"), outcome, str(ended.get("message", "")))

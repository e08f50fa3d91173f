"""The public Python API: run a story or an epic to its end, or dispatch one action to an agent."""

import os
import time
import uuid
from collections.abc import Mapping
from typing import Any

from ..agents.adapter import Outcome
from ..agents.attempt import AttemptState, attempt_state, read_call_spec
from ..agents.verdicts import has_verdict
from ..core.errors import FileError, UsageError
from ..core.lane_scope import LaneScope
from ..core.next_action import WORKFLOW_MAPPING, Action
from ..core.results import EpicResult, ExecutionResult, StoryResult
from ..core.run_ending import RunEnding
from ..core.run_record import StoryRecord
from ..core.statuses import DONE
from ..io.files import hold_lock
from ..project.project import Project, open_project
from ..runs.layout import find_attempts, runs_folder
from ..workflows.workflow import BUILD, CODE_REVIEW, CREATE, DEV, Step
from .dispatched_call import (
    FAILED,
    INTERVENTION,
    MAX_ATTEMPTS_SEARCHED,
    SUCCESS,
    TIMEOUT,
    DispatchedTask,
    StoryEvidence,
    finish_task,
    start_task,
)
from .runner import RunEnd, start_run
from .start_agent import AccountParked

_STATUSES = {"good": SUCCESS, "changes": SUCCESS, "asked": INTERVENTION, "hopeless": INTERVENTION}
_TIMEOUT_OUTCOMES = ("timed-out", "stalled")


def run_story_to_completion(story_id: str, *, project: str = ".") -> StoryResult:
    """Run a story through its steps until it is done or needs a person. An interrupted run is resumed."""
    end = start_run(open_project(project), LaneScope.STORY, story_id, on_event=_ignore_event)
    return _story(end, end.lane.key)


def run_epic_to_completion(epic_id: str, *, project: str = ".") -> EpicResult:
    """Run all stories of an epic, one after another; a question ends it with the status `waiting`."""
    end = start_run(open_project(project), LaneScope.EPIC, epic_id, on_event=_ignore_event)
    keys = [key for key in end.record.stories if key != end.lane.key]
    return EpicResult(end.lane.key, _status(end), tuple(_story(end, key) for key in keys))


def _ignore_event(kind: str, data: Mapping[str, Any], at: float) -> None:
    """The caller reads the result; the journal has the rest."""


def _status(end: RunEnd) -> str:
    return DONE if end.status is RunEnding.COMPLETED else end.status


def _story(end: RunEnd, key: str) -> StoryResult:
    story = end.record.stories.get(key)
    if story is None:
        return StoryResult(key, _status(end))
    status = (
        DONE if story.finished or story.expected_status == DONE else "skipped" if story.skipped else end.status
    )
    return StoryResult(key, status, tuple(_results(story)))


def _results(story: StoryRecord) -> list[ExecutionResult]:
    return [
        _result(story.key, call.outcome) for step in story.steps for call in step.calls if call.outcome is not None
    ]


def _result(key: str, ended: Mapping[str, Any]) -> ExecutionResult:
    outcome = str(ended.get("outcome", ""))
    status = TIMEOUT if outcome in _TIMEOUT_OUTCOMES else _STATUSES.get(str(ended.get("finding")), FAILED)
    return ExecutionResult(status, key, ended.get("exit"), outcome, str(ended.get("message", "")))


# Dispatching one action to an agent: started once, adopted after a crash, judged by evidence.

RUNNING = "running"

MAX_STARTS = 3
MAX_MINUTES = 7 * 24 * 60

_STEPS = {"create-story": CREATE, "dev-story": DEV, "code-review": CODE_REVIEW}


def dispatch_to_instance(
    action: Action,
    instance_name: str,
    wait_for_completion: bool = True,
    timeout_minutes: float | None = None,
    *,
    project: str = ".",
) -> ExecutionResult:
    """Dispatch one action to the agent configured for it. A call of this name for this action that was started
    before and is not finalised is adopted instead of repeated.

    The gates judge the work as in a run. A refused call has status `failed`, and the rows it moved on the board
    are set back. The project's own checks (tests, linters) are not run here: `bmad run-story` runs them."""
    began = time.time()
    if timeout_minutes is not None and not 0 < timeout_minutes <= MAX_MINUTES:
        expected = f"more than 0 and at most {MAX_MINUTES} minutes"
        raise UsageError("this is no time limit", found=str(timeout_minutes), expected=expected)
    opened = open_project(project)
    opened.bmad.require_supported()
    evidence = StoryEvidence(opened, action.context.get("story_id", action.story_id))
    minutes = opened.config.story_timeout if timeout_minutes is None else timeout_minutes
    branch = action.context.get("branch", "")
    task = DispatchedTask(
        opened, _step(opened, action), evidence.row.key, instance_name, branch, minutes * 60, began
    )
    for _ in range(MAX_STARTS):
        try:
            folder = _adopt_or_start(task)
        except AccountParked as error:
            return ExecutionResult(INTERVENTION, task.story, None, Outcome.LIMIT, error.message)
        if folder is None:
            return ExecutionResult(INTERVENTION, task.story, None, Outcome.QUESTION, evidence.reason)
        if not wait_for_completion:
            return ExecutionResult(RUNNING, task.story)
        result = finish_task(task, folder)
        if result is not None:
            return result
    return ExecutionResult(FAILED, task.story, None, Outcome.MISCONFIGURED, "no supervisor could be started")


def dispatch_code_review(story_id: str, *, project: str = ".") -> ExecutionResult:
    """Review a story with a new instance, never one that has worked on it."""
    name = f"review-{story_id}-{int(time.time())}-{uuid.uuid4().hex[:6]}"
    action = Action("code-review", story_id, WORKFLOW_MAPPING["code-review"], {"story_id": story_id})
    return dispatch_to_instance(action, name, project=project)


def _step(project: Project, action: Action) -> Step:
    """If only the skills of the build era are installed, build-auto both writes the story and develops it."""
    known = _STEPS.get(action.type)
    if known in (CREATE, DEV) and known is not None and known.skill is not None:
        agent = project.config.agent_of(known.role)
        if project.find_skill(agent, known.skill) is None and project.find_skill(agent, "build-auto"):
            return BUILD
    if known is not None:
        return known
    skill = action.skill or WORKFLOW_MAPPING.get(action.type, "")
    if not skill:
        expected = ", ".join(WORKFLOW_MAPPING)
        raise UsageError(f"there is no workflow for {action.type!r}", expected=expected)
    return Step(action.type, "dev", skill.split(":")[-1].removeprefix("bmad-"), None, None)


def _adopt_or_start(task: DispatchedTask) -> str | None:
    """The attempt's folder. Under a lock: of two callers with the same request, the second adopts the first one's
    call. None: no call is running and the story is parked."""
    os.makedirs(task.project.state_folder, exist_ok=True)
    with hold_lock(os.path.join(task.project.state_folder, "starting.lock")):
        folder = _adoptable(task)
        if folder is not None or StoryEvidence(task.project, task.story).is_blocked:
            return folder
        return start_task(task)


def _adoptable(task: DispatchedTask) -> str | None:
    for attempt in find_attempts(runs_folder(task.project.root.path))[:MAX_ATTEMPTS_SEARCHED]:
        # A call started after this request answers the same request, even if it is finalised.
        if has_verdict(attempt.folder) and os.stat(attempt.folder).st_mtime < task.requested_at:
            continue
        if attempt_state(attempt.folder) is AttemptState.NEW:
            continue
        try:
            spec = read_call_spec(attempt.folder)
        except FileError:
            continue
        is_open = not has_verdict(attempt.folder) or spec.created_at >= task.requested_at
        if is_open and (spec.name, spec.step, spec.story) == (task.name, task.step.name, task.story):
            return attempt.folder
    return None

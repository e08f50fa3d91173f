"""Dispatching one action to an agent: started once, adopted after a crash of ours, believed on evidence."""

import os
import time
import uuid

from ..agents.attempts import State, read_spec, state_of
from ..agents.outcomes import Outcome
from ..agents.verdicts import is_harvested
from ..core.actions import WORKFLOW_MAPPING, Action
from ..core.errors import FileError, UsageError
from ..core.results import ExecutionResult
from ..files import locked
from ..project.open import Project, open_project
from ..runs.layout import find_attempts, runs_folder
from ..workflows.pipelines import BUILD, CODE_REVIEW, CREATE, DEV, Step
from .calling import AccountParked
from .closing import FAILED, INTERVENTION, LOOK_BACK, finish_task
from .evidence import Evidence
from .opening import start_task
from .task import Task

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
    """Give one action to the agent the project has chosen for it. A call of this name for this action that was
    started before and whose end nobody has taken in is adopted instead of repeated.

    The gates judge the work as in a run. A refused call has status `failed`, and the rows it moved on the board
    are set back. The project's own checks (tests, linters) are not run here: `bmad run-story` runs them."""
    began = time.time()
    if timeout_minutes is not None and not 0 < timeout_minutes <= MAX_MINUTES:
        expected = f"more than 0 and at most {MAX_MINUTES} minutes"
        raise UsageError("this is no time limit", found=str(timeout_minutes), expected=expected)
    opened = open_project(project)
    opened.bmad.require_supported()
    look = Evidence(opened, action.context.get("story_id", action.story_id))
    minutes = opened.config.story_timeout if timeout_minutes is None else timeout_minutes
    branch = action.context.get("branch", "")
    task = Task(opened, _step(opened, action), look.row.key, instance_name, branch, minutes * 60, began)
    for _ in range(MAX_STARTS):
        try:
            folder = _adopt_or_start(task)
        except AccountParked as error:
            return ExecutionResult(INTERVENTION, task.story, None, Outcome.LIMIT, error.message)
        if folder is None:
            return ExecutionResult(INTERVENTION, task.story, None, Outcome.QUESTION, look.reason)
        if not wait_for_completion:
            return ExecutionResult(RUNNING, task.story)
        result = finish_task(task, folder)
        if result is not None:
            return result
    return ExecutionResult(FAILED, task.story, None, Outcome.MISCONFIGURED, "no supervisor could be started")


def dispatch_code_review(story_id: str, *, project: str = ".") -> ExecutionResult:
    """A review by a new instance, never one that has worked on the story."""
    name = f"review-{story_id}-{int(time.time())}-{uuid.uuid4().hex[:6]}"
    action = Action("code-review", story_id, WORKFLOW_MAPPING["code-review"], {"story_id": story_id})
    return dispatch_to_instance(action, name, project=project)


def _step(project: Project, action: Action) -> Step:
    """Where only the build era is installed, build-auto both writes the story and develops it."""
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


def _adopt_or_start(task: Task) -> str | None:
    """The attempt's folder. One at a time: of two who ask for the same, the second adopts what the first has
    started. None: nothing is under way, and the story is parked."""
    os.makedirs(task.project.state_folder, exist_ok=True)
    with locked(os.path.join(task.project.state_folder, "starting.lock")):
        folder = _adoptable(task)
        if folder is not None or Evidence(task.project, task.story).is_blocked:
            return folder
        return start_task(task)


def _adoptable(task: Task) -> str | None:
    for place in find_attempts(runs_folder(task.project.root.path))[:LOOK_BACK]:
        # One that was started since we were asked is an answer to the same request, taken in or not.
        if is_harvested(place.folder) and os.stat(place.folder).st_mtime < task.began:
            continue
        if state_of(place.folder) is State.NEW:
            continue
        try:
            spec = read_spec(place.folder)
        except FileError:
            continue
        is_open = not is_harvested(place.folder) or spec.created_at >= task.began
        if is_open and (spec.name, spec.step, spec.story) == (task.name, task.step.name, task.story):
            return place.folder
    return None

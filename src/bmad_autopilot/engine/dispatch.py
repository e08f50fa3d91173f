"""Dispatching one action to an agent: started once, adopted after a crash of ours, believed on evidence."""

import os
import select
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ..agents.attempts import Spec, State, read_spec, state_of
from ..agents.command import keep_purpose
from ..agents.outcomes import REACTIONS, Outcome, Reaction, Verdict
from ..agents.shim import work
from ..agents.verdicts import is_harvested
from ..agents.watching import cancel, watch
from ..board.store import set_status
from ..core.actions import WORKFLOW_MAPPING, Action
from ..core.errors import ConflictError, FileError, UsageError
from ..core.results import ExecutionResult
from ..core.statuses import BACKLOG, IN_PROGRESS, READY
from ..files import read_bytes, write_atomic
from ..project.custom import EVIDENCE
from ..project.excludes import ensure_excludes
from ..project.open import Project, open_project
from ..project.programs import Question, ask
from ..runs.layout import attempt_folder, find_attempts, make_run, runs_folder
from ..workflows.contract import agent_state, review_file
from ..workflows.pipelines import BUILD, CODE_REVIEW, CREATE, DEV, Step
from ..workflows.prompts import prompt_for
from ..workflows.step_context import Files, StepContext
from .calling import AccountParked, Job, begin, refuse_while_parked, skill_for
from .evidence import Evidence
from .harvesting import Harvest, examine, harvest
from .wakeups import FileWatch

SUCCESS = "success"
FAILED = "failed"
TIMEOUT = "timeout"
INTERVENTION = "intervention_needed"
RUNNING = "running"

METADATA = ".claude-metadata.json"
BLOCKED_GRACE = 30.0  # an agent that has declared a story blocked is about to end by itself
STOP_SECONDS = 20.0
RESCAN = 60.0  # a slow look as a net under the file events
LOOK_BACK = 500  # attempts that are looked through for one to adopt
SESSION = "main"
MAX_STARTS = 3

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
    started before and whose end nobody has taken in is adopted instead of repeated."""
    opened = open_project(project)
    task = _task(opened, action, instance_name, timeout_minutes)
    for _ in range(MAX_STARTS):
        try:
            folder = _adoptable(task) or _start(task)
        except AccountParked as error:
            return ExecutionResult(INTERVENTION, task.story, None, Outcome.LIMIT, error.message)
        if not wait_for_completion:
            return ExecutionResult(RUNNING, task.story)
        result = _finish(task, folder)
        if result is not None:
            return result
    return ExecutionResult(FAILED, task.story, None, Outcome.MISCONFIGURED, "no supervisor could be started")


def dispatch_code_review(story_id: str, *, project: str = ".") -> ExecutionResult:
    """A review by a new instance, never one that has worked on the story."""
    name = f"review-{story_id}-{int(time.time())}-{uuid.uuid4().hex[:6]}"
    action = Action("code-review", story_id, WORKFLOW_MAPPING["code-review"], {"story_id": story_id})
    return dispatch_to_instance(action, name, project=project)


class _Task(NamedTuple):
    project: Project
    step: Step
    story: str
    name: str
    branch: str
    seconds: float


def _task(project: Project, action: Action, name: str, minutes: float | None) -> _Task:
    story = Evidence(project, action.context.get("story_id", action.story_id)).row.key
    seconds = (project.config.story_timeout if minutes is None else minutes) * 60
    return _Task(project, _step(project, action), story, name, action.context.get("branch", ""), seconds)


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


# -- starting


def _adoptable(task: _Task) -> str | None:
    for place in find_attempts(runs_folder(task.project.root.path))[:LOOK_BACK]:
        if is_harvested(place.folder) or state_of(place.folder) is State.NEW:
            continue
        try:
            spec = read_spec(place.folder)
        except FileError:
            continue
        if (spec.name, spec.step, spec.story) == (task.name, task.step.name, task.story):
            return place.folder
    return None


def _start(task: _Task) -> str:
    skill = skill_for(task.project, task.step)
    refuse_while_parked(task.project.config.agent_of(task.step.role))
    ensure_excludes(task.project.root)
    _set_before(task)
    job = Job(
        uuid.uuid4().hex,
        task.project,
        task.step,
        task.story,
        task.name,
        branch=task.branch or _branch(task.project),
        skill=skill,
        seconds=task.seconds,
    )
    run = make_run(runs_folder(task.project.root.path), SESSION, task.step.name, time.time())
    folder = attempt_folder(run, 1, task.step.name, 1)
    os.makedirs(folder, 0o700)
    _set_aside(task, run)
    begin(folder, job._replace(prompt=_prompt(job)))
    return folder


def _prompt(job: Job) -> str:
    folders = job.project.folders
    head = ask(Question(("git", "rev-parse", "--verify", "-q", "HEAD"), own_environment=True), folders.base)
    files = Files(
        folders.implementation,
        job.project.require_board(),
        story=Evidence(job.project, job.story).story_file(),
        baseline=head.out.strip() if head is not None and head.ok else None,
        scratch=job.scratch,
    )
    return prompt_for(
        StepContext(
            job.step.name,
            job.story,
            files,
            invocation=job.skill.invocation if job.skill else None,
            skill=job.step.skill,
            version=job.project.bmad.version or "",
        )
    )


def _branch(project: Project) -> str:
    answer = ask(Question(("git", "branch", "--show-current"), own_environment=True), project.root.checkout)
    return answer.out.strip() if answer is not None and answer.ok else ""


def _set_before(task: _Task) -> None:
    """We set in-progress before dispatch, so that nobody thinks the other will. A step that is further stays."""
    row = Evidence(task.project, task.story).row
    if task.step.before == IN_PROGRESS and row.meaning in (BACKLOG, READY):
        board, state = task.project.require_board(), task.project.state_folder
        set_status(board, row.key, IN_PROGRESS, state=state, expect=row.status.raw)


def _set_aside(task: _Task, run: str) -> None:
    """What is there afterwards is this attempt's: an old verdict goes into the run. So does a copy of the purpose
    that a person gave the workspace, which an instance's command may write over."""
    if task.step == CODE_REVIEW:
        verdict = review_file(task.project.folders.implementation, task.story)
        if os.path.exists(verdict):
            os.replace(verdict, os.path.join(run, "review-before.json"))
    metadata = os.path.join(task.project.root.checkout, METADATA)
    if os.path.isfile(metadata):
        write_atomic(os.path.join(run, METADATA), read_bytes(metadata))


def _restore_purpose(task: _Task, folder: str) -> None:
    kept = os.path.join(folder, "..", "..", "..", METADATA)
    path = os.path.join(task.project.root.checkout, METADATA)
    if os.path.isfile(kept):
        wanted = keep_purpose(read_bytes(kept), read_bytes(path) if os.path.isfile(path) else None)
        if wanted is not None:
            write_atomic(path, wanted)


# -- waiting


def _finish(task: _Task, folder: str) -> ExecutionResult | None:
    """Wait for the call to end, or for the story to be declared blocked; then see what it came to. None: its shim
    never had the whole order, because whoever gave it was killed, and nothing was started."""
    with _board_watch(task) as board:
        blocked = _wait_for_end(task, folder, board)
        if state_of(folder) is State.NEW:
            return None
        done = examine(folder, task.project.config)
        _restore_purpose(task, folder)
        if blocked is None and _awaits_evidence(task) and done.verdict.outcome is Outcome.COMPLETED:
            result = _await_evidence(task, done, board)
        else:
            result = _result(task, done, blocked)
    harvest(folder, task.project.config)  # last of all: until then a crash of ours leaves it to be adopted
    return result


@contextmanager
def _board_watch(task: _Task) -> Iterator[FileWatch]:
    folder = task.project.folders.implementation
    states = [review_file(folder, task.story), agent_state(folder, task.story)]
    board = FileWatch([task.project.require_board(), *states, f"{folder}/{task.story}.md"])
    try:
        yield board
    finally:
        board.close()


def _wait_for_end(task: _Task, folder: str, board: FileWatch) -> str | None:
    """Why the story is blocked, if it was declared so while the agent ran."""
    shim = watch(folder)
    if shim is None:
        return None
    blocked, asked = None, False
    deadline: float | None = None
    poll = select.poll()
    poll.register(shim, select.POLLIN)
    poll.register(board, select.POLLIN)
    try:
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready = {fd for fd, _ in poll.poll(None if left is None else int(left * 1000))}
            if shim.fileno() in ready:
                return blocked
            board.clear()
            if blocked is None:
                blocked = _blocked(task)
                deadline = None if blocked is None else time.monotonic() + BLOCKED_GRACE
            elif deadline is not None and time.monotonic() >= deadline and not asked:
                cancel(folder, f"the story is blocked: {blocked}")
                asked, deadline = True, None
    finally:
        shim.close()


def _blocked(task: _Task) -> str | None:
    """A board that cannot be read just now is looked at again at its next change."""
    try:
        look = Evidence(task.project, task.story)
    except (FileError, UsageError, ConflictError):
        return None
    return look.reason if look.is_blocked else None


def _awaits_evidence(task: _Task) -> bool:
    custom = task.project.config.agents.get(task.project.config.agent_of(task.step.role))
    return custom is not None and custom.completion == EVIDENCE


def _await_evidence(task: _Task, done: Harvest, board: FileWatch) -> ExecutionResult:
    """The command has only begun the work: what the files say decides, within the same time limit."""
    deadline = done.result.started_at + task.seconds
    poll = select.poll()
    poll.register(board, select.POLLIN)
    while True:
        board.clear()
        blocked = _blocked(task)
        if blocked is not None:
            return _result(task, done, blocked)
        if _shows(task):
            return _result(task, done, None)
        left = deadline - time.time()
        if left <= 0:
            _stop_instance(done.spec)
            message = f"nothing to show for it after {task.seconds / 60:g} min"
            return ExecutionResult(TIMEOUT, task.story, done.result.exit, Outcome.TIMED_OUT, message)
        poll.poll(int(min(left, RESCAN) * 1000) + 1)


def _shows(task: _Task) -> bool:
    try:
        return Evidence(task.project, task.story).shows(task.step)
    except (FileError, UsageError, ConflictError):
        return False


def _stop_instance(spec: Spec) -> None:
    if spec.stop:
        work.run(list(spec.stop), dict(os.environ), STOP_SECONDS)


def _result(task: _Task, done: Harvest, blocked: str | None) -> ExecutionResult:
    verdict, code = done.verdict, done.result.exit
    blocked = blocked or _blocked(task)
    if blocked is not None:
        return ExecutionResult(INTERVENTION, task.story, code, Outcome.QUESTION, blocked)
    question = Evidence(task.project, task.story).question() if verdict.outcome is Outcome.COMPLETED else None
    if question is not None:
        return ExecutionResult(INTERVENTION, task.story, code, Outcome.QUESTION, question)
    status = _status(verdict)
    if verdict.outcome is Outcome.PERMISSION_DENIED and _shows(task):
        status = SUCCESS  # it was refused something and found another way: the work is there
    return ExecutionResult(status, task.story, code, verdict.outcome, verdict.message)


def _status(verdict: Verdict) -> str:
    if verdict.outcome in (Outcome.TIMED_OUT, Outcome.STALLED):
        return TIMEOUT
    return _STATUSES[REACTIONS[verdict.outcome]]


_STATUSES = {
    Reaction.GO_ON: SUCCESS,
    Reaction.ASK: INTERVENTION,
    Reaction.PARK: INTERVENTION,
    Reaction.STOP: INTERVENTION,
    Reaction.BACK_OFF: FAILED,
    Reaction.TRY_AGAIN: FAILED,
}

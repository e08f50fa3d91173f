"""Starting a task: the skill looked for, the board set, old verdicts moved aside, the prompt written."""

import os
import shutil
import time
import uuid

from ..agents.attempts import State, state_of
from ..board.store import set_status
from ..core.statuses import BACKLOG, IN_PROGRESS, READY
from ..files import read_bytes, write_atomic
from ..project.excludes import ensure_excludes
from ..project.open import Project
from ..project.programs import Question, ask
from ..runs.layout import attempt_folder, make_run, runs_folder
from ..workflows.contract import review_file
from ..workflows.pipelines import CODE_REVIEW
from ..workflows.prompts import prompt_for
from ..workflows.step_context import Files, StepContext
from .calling import Job, begin, skill_for
from .evidence import Evidence
from .task import Task

METADATA = ".claude-metadata.json"  # what a workspace is for, as a person wrote it
OLD_VERDICT = "review-before.json"
SESSION = "main"


def start_task(task: Task) -> str:
    """Everything that comes before an agent's start, and the start; the attempt's folder."""
    skill = skill_for(task.project, task.step)
    ensure_excludes(task.project.root)
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

    def ready() -> None:
        _set_before(task)
        _set_aside(task, run)

    try:
        begin(folder, job._replace(prompt=_prompt(job)), ready)
    except BaseException:
        refused = state_of(folder) is State.NEW
        if refused and not os.path.exists(os.path.join(run, OLD_VERDICT)):  # as if it had never been asked for
            shutil.rmtree(run, ignore_errors=True)
        raise
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
            job.step,
            job.story,
            files,
            invocation=job.skill.invocation if job.skill else None,
            version=job.project.bmad.version or "",
            language=job.project.language,
            extra=job.project.config.answers_of(job.step.skill),
        )
    )


def _branch(project: Project) -> str:
    answer = ask(Question(("git", "branch", "--show-current"), own_environment=True), project.root.checkout)
    return answer.out.strip() if answer is not None and answer.ok else ""


def _set_before(task: Task) -> None:
    """We set in-progress before dispatch, so that nobody thinks the other will. A step that is further stays."""
    row = Evidence(task.project, task.story).row
    if task.step.before == IN_PROGRESS and row.meaning in (BACKLOG, READY):
        board, state = task.project.require_board(), task.project.state_folder
        set_status(board, row.key, IN_PROGRESS, state=state, expect=row.status.raw)


def _set_aside(task: Task, run: str) -> None:
    """What is there afterwards is this attempt's: an old verdict goes into the run. So does a copy of the purpose
    that a person gave the workspace, which an instance's command may write over."""
    if task.step == CODE_REVIEW:
        verdict = review_file(task.project.folders.implementation, task.story)
        if os.path.exists(verdict):
            os.replace(verdict, os.path.join(run, OLD_VERDICT))
    metadata = os.path.join(task.project.root.checkout, METADATA)
    if os.path.isfile(metadata):
        write_atomic(os.path.join(run, METADATA), read_bytes(metadata))

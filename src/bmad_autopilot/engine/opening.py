"""Starting a task: the skill looked for, the board set, old verdicts moved aside, the prompt written."""

import os
import shutil
import time
import uuid

from ..agents.attempts import State, state_of
from ..board.store import set_status
from ..core.statuses import BACKLOG, IN_PROGRESS, READY
from ..files import write_atomic
from ..github.git import Git
from ..github.history import branch_of, head_of
from ..project.excludes import ensure_excludes
from ..runs.layout import SESSION, attempt_folder, make_run, runs_folder
from .briefing import brief
from .calling import Job, begin, skill_for
from .evidence import Evidence
from .snapshots import OLD_VERDICT, keep_before
from .task import Task

BRANCH = "branch.before"  # the branch that was checked out before the call; empty for a detached HEAD


def start_task(task: Task) -> str:
    """Everything that comes before an agent's start, and the start; the attempt's folder."""
    skill = skill_for(task.project, task.step)
    git = Git(task.project.root.checkout)
    ensure_excludes(task.project.root)
    job = Job(
        uuid.uuid4().hex,
        task.project,
        task.step,
        task.story,
        task.name,
        branch=task.branch or branch_of(git),
        skill=skill,
        seconds=task.seconds,
    )
    run = make_run(runs_folder(task.project.root.path), SESSION, task.step.name, time.time())
    folder = attempt_folder(run, 1, task.step.name, 1)

    look = Evidence(task.project, task.story)
    prompt = brief(job, look.books, baseline=head_of(git))

    def ready() -> None:
        _set_before(task)
        keep_before(folder, look.books, task.project.root.checkout)
        write_atomic(f"{folder}/{BRANCH}", (branch_of(git) or "").encode(), durable=False)

    try:
        begin(folder, job._replace(prompt=prompt), ready)
    except BaseException:
        refused = state_of(folder) is State.NEW
        if refused and not os.path.exists(os.path.join(folder, OLD_VERDICT)):  # as if it had never been asked for
            shutil.rmtree(run, ignore_errors=True)
        raise
    return folder


def _set_before(task: Task) -> None:
    """We set in-progress before dispatch, so that nobody thinks the other will. A step that is further stays."""
    row = Evidence(task.project, task.story).row
    if task.step.before == IN_PROGRESS and row.meaning in (BACKLOG, READY):
        board, state = task.project.require_board(), task.project.state_folder
        inside = task.project.inside
        set_status(board, row.key, IN_PROGRESS, state=state, inside=inside, expect=row.status.raw)

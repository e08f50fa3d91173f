"""Waiting for a task's call to end, and saying what it came to."""

import os
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ..agents.attempts import State, state_of
from ..agents.outcomes import REACTIONS, Outcome, Reaction, Verdict
from ..agents.settling import stop
from ..agents.shim import records
from ..agents.watching import Watch, cancel, watch
from ..core.errors import ConflictError, FileError, UsageError
from ..core.results import ExecutionResult
from ..core.statuses import REVIEW
from ..project.custom import EVIDENCE
from ..workflows.contract import agent_state, review_file
from ..workflows.pipelines import BUILD, CODE_REVIEW, CREATE, DEV
from .evidence import Evidence
from .harvesting import Harvest, examine, harvest
from .snapshots import restore_purpose
from .task import Task
from .wakeups import FileWatch

SUCCESS = "success"
FAILED = "failed"
TIMEOUT = "timeout"
INTERVENTION = "intervention_needed"

BLOCKED_GRACE = 30.0  # an agent that has declared a story blocked is about to end by itself
DEAF_SECONDS = 600.0  # beyond the time limit: asking, telling, git's own time, a laptop's sleep
RESCAN = 60.0  # a slow look as a net under the file events


def finish_task(task: Task, folder: str) -> ExecutionResult | None:
    """Wait for the call to end, or for the story to be declared blocked; then see what it came to. None: its shim
    never had the whole order, because whoever gave it was killed, and nothing was started."""
    with _board_watch(task) as board:
        _wait_for_end(task, folder, board)
        while state_of(folder) is State.RUNNING:  # a shim that is slow to start
            _wait_for_end(task, folder, board)
        if not os.path.exists(f"{folder}/{records.SPEC}"):
            message = "its records were removed while it ran (git clean -x?)"
            return ExecutionResult(FAILED, task.story, None, Outcome.LOST, message)
        if state_of(folder) is State.NEW:
            return None
        done = examine(folder, task.project.config)
        restore_purpose(folder, task.project.root.checkout)
        if _awaits_evidence(task) and done.verdict.outcome is Outcome.COMPLETED:
            result = _await_evidence(task, done, board)
        else:
            result = _result(task, done)
        harvest(folder, task.project.config)  # last of all: until then a crash of ours leaves it to be adopted
    return result


@contextmanager
def _board_watch(task: Task) -> Iterator[FileWatch]:
    folder = task.project.folders.implementation
    states = [review_file(folder, task.story), agent_state(folder, task.story)]
    board = FileWatch([task.project.require_board(), *states, f"{folder}/{task.story}.md"])
    try:
        yield board
    finally:
        board.close()


def _wait_for_end(task: Task, folder: str, board: FileWatch) -> None:
    """An agent that declares its story blocked, and stays by that, is given time to end and then ended."""
    shim = watch(folder)
    if shim is None:
        return
    blocked: str | None = None
    since = time.monotonic()
    poll = select.poll()
    poll.register(shim, select.POLLIN)
    poll.register(board, select.POLLIN)
    try:
        while shim.fileno() not in {fd for fd, _ in poll.poll(int(min(RESCAN, BLOCKED_GRACE) * 1000))}:
            board.clear()
            before, blocked = blocked, _blocked(task)
            if blocked is None or before is None:
                since = time.monotonic()
            elif time.monotonic() >= since + BLOCKED_GRACE:
                cancel(folder, f"the story is blocked: {blocked}")
            end_deaf_shim(folder, shim)
    finally:
        shim.close()


def end_deaf_shim(folder: str, shim: Watch) -> None:
    """A shim keeps its agent's time limit. One that does not, because somebody has stopped it, is ended; the call
    is then lost, and settled as such."""
    started = records.read_started(folder)
    limit = records.read_time_limit(folder, 0.0)
    if started is not None and limit and time.time() > started[1] + limit + DEAF_SECONDS:
        shim.kill()


def _blocked(task: Task) -> str | None:
    """A board that cannot be read just now is looked at again at its next change."""
    try:
        look = Evidence(task.project, task.story)
    except (FileError, UsageError, ConflictError):
        return None
    return look.reason if look.is_blocked else None


def _awaits_evidence(task: Task) -> bool:
    custom = task.project.config.agents.get(task.agent)
    return custom is not None and custom.completion == EVIDENCE


def _await_evidence(task: Task, done: Harvest, board: FileWatch) -> ExecutionResult:
    """The command has only begun the work: what the files say decides, within the same time limit."""
    deadline = done.result.started_at + task.seconds
    poll = select.poll()
    poll.register(board, select.POLLIN)
    while True:
        board.clear()
        if _blocked(task) is not None or _shows(task):
            return _result(task, done)
        left = deadline - time.time()
        if left <= 0:
            stop(done.spec)
            message = f"nothing to show for it after {task.seconds / 60:g} min"
            return ExecutionResult(TIMEOUT, task.story, done.result.exit, Outcome.TIMED_OUT, message)
        poll.poll(int(min(left, RESCAN) * 1000) + 1)


def _shows(task: Task) -> bool:
    try:
        return Evidence(task.project, task.story).shows(task.step)
    except (FileError, UsageError, ConflictError):
        return False


def _result(task: Task, done: Harvest) -> ExecutionResult:
    verdict, code = done.verdict, done.result.exit
    blocked = _blocked(task)
    if blocked is not None:
        return ExecutionResult(INTERVENTION, task.story, code, Outcome.QUESTION, blocked)
    question = Evidence(task.project, task.story).question() if verdict.outcome is Outcome.COMPLETED else None
    if question is not None:
        return ExecutionResult(INTERVENTION, task.story, code, Outcome.QUESTION, question)
    status, message = _status(verdict), verdict.message
    if verdict.outcome is Outcome.PERMISSION_DENIED and _shows(task):
        status = SUCCESS  # it was refused something and found another way: the work is there
    if status == SUCCESS and (missing := _missing(task, done)):
        status, message = FAILED, f"it ended well and left {missing}"
    return ExecutionResult(status, task.story, code, verdict.outcome, message)


def _missing(task: Task, done: Harvest) -> str:
    """What the step owes and did not leave: an agent's word is not enough."""
    look = Evidence(task.project, task.story)
    if look.shows(task.step):
        return ""
    if task.step == CREATE:
        return "" if look.story_file() else "no story file"
    if task.step == CODE_REVIEW:
        return "no verdict" if look.row.meaning == REVIEW else ""
    unchanged = done.spec.tree is not None and done.spec.tree == done.result.tree
    return "no change" if task.step in (DEV, BUILD) and unchanged else ""


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

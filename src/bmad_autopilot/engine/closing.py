"""Waiting for a task's call to end, and saying what it came to."""

import os
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ..agents.attempts import Spec, State, state_of
from ..agents.command import keep_purpose
from ..agents.outcomes import REACTIONS, Outcome, Reaction, Verdict
from ..agents.shim import work
from ..agents.watching import cancel, watch
from ..core.errors import ConflictError, FileError, UsageError
from ..core.results import ExecutionResult
from ..files import read_bytes, write_atomic
from ..project.custom import EVIDENCE
from ..workflows.contract import agent_state, review_file
from .evidence import Evidence
from .harvesting import Harvest, examine, harvest
from .opening import METADATA
from .task import Task
from .wakeups import FileWatch

SUCCESS = "success"
FAILED = "failed"
TIMEOUT = "timeout"
INTERVENTION = "intervention_needed"

BLOCKED_GRACE = 30.0  # an agent that has declared a story blocked is about to end by itself
STOP_SECONDS = 20.0
RESCAN = 60.0  # a slow look as a net under the file events


def finish_task(task: Task, folder: str) -> ExecutionResult | None:
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
def _board_watch(task: Task) -> Iterator[FileWatch]:
    folder = task.project.folders.implementation
    states = [review_file(folder, task.story), agent_state(folder, task.story)]
    board = FileWatch([task.project.require_board(), *states, f"{folder}/{task.story}.md"])
    try:
        yield board
    finally:
        board.close()


def _wait_for_end(task: Task, folder: str, board: FileWatch) -> str | None:
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


def _shows(task: Task) -> bool:
    try:
        return Evidence(task.project, task.story).shows(task.step)
    except (FileError, UsageError, ConflictError):
        return False


def _stop_instance(spec: Spec) -> None:
    if spec.stop:
        work.run(list(spec.stop), dict(os.environ), STOP_SECONDS)


def _result(task: Task, done: Harvest, blocked: str | None) -> ExecutionResult:
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


def _restore_purpose(task: Task, folder: str) -> None:
    kept = os.path.join(folder, "..", "..", "..", METADATA)
    path = os.path.join(task.project.root.checkout, METADATA)
    if os.path.isfile(kept):
        wanted = keep_purpose(read_bytes(kept), read_bytes(path) if os.path.isfile(path) else None)
        if wanted is not None:
            write_atomic(path, wanted)

"""Waiting for a task's call to end, and saying what it came to."""

import os
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from ..agents.attempts import State, read_spec, refuse_linked, state_of
from ..agents.outcomes import REACTIONS, Outcome, Reaction, Verdict
from ..agents.settling import stop
from ..agents.shim import records, work
from ..agents.watching import Watch, cancel, watch
from ..board.store import set_status
from ..core.errors import ConflictError, FileError, UsageError
from ..core.facts import Call
from ..core.owes import Owes
from ..core.results import ExecutionResult
from ..core.statuses import DONE
from ..files import read_bytes
from ..gates.look import WorkLook
from ..gates.rows import Moved, as_before, claims_end, moved_rows
from ..github.git import Git
from ..project.custom import EVIDENCE
from ..runs.layout import find_attempts, runs_folder
from ..workflows.contract import agent_state, review_file
from ..workflows.pipelines import BUILD, CODE_REVIEW, CREATE, DEV, PIPELINES
from .books import books_of
from .doors import CallId, CallOrder, Tree
from .evidence import Evidence
from .harvesting import Harvest, examine, harvest
from .judging import by_evidence
from .lane import Lane
from .opening import BRANCH
from .plain_environment import plain_environment
from .policy import checks_of
from .snapshots import METADATA, Replaced, put_back_replaced, restore_purpose
from .task import Task
from .touching import touched_paths
from .wakeups import FileWatch

SUCCESS = "success"
FAILED = "failed"
TIMEOUT = "timeout"
INTERVENTION = "intervention_needed"

BLOCKED_GRACE = 30.0  # an agent that has declared a story blocked is about to end by itself
DEAF_SECONDS = 600.0  # beyond the time limit: asking, telling, git's own time, a laptop's sleep
LOOK_BACK = 500  # attempts that are looked through for earlier ones
MAX_BRANCH = 4096  # bytes of a branch's name
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
        try:
            refuse_linked(folder)
        except FileError as error:
            return ExecutionResult(FAILED, task.story, None, Outcome.LOST, f"its records were replaced: {error}")
        if state_of(folder) is State.NEW:
            return None
        done = examine(folder, task.project.config)
        replaced = _put_back(task, folder, done)
        restore_purpose(folder, task.project.root.checkout)
        if _awaits_evidence(task) and done.verdict.outcome is Outcome.COMPLETED:
            result = _await_evidence(task, folder, done, board)
        else:
            result = _result(task, folder, done)
        if replaced:
            what = "; ".join(f"{one.path} was {one.found}" for one in replaced)
            message = f"it replaced files, which were put back: {what}"
            result = ExecutionResult(FAILED, task.story, done.result.exit, done.verdict.outcome, message)
        harvest(folder, task.project.config)  # last of all: until then a crash of ours leaves it to be adopted
    return result


def _put_back(task: Task, folder: str, done: Harvest) -> list[Replaced]:
    """What the call replaced by a link, a device, a pipe or a folder, before anything that it left is read."""
    git = Git(task.project.root.checkout)
    books = books_of(task.project, None, None, task.story)
    found = put_back_replaced(folder, books, git, done.spec.tree, None)
    with suppress(FileError, UsageError):
        books = Evidence(task.project, task.story).books
        found = put_back_replaced(folder, books, git, done.spec.tree, None)
    return found


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


def _await_evidence(task: Task, folder: str, done: Harvest, board: FileWatch) -> ExecutionResult:
    """The command has only begun the work: what the files say decides, within the same time limit."""
    deadline = done.result.started_at + task.seconds
    poll = select.poll()
    poll.register(board, select.POLLIN)
    while True:
        board.clear()
        if _blocked(task) is not None or _shows(task):
            return _result(task, folder, done)
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


def _result(task: Task, folder: str, done: Harvest) -> ExecutionResult:
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
    if status == SUCCESS:
        look, against = _judge(task, folder, done)
        missing = _missing(task, done)
        if missing or against:
            status, message = FAILED, f"it ended well and left {missing}" if missing else "\n".join(against)
            message += _set_rows_back(task, look) if look else ""
    return ExecutionResult(status, task.story, code, verdict.outcome, message)


def _missing(task: Task, done: Harvest) -> str:
    """What the step owes and did not leave: an agent's word is not enough."""
    look = Evidence(task.project, task.story)
    if task.step == CODE_REVIEW:  # in a git repository, _judge reads the verdict
        return "" if Git(task.project.root.checkout).work_tree or look.has_verdict() else "no verdict"
    if look.shows(task.step):
        return ""
    if task.step == CREATE:
        return "" if look.story_file() else "no story file"
    unchanged = done.spec.tree is not None and done.spec.tree == done.result.tree
    return "no change" if task.step in (DEV, BUILD) and unchanged else ""


def _judge(task: Task, folder: str, done: Harvest) -> tuple[WorkLook | None, list[str]]:
    """Judge the work as a run does, measured from the story's first recorded call: what the gates looked at (None
    outside git), and their objections. A review that gives no readable verdict is an objection too."""
    from ..gates.work import judge_work
    from .gathering import Place, gather_ended

    git = Git(task.project.root.checkout)
    if git.work_tree is None:
        return None, []
    if _awaits_evidence(task):  # the work came after the process that began it
        now = work.look(git.top, plain_environment(task.project.config, folder), f"{folder}/index")
        done = Harvest(
            done.spec, replace(done.result, head=now.head, branch=now.branch, tree=now.tree), done.verdict
        )
    calls = _calls_of(task, folder)
    first = next((call for call in calls if read_spec(call).step != CREATE.name), folder)
    tree = read_spec(first).tree or done.spec.tree
    if tree is not None and git.ask("cat-file", "-e", tree, codes=(0, 1, 128)).code != 0:  # collected as garbage
        first, tree = folder, done.spec.tree
    config = task.project.config
    before = _kept_branch(folder)
    branch = task.branch or before or ""
    lane = Lane("step", task.story, None, PIPELINES["lean"], branch, unprotected=config.unprotected)
    place = Place(
        task.project, git, lane._replace(checks=checks_of(task.project)), folder, first, frozenset(), tuple(calls)
    )
    order = CallOrder(CallId(1, task.step.name, 1), task.story, task.step, head=done.spec.head, tree=tree)
    got = gather_ended(place, order, done, lambda result, _: Tree(result.head, result.branch, result.tree, None))
    look = got.look
    if before == "" and not branch:  # HEAD was detached
        look = look._replace(same_branch=not done.result.branch)
    # A reviewer need not write code. It must not undo what an earlier call wrote.
    if task.step.owes is Owes.VERDICT and (
        first == folder or not look.code_moved or not _wrote_code(task, git, calls)
    ):
        look = look._replace(code_differs=True)
    against = [objection.message for objection in judge_work(look)]
    if not against and task.step.owes is Owes.VERDICT:
        found = by_evidence(task.step, got, ())
        against = [str(found["message"])] if found["finding"] is Call.LACKING else []
        if found["finding"] is Call.CHANGES and got.row == DONE != got.row_before:
            against = [f"The review requests changes and sets its row to done.\n{found['summary']}".rstrip()]
    return look, against


def _wrote_code(task: Task, git: Git, calls: list[str]) -> bool:
    """Whether a call before the last one changed more than the story's own documents. What an instance wrote after
    its command had ended is not recorded."""
    metadata = os.path.join(task.project.root.checkout, METADATA)  # restored after each call
    own = [*Evidence(task.project, task.story).books.kept_apart, metadata]
    paths = {os.path.relpath(os.path.realpath(path), git.top) for path in own}
    return bool(touched_paths(git, calls[:-1], lambda: (None, None)) - paths - {""})


def _kept_branch(folder: str) -> str | None:
    """The branch before the call; empty: HEAD was detached; None: not recorded."""
    try:
        return read_bytes(f"{folder}/{BRANCH}", limit=MAX_BRANCH, follow=False).decode("utf-8", "replace")
    except FileError:
        return None


def _set_rows_back(task: Task, look: WorkLook) -> str:
    """After a refused call: set the story's row back to its status before the call, and other rows that went into
    review or done. A row that has changed again since is left alone. The sentence for the message."""
    board, state, inside = task.project.require_board(), task.project.state_folder, task.project.inside
    was, now = look.rows_before.get(task.story, ""), (look.rows_after or {}).get(task.story, "")
    rows = [Moved(task.story, was, now)] if was and now and was != now else []
    rows += [row for row in moved_rows(look) if claims_end(row)]
    done = []
    for key, before, after in rows:
        with suppress(FileError, UsageError, ConflictError):
            back = as_before(key, before)
            set_status(board, key, back, state=state, inside=inside, expect=after, regress=True)
            done.append(f"{key}: {after} -> {back}")
    return f"\nRows set back on the board: {', '.join(done)}." if done else ""


def _calls_of(task: Task, folder: str) -> list[str]:
    """The folders of the story's calls up to this one, the oldest first."""
    found = [folder]
    for place in find_attempts(runs_folder(task.project.root.path))[:LOOK_BACK]:
        try:
            spec = read_spec(place.folder)
        except FileError:
            continue
        if spec.story == task.story and os.path.abspath(place.folder) != os.path.abspath(folder):
            found.append(place.folder)
    return found[::-1]


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

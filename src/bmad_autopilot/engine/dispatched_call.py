"""One dispatched agent call outside a run: starts it, waits for its end, and judges it by the project's files."""

import json
import os
import select
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from ..agents.adapter import REACTIONS, AttemptVerdict, Outcome, Reaction
from ..agents.attempt import AttemptState, attempt_state, read_call_spec, refuse_linked_folder
from ..agents.monitor import cancel_attempt, run_stop_command, watch_shim
from ..agents.shim import attempt_files, tree_snapshot
from ..agents.start import claim_attempt
from ..board.sprint_status import Board, Row, find_row, read_board
from ..board.sprint_status_writer import set_status
from ..core.errors import ConflictError, FileError, UsageError
from ..core.facts import CallFact
from ..core.lane_scope import LaneScope
from ..core.results import ExecutionResult
from ..core.statuses import BACKLOG, DONE, IN_PROGRESS, PARKED, READY, REVIEW, RowKind
from ..core.step_output import StepOutput
from ..gates.evidence import Evidence
from ..gates.scope import MovedRow, claims_completion, moved_rows, restored_status
from ..git.git import Git
from ..git.history import current_branch, current_head
from ..io.files import read_bytes, write_atomic
from ..project.config import EVIDENCE
from ..project.git_excludes import ensure_excludes
from ..project.project import Project
from ..runs.layout import SESSION, attempt_folder, find_attempts, make_run, runs_folder
from ..workflows.contract import agent_state_path, review_path
from ..workflows.workflow import BUILD, CODE_REVIEW, CREATE, DEV, PIPELINES, Step
from .call_outcome import judge_evidence
from .collect import FinishedCall, finalize_call, paths_changed_by, read_finished_call
from .lane import Lane
from .policy import check_commands
from .ports import AgentCall, CallId, WorktreeSnapshot
from .start_agent import build_prompt, command_environment, prepare_call, scratch_folder, skill_for, start_call
from .story_paths import (
    METADATA,
    OLD_VERDICT,
    ReplacedPath,
    StoryPaths,
    find_story_paths,
    restore_metadata,
    restore_replaced,
    save_before_call,
)
from .waiting import BLOCKED_GRACE, RESCAN, FileWatch, kill_unresponsive_shim

# The request for one call.


class DispatchedTask(NamedTuple):
    project: Project
    step: Step
    story: str  # its key
    name: str  # of the instance
    branch: str
    seconds: float  # time limit
    requested_at: float  # when it was requested

    @property
    def agent(self) -> str:
        return self.project.config.agent_of(self.step.role)


# Evidence of a step in the project's files: the only evidence for an instance whose process is not ours, and the
# check of an agent's claim.

MAX_STATE = 1024 * 1024


def _read(path: str) -> dict[str, object]:
    """A state file written by an agent; empty if it cannot be understood."""
    try:
        data = json.loads(read_bytes(path, limit=MAX_STATE, follow=False).decode("utf-8-sig"))
    except (FileError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


class StoryEvidence:
    """A story's row and files at one moment."""

    def __init__(self, project: Project, story: str) -> None:
        self._project = project
        self._board: Board = read_board(project.require_board())
        self.row: Row = find_row(self._board, story, RowKind.STORY)

    @property
    def is_blocked(self) -> bool:
        return self.row.meaning == PARKED

    @property
    def reason(self) -> str:
        return self.row.reason or self.row.status.raw

    def is_step_done(self, step: Step) -> bool:
        """Whether the files show that the step has ended. An unknown step leaves no evidence. A review that only
        moved its row has ended; its verdict is judged afterwards."""
        meaning = self.row.meaning
        if step == CREATE:
            return meaning in (READY, IN_PROGRESS, REVIEW, DONE) and self.story_file() is not None
        if step in (DEV, BUILD):
            return meaning in (REVIEW, DONE)
        if step == CODE_REVIEW:
            return meaning == DONE or self.has_verdict()
        return False

    def question(self) -> str | None:
        """The first unanswered question in the story's agent-state file."""
        state = _read(self.story_paths.state)
        questions = state.get("questions")
        for one in questions if isinstance(questions, list) else ():
            if isinstance(one, dict) and one.get("answer") is None and isinstance(one.get("question"), str):
                return str(one["question"])
        return None

    def has_verdict(self) -> bool:
        return _read(self.story_paths.review).get("reviewResult") in (
            "approved",
            "changes-requested",
        )

    def story_file(self) -> str | None:
        return self.story_paths.story

    @cached_property
    def story_paths(self) -> StoryPaths:
        return find_story_paths(self._project, self._board, self.row, self.row.key)


BRANCH = "branch.before"  # the branch that was checked out before the call; empty for a detached HEAD


def start_task(task: DispatchedTask) -> str:
    """Prepare and start the call; return the attempt's folder."""
    skill = skill_for(task.project, task.step)
    git = Git(task.project.root.checkout)
    ensure_excludes(task.project.root)
    call = AgentCall(
        CallId(1, task.step.name, 1),
        task.story,
        task.step,
        baseline=current_head(git),
        name=task.name,
        branch=task.branch or current_branch(git),
        seconds=task.seconds,
    )
    attempt = uuid.uuid4().hex
    run = make_run(runs_folder(task.project.root.path), SESSION, task.step.name, time.time())
    folder = attempt_folder(run, 1, task.step.name, 1)

    evidence = StoryEvidence(task.project, task.story)
    prompt = build_prompt(task.project, call, evidence.story_paths, skill, scratch_folder(attempt))

    try:
        prepared = prepare_call(task.project, call, prompt, attempt=attempt, skill=skill)
        with claim_attempt(folder, task.project.root.checkout) as claim:
            _set_in_progress(task)
            save_before_call(folder, evidence.story_paths, task.project.root.checkout)
            write_atomic(f"{folder}/{BRANCH}", (current_branch(git) or "").encode(), durable=False)
            start_call(claim, prepared)
    except BaseException:
        refused = attempt_state(folder) is AttemptState.NEW
        if refused and not os.path.exists(os.path.join(folder, OLD_VERDICT)):  # leave no trace of the request
            shutil.rmtree(run, ignore_errors=True)
        raise
    return folder


def _set_in_progress(task: DispatchedTask) -> None:
    """Set the row to in-progress before dispatch, not relying on the agent to do it. A later status stays."""
    row = StoryEvidence(task.project, task.story).row
    if task.step.before == IN_PROGRESS and row.meaning in (BACKLOG, READY):
        board, state = task.project.require_board(), task.project.state_folder
        inside = task.project.work_tree
        set_status(board, row.key, IN_PROGRESS, state=state, allowed_root=inside, expect=row.status.raw)


# Waiting for the call to end, and its result.

SUCCESS = "success"
FAILED = "failed"
TIMEOUT = "timeout"
INTERVENTION = "intervention_needed"

MAX_ATTEMPTS_SEARCHED = 500  # newest attempts to search for earlier calls
MAX_BRANCH = 4096  # bytes of a branch's name


def finish_task(task: DispatchedTask, folder: str) -> ExecutionResult | None:
    """Wait for the call to end or the story to be declared blocked; then judge the result. None: nothing was
    started, because the starting process was killed before the shim had the whole spec."""
    with _board_watch(task) as board:
        _wait_for_end(task, folder, board)
        while attempt_state(folder) is AttemptState.RUNNING:  # the shim is slow to start
            _wait_for_end(task, folder, board)
        if not os.path.exists(f"{folder}/{attempt_files.SPEC}"):
            message = "its records were removed while it ran (git clean -x?)"
            return ExecutionResult(FAILED, task.story, None, Outcome.LOST, message)
        try:
            refuse_linked_folder(folder)
        except FileError as error:
            return ExecutionResult(FAILED, task.story, None, Outcome.LOST, f"its records were replaced: {error}")
        if attempt_state(folder) is AttemptState.NEW:
            return None
        done = read_finished_call(folder, task.project.config)
        replaced = _restore_replaced(task, folder, done)
        restore_metadata(folder, task.project.root.checkout)
        if _awaits_evidence(task) and done.verdict.outcome is Outcome.COMPLETED:
            result = _await_evidence(task, folder, done, board)
        else:
            result = _result(task, folder, done)
        if replaced:
            what = "; ".join(f"{one.path} was {one.found}" for one in replaced)
            message = f"it replaced files, which were put back: {what}"
            result = ExecutionResult(FAILED, task.story, done.result.exit, done.verdict.outcome, message)
        finalize_call(folder, task.project.config)  # last: after a crash before this, the call can be adopted
    return result


def _restore_replaced(task: DispatchedTask, folder: str, done: FinishedCall) -> list[ReplacedPath]:
    """Restore files that the call replaced by a link, device, pipe or folder, before reading what it left."""
    git = Git(task.project.root.checkout)
    story_paths = find_story_paths(task.project, None, None, task.story)
    found = restore_replaced(folder, story_paths, git, done.spec.tree, None)
    with suppress(FileError, UsageError):
        story_paths = StoryEvidence(task.project, task.story).story_paths
        found = restore_replaced(folder, story_paths, git, done.spec.tree, None)
    return found


@contextmanager
def _board_watch(task: DispatchedTask) -> Iterator[FileWatch]:
    folder = task.project.folders.implementation
    states = [review_path(folder, task.story), agent_state_path(folder, task.story)]
    board = FileWatch([task.project.require_board(), *states, f"{folder}/{task.story}.md"])
    try:
        yield board
    finally:
        board.close()


def _wait_for_end(task: DispatchedTask, folder: str, board: FileWatch) -> None:
    """Wait for the agent to end. Cancel it if its story stays blocked for BLOCKED_GRACE seconds."""
    shim = watch_shim(folder)
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
                cancel_attempt(folder, f"the story is blocked: {blocked}")
            kill_unresponsive_shim(folder, shim)
    finally:
        shim.close()


def _blocked(task: DispatchedTask) -> str | None:
    """The reason, if the story is blocked. An unreadable board is read again at its next change."""
    try:
        evidence = StoryEvidence(task.project, task.story)
    except (FileError, UsageError, ConflictError):
        return None
    return evidence.reason if evidence.is_blocked else None


def _awaits_evidence(task: DispatchedTask) -> bool:
    custom = task.project.config.agents.get(task.agent)
    return custom is not None and custom.completion == EVIDENCE


def _await_evidence(task: DispatchedTask, folder: str, done: FinishedCall, board: FileWatch) -> ExecutionResult:
    """The command only started the work: the project's files decide, within the same time limit."""
    deadline = done.result.started_at + task.seconds
    poll = select.poll()
    poll.register(board, select.POLLIN)
    while True:
        board.clear()
        if _blocked(task) is not None or _is_step_done(task):
            return _result(task, folder, done)
        left = deadline - time.time()
        if left <= 0:
            run_stop_command(done.spec)
            message = f"nothing to show for it after {task.seconds / 60:g} min"
            return ExecutionResult(TIMEOUT, task.story, done.result.exit, Outcome.TIMED_OUT, message)
        poll.poll(int(min(left, RESCAN) * 1000) + 1)


def _is_step_done(task: DispatchedTask) -> bool:
    try:
        return StoryEvidence(task.project, task.story).is_step_done(task.step)
    except (FileError, UsageError, ConflictError):
        return False


def _result(task: DispatchedTask, folder: str, done: FinishedCall) -> ExecutionResult:
    verdict, code = done.verdict, done.result.exit
    blocked = _blocked(task)
    if blocked is not None:
        return ExecutionResult(INTERVENTION, task.story, code, Outcome.QUESTION, blocked)
    question = StoryEvidence(task.project, task.story).question() if verdict.outcome is Outcome.COMPLETED else None
    if question is not None:
        return ExecutionResult(INTERVENTION, task.story, code, Outcome.QUESTION, question)
    status, message = _status(verdict), verdict.message
    if verdict.outcome is Outcome.PERMISSION_DENIED and _is_step_done(task):
        status = SUCCESS  # a permission was denied, but the work was done another way
    if status == SUCCESS:
        evidence, against = _judge(task, folder, done)
        missing = _missing(task, done)
        if missing or against:
            status, message = FAILED, f"it ended well and left {missing}" if missing else "\n".join(against)
            message += _revert_rows(task, evidence) if evidence else ""
    return ExecutionResult(status, task.story, code, verdict.outcome, message)


def _missing(task: DispatchedTask, done: FinishedCall) -> str:
    """The required output that is missing: an agent's claim is not enough."""
    evidence = StoryEvidence(task.project, task.story)
    if task.step == CODE_REVIEW:  # in a git repository, _judge reads the verdict
        return "" if Git(task.project.root.checkout).work_tree or evidence.has_verdict() else "no verdict"
    if evidence.is_step_done(task.step):
        return ""
    if task.step == CREATE:
        return "" if evidence.story_file() else "no story file"
    unchanged = done.spec.tree is not None and done.spec.tree == done.result.tree
    return "no change" if task.step in (DEV, BUILD) and unchanged else ""


def _judge(task: DispatchedTask, folder: str, done: FinishedCall) -> tuple[Evidence | None, list[str]]:
    """Judge the work as a run does, measured from the story's first recorded call. Return the evidence (None
    outside git) and the gates' objections. A review without a readable verdict is an objection too."""
    from ..gates.judge import judge_work
    from .collect import CallSite, collect_finished_call

    git = Git(task.project.root.checkout)
    if git.work_tree is None:
        return None, []
    if _awaits_evidence(task):  # the work was done after the starting process ended
        now = tree_snapshot.look(git.top, command_environment(task.project.config, folder), f"{folder}/index")
        done = FinishedCall(
            done.spec, replace(done.result, head=now.head, branch=now.branch, tree=now.tree), done.verdict
        )
    calls = _calls_of(task, folder)
    first = next((call for call in calls if read_call_spec(call).step != CREATE.name), folder)
    tree = read_call_spec(first).tree or done.spec.tree
    if tree is not None and git.ask("cat-file", "-e", tree, codes=(0, 1, 128)).code != 0:  # collected as garbage
        first, tree = folder, done.spec.tree
    config = task.project.config
    before = _kept_branch(folder)
    branch = task.branch or before or ""
    lane = Lane(LaneScope.STEP, task.story, None, PIPELINES["lean"], branch, unprotected=config.unprotected)
    site = CallSite(
        task.project,
        git,
        lane._replace(checks=check_commands(task.project)),
        folder,
        first,
        frozenset(),
        tuple(calls),
    )
    order = AgentCall(CallId(1, task.step.name, 1), task.story, task.step, head=done.spec.head, tree=tree)
    got = collect_finished_call(
        site, order, done, lambda result, _: WorktreeSnapshot(result.head, result.branch, result.tree, None)
    )
    evidence = got.evidence
    if before == "" and not branch:  # HEAD was detached
        evidence = evidence._replace(is_same_branch=not done.result.branch)
    # A reviewer need not write code. It must not undo what an earlier call wrote.
    if task.step.owes is StepOutput.VERDICT and (
        first == folder or not evidence.changed_in_attempt or not _wrote_code(task, git, calls)
    ):
        evidence = evidence._replace(differs_from_baseline=True)
    against = [objection.message for objection in judge_work(evidence)]
    if not against and task.step.owes is StepOutput.VERDICT:
        found = judge_evidence(task.step, got, ())
        against = [str(found["message"])] if found["finding"] is CallFact.INCOMPLETE else []
        if found["finding"] is CallFact.CHANGES and got.row == DONE != got.row_before:
            against = [f"The review requests changes and sets its row to done.\n{found['summary']}".rstrip()]
    return evidence, against


def _wrote_code(task: DispatchedTask, git: Git, calls: list[str]) -> bool:
    """Whether an earlier call changed more than the story's own files. Changes that an instance made after its
    command ended are not recorded."""
    metadata = os.path.join(task.project.root.checkout, METADATA)  # restored after each call
    own = [*StoryEvidence(task.project, task.story).story_paths.bookkeeping, metadata]
    paths = {os.path.relpath(os.path.realpath(path), git.top) for path in own}
    return bool(paths_changed_by(git, calls[:-1], lambda: (None, None)) - paths - {""})


def _kept_branch(folder: str) -> str | None:
    """The branch before the call; empty: HEAD was detached; None: not recorded."""
    try:
        return read_bytes(f"{folder}/{BRANCH}", limit=MAX_BRANCH, follow=False).decode("utf-8", "replace")
    except FileError:
        return None


def _revert_rows(task: DispatchedTask, evidence: Evidence) -> str:
    """After a refused call: set the story's row back to its status before the call, and other rows that went into
    review or done. A row that has changed again since is left alone. Return the sentence for the message."""
    board, state, inside = task.project.require_board(), task.project.state_folder, task.project.work_tree
    was, now = evidence.rows_before.get(task.story, ""), (evidence.rows_after or {}).get(task.story, "")
    rows = [MovedRow(task.story, was, now)] if was and now and was != now else []
    rows += [row for row in moved_rows(evidence) if claims_completion(row)]
    done = []
    for key, before, after in rows:
        with suppress(FileError, UsageError, ConflictError):
            back = restored_status(key, before)
            set_status(board, key, back, state=state, allowed_root=inside, expect=after, regress=True)
            done.append(f"{key}: {after} -> {back}")
    return f"\nRows set back on the board: {', '.join(done)}." if done else ""


def _calls_of(task: DispatchedTask, folder: str) -> list[str]:
    """The folders of the story's calls up to this one, oldest first."""
    found = [folder]
    for site in find_attempts(runs_folder(task.project.root.path))[:MAX_ATTEMPTS_SEARCHED]:
        try:
            spec = read_call_spec(site.folder)
        except FileError:
            continue
        if spec.story == task.story and os.path.abspath(site.folder) != os.path.abspath(folder):
            found.append(site.folder)
    return found[::-1]


def _status(verdict: AttemptVerdict) -> str:
    if verdict.outcome in (Outcome.TIMED_OUT, Outcome.STALLED):
        return TIMEOUT
    return _STATUSES[REACTIONS[verdict.outcome]]


_STATUSES = {
    Reaction.PROCEED: SUCCESS,
    Reaction.ASK: INTERVENTION,
    Reaction.PARK: INTERVENTION,
    Reaction.STOP: INTERVENTION,
    Reaction.BACK_OFF: FAILED,
    Reaction.RETRY: FAILED,
}

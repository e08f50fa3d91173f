"""Finds the unfinished run for `bmad status`: its supervisor, running step, question and pending deliveries.

Reads only parts of each file: importing the loop's own readers would take longer than the rest of `status`."""

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, NamedTuple

from ..agents.shim import attempt_files
from ..core.errors import FileError, command
from ..io.files import is_locked
from ..io.json_files import as_text, parse_timestamp, read_json_object
from ..project.project import Project
from ..runs.layout import find_runs, list_attempts, runs_folder

if TYPE_CHECKING:
    from ..runs.question_file import RunQuestion
    from ..runs.supervisor_lock import ControlRequest

MAX_TEXT = 300
MAX_PENDING = 100  # runs read; no more pull requests may be pending
MAX_SHOWN = 5

_STEP = re.compile(r"\d+-(.+)")
_QUESTION = re.compile(r"(\d{3})\.json")
_FINISHED = ("completed", "failed")  # failed: the user ended it


class PendingDelivery(NamedTuple):
    """A finished epic whose delivery waits for reviews, checks or its turn."""

    epic: str
    pull: Annotated[int, "the pull request's number; 0: there is none"]
    why: Annotated[str, "what it waits for"]

    def __str__(self) -> str:
        return f"{self.epic}{f': pull request #{self.pull}' if self.pull else ''} waits for {self.why}"


class ParkedRun(NamedTuple):
    """An epic the user has parked while its autopilot keeps running."""

    epic: str
    run: str
    asked: "ControlRequest"

    def __str__(self) -> str:
        how = "paused" if self.asked == "pause" else "stopped"
        return f"{self.epic} is {how}, the others go on: {command('resume', '--run', self.run)}"


class OpenRun(NamedTuple):
    run: str
    story: str  # its current story
    is_supervised: bool = False
    pid: int = 0  # of the supervisor; 0: unknown
    working_step: str = ""  # the step whose agent is running
    question: "RunQuestion | None" = None  # its open question
    resume_command: str = ""  # resumes it, if it has no supervisor
    pending: tuple[PendingDelivery, ...] = ()  # of all runs, oldest first
    parked: tuple[ParkedRun, ...] = ()

    @property
    def question_text(self) -> str:
        return self.question.summary[:MAX_TEXT] if self.question else ""


class UnfinishedRun(NamedTuple):
    at: float
    folder: str
    target: str
    story: str
    step: int

    @property
    def id(self) -> str:
        return os.path.basename(self.folder)


def unfinished_runs(project: Project) -> list[UnfinishedRun]:
    """All unfinished runs, newest first."""
    runs = runs_folder(project.root.path)
    return sorted(
        (one for session, name in find_runs(runs) if (one := _read_unfinished(runs, session, name))), reverse=True
    )


def find_open_run(project: Project, found: list[UnfinishedRun]) -> OpenRun | None:
    """The supervised run, else the one `bmad resume` would resume."""
    from ..runs.supervisor_lock import AUTOPILOT, lock_owners
    from .resume_command import resume_command

    holders = {run: holder for holder in lock_owners(project.state_folder) for run in holder.run_ids}
    chosen = next((one for one in found if one.id in holders), None) or _run_to_resume(found)
    if chosen is None:
        return None
    holder = holders.get(chosen.id)
    question = _open_question(chosen.folder)
    pid, next_command = (holder.pid, "") if holder else (0, resume_command(chosen.folder))
    waits = tuple(filter(None, map(_pending, reversed(found[:MAX_PENDING]))))
    parked = tuple(_parked([one for one in found if one.id in holders and holders[one.id].command == AUTOPILOT]))
    working = _working_step(chosen)
    return OpenRun(
        chosen.id, chosen.story, holder is not None, pid, working, question, next_command, waits, parked
    )


def _parked(found: list[UnfinishedRun]) -> Iterator[ParkedRun]:
    from ..runs.supervisor_lock import read_request

    for one in reversed(found[:MAX_PENDING]):
        asked = read_request(one.folder)
        if asked is not None:
            yield ParkedRun(one.target or one.id, one.id, asked)


def _run_to_resume(found: list[UnfinishedRun]) -> UnfinishedRun | None:
    from ..runs.journal import lane_entry

    return next((one for one in found if lane_entry(one.folder)), None)


def _read_unfinished(runs: str, session: str, name: str) -> UnfinishedRun | None:
    folder = os.path.join(runs, session, name)
    try:
        state = read_json_object(os.path.join(folder, "state.json"))
    except FileError:
        state = None
    if state is None:
        return _from_journal(folder, session)
    if as_text(state.get("status")).strip().lower() in _FINISHED:
        return None
    variables = state.get("session_variables")
    known = variables if isinstance(variables, dict) else {}
    target, story = as_text(known.get("target")), as_text(known.get("story"))
    step, last = state.get("current_step"), parse_timestamp(state.get("last_checkpoint"))
    return UnfinishedRun(last, folder, target, story, step if isinstance(step, int) else 0)


def _from_journal(folder: str, session: str) -> UnfinishedRun | None:
    from ..runs.index import load_run_state

    state = load_run_state(folder, session)
    if state is None or state.status.value in _FINISHED:
        return None
    return UnfinishedRun(state.last_checkpoint, folder, "", "", state.current_step)


def _pending(run: UnfinishedRun) -> PendingDelivery | None:
    from ..runs.journal import last_entry

    entry = last_entry(run.folder)
    if entry is None or entry.kind != "pending":
        return None
    pull, why = entry.data.get("pull"), as_text(entry.data.get("why")).partition("\n")[0]
    return PendingDelivery(
        run.target or run.id, pull if isinstance(pull, int) else 0, why[:MAX_TEXT] or "its turn"
    )


def _open_question(folder: str) -> "RunQuestion | None":
    """The oldest open question. Unreadable files are skipped; `bmad questions` reports them."""
    questions_folder = os.path.join(folder, "questions")
    try:
        names = sorted(os.listdir(questions_folder))
    except OSError:  # no question was asked yet
        return None
    from ..runs.question_file import read_question

    for match in filter(None, map(_QUESTION.fullmatch, names)):
        try:
            question = read_question(os.path.join(questions_folder, match[0]), f"q{int(match[1])}")
        except FileError:
            continue
        if question is not None and question.answer is None:
            return question
    return None


def _working_step(run: UnfinishedRun) -> str:
    """The step with a running agent. The checkpoint may be one step behind."""
    for number in (run.step + 1, run.step):
        for call in list_attempts(run.folder, number)[-1:]:
            name = _STEP.fullmatch(os.path.basename(os.path.dirname(call)))
            ended = os.path.exists(os.path.join(call, attempt_files.RESULT))
            if name and not ended and is_locked(os.path.join(call, attempt_files.LOCK)):
                return name[1]
    return ""


def describe_run(one: OpenRun) -> Iterator[str]:
    at_work = f"{one.working_step} of {one.story}" if one.story else one.working_step
    if one.is_supervised:
        pid = f" (pid {one.pid})" if one.pid else ""
        yield f"run {one.run} is under way{pid}" + (f": {at_work} is at work" if one.working_step else "")
    elif one.working_step:
        yield f"an agent is still at work, left by its run: {at_work}"
    if one.question is not None:
        yield f"waits for you: {one.question.story}: {one.question_text} (bmad questions)"
    yield from map(str, one.pending[:MAX_SHOWN])
    if len(one.pending) > MAX_SHOWN:
        yield f"{len(one.pending) - MAX_SHOWN} more wait for others"
    yield from map(str, one.parked[:MAX_SHOWN])
    if len(one.parked) > MAX_SHOWN:
        yield f"{len(one.parked) - MAX_SHOWN} more are parked"
    if one.resume_command:
        yield f"{one.resume_command} goes on with run {one.run}"


def run_commands(one: OpenRun) -> tuple[tuple[str, str], ...]:
    """Commands that do not disturb the run; a step done by hand would."""
    answer = (("bmad questions", "see what it asks, and how to answer"),) if one.question else ()
    look = (("bmad agent logs", "see what its agent does"),) if one.working_step else ()
    go_on = (
        ((one.resume_command, "then go on with it" if answer else "go on with it"),) if one.resume_command else ()
    )
    pulls = any(waits.pull for waits in one.pending)
    stand = (("bmad pr status", "how the pull requests stand"),) if pulls else ()
    lets_go = ((command("resume"), "let all that is parked go on"),) if one.parked else ()
    return (*answer, *look, *go_on, *lets_go, *stand)


class RunQuestionRow(NamedTuple):
    story: str
    text: Annotated[str, "its first line; bmad questions --json has it whole"]


class RunReport(NamedTuple):
    id: str
    story: Annotated[str | None, "the one in hand"]
    supervised: Annotated[bool, "false: command goes on with it"]
    pid: int | None
    working: Annotated[str | None, "the step whose agent is at work"]
    question: RunQuestionRow | None
    command: Annotated[str | None, "what goes on with it; null: somebody looks after it"]
    pending: Annotated[
        tuple[PendingDelivery, ...], "finished epics that wait for others, of all runs that are not over"
    ]
    parked: Annotated[
        tuple[ParkedRun, ...], "epics of a living autopilot that somebody has parked; the others go on"
    ]


def run_report(one: OpenRun) -> RunReport:
    return RunReport(
        one.run,
        one.story or None,
        one.is_supervised,
        one.pid or None,
        one.working_step or None,
        RunQuestionRow(one.question.story, one.question_text) if one.question else None,
        one.resume_command or None,
        one.pending,
        one.parked,
    )

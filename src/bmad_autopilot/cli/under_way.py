"""The run that is not over, as `bmad status` tells it: who looks after it, what it waits for, what goes on.

Only a little is read of each file: to import the loop's own readers takes longer than all the rest of `status`."""

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..agents.shim import records
from ..core.commands import command
from ..core.errors import FileError
from ..files import is_locked
from ..project.open import Project
from ..runs.json_files import read_object, text_of
from ..runs.layout import attempts_of, find_runs, runs_folder
from ..runs.times import seconds_of

if TYPE_CHECKING:
    from ..runs.question import Question

MAX_TEXT = 300
MOST_PENDING = 100  # runs that are looked at: no more pull requests than that may wait
MOST_SHOWN = 5

_STEP = re.compile(r"\d+-(.+)")
_QUESTION = re.compile(r"(\d{3})\.json")
_OVER = ("completed", "failed")  # failed: a person has ended it


class Pending(NamedTuple):
    """A finished epic that waits for others on its way to the base branch."""

    epic: str
    pull: int  # 0: there is none
    why: str  # what it waits for

    def __str__(self) -> str:
        return f"{self.epic}{f': pull request #{self.pull}' if self.pull else ''} waits for {self.why}"


class ParkedRun(NamedTuple):
    """An epic that somebody has parked beside others, which a living autopilot looks after."""

    epic: str
    run: str
    asked: str

    def __str__(self) -> str:
        how = "paused" if self.asked == "pause" else "stopped"
        return f"{self.epic} is {how}, the others go on: {command('resume', '--run', self.run)}"


class UnderWay(NamedTuple):
    run: str
    story: str  # the one in hand
    supervised: bool = False
    pid: int = 0  # of who looks after it; 0: not known
    working: str = ""  # the step whose agent is at work
    question: "Question | None" = None  # the one that waits for a person
    command: str = ""  # what goes on with it, where nobody does
    pending: tuple[Pending, ...] = ()  # of all runs, the oldest first
    parked: tuple[ParkedRun, ...] = ()

    @property
    def asks(self) -> str:
        return self.question.in_short[:MAX_TEXT] if self.question else ""


class Found(NamedTuple):
    at: float
    folder: str
    target: str
    story: str
    step: int

    @property
    def id(self) -> str:
        return os.path.basename(self.folder)


def not_over(project: Project) -> list[Found]:
    """The newest first."""
    runs = runs_folder(project.root.path)
    return sorted(
        (one for session, name in find_runs(runs) if (one := _not_over(runs, session, name))), reverse=True
    )


def run_under_way(project: Project, found: list[Found]) -> UnderWay | None:
    """The one that is looked after, else the one that `bmad resume` would go on with."""
    from ..runs.supervisor import AUTOPILOT, owners
    from .going_on import going_on

    holders = {run: holder for holder in owners(project.state_folder) for run in holder.run_ids}
    chosen = next((one for one in found if one.id in holders), None) or _to_resume(found)
    if chosen is None:
        return None
    holder = holders.get(chosen.id)
    question = _open_question(chosen.folder)
    pid, goes_on = (holder.pid, "") if holder else (0, going_on(chosen.folder))
    waits = tuple(filter(None, map(_pending, reversed(found[:MOST_PENDING]))))
    held = tuple(_parked([one for one in found if one.id in holders and holders[one.id].command == AUTOPILOT]))
    working = _working(chosen)
    return UnderWay(chosen.id, chosen.story, holder is not None, pid, working, question, goes_on, waits, held)


def _parked(found: list[Found]) -> Iterator[ParkedRun]:
    from ..runs.requests import read_request

    for one in reversed(found[:MOST_PENDING]):
        asked = read_request(one.folder)
        if asked is not None:
            yield ParkedRun(one.target or one.id, one.id, asked.value)


def _to_resume(found: list[Found]) -> Found | None:
    from ..runs.journal import lane_entry

    return next((one for one in found if lane_entry(one.folder)), None)


def _not_over(runs: str, session: str, name: str) -> Found | None:
    folder = os.path.join(runs, session, name)
    try:
        state = read_object(os.path.join(folder, "state.json"))
    except FileError:
        state = None
    if state is None:
        return _by_its_journal(folder, session)
    if text_of(state.get("status")).strip().lower() in _OVER:
        return None
    variables = state.get("session_variables")
    known = variables if isinstance(variables, dict) else {}
    target, story = text_of(known.get("target")), text_of(known.get("story"))
    step, last = state.get("current_step"), seconds_of(state.get("last_checkpoint"))
    return Found(last, folder, target, story, step if isinstance(step, int) else 0)


def _by_its_journal(folder: str, session: str) -> Found | None:
    from ..runs.finding import state_of

    state = state_of(folder, session)
    if state is None or state.status.value in _OVER:
        return None
    return Found(state.last_checkpoint, folder, "", "", state.current_step)


def _pending(run: Found) -> Pending | None:
    from ..runs.journal import last_entry

    entry = last_entry(run.folder)
    if entry is None or entry.kind != "pending":
        return None
    pull, why = entry.data.get("pull"), text_of(entry.data.get("why")).partition("\n")[0]
    return Pending(run.target or run.id, pull if isinstance(pull, int) else 0, why[:MAX_TEXT] or "its turn")


def _open_question(folder: str) -> "Question | None":
    """The oldest. A file that cannot be read is told by `bmad questions`."""
    place = os.path.join(folder, "questions")
    try:
        names = sorted(os.listdir(place))
    except OSError:  # it has asked nothing yet
        return None
    from ..runs.question import read_question

    for match in filter(None, map(_QUESTION.fullmatch, names)):
        try:
            question = read_question(os.path.join(place, match[0]), f"q{int(match[1])}")
        except FileError:
            continue
        if question is not None and question.answer is None:
            return question
    return None


def _working(run: Found) -> str:
    """The checkpoint may be a step behind."""
    for number in (run.step + 1, run.step):
        for call in attempts_of(run.folder, number)[-1:]:
            name = _STEP.fullmatch(os.path.basename(os.path.dirname(call)))
            ended = os.path.exists(os.path.join(call, records.RESULT))
            if name and not ended and is_locked(os.path.join(call, records.LOCK)):
                return name[1]
    return ""


def told(one: UnderWay) -> Iterator[str]:
    at_work = f"{one.working} of {one.story}" if one.story else one.working
    if one.supervised:
        pid = f" (pid {one.pid})" if one.pid else ""
        yield f"run {one.run} is under way{pid}" + (f": {at_work} is at work" if one.working else "")
    elif one.working:
        yield f"an agent is still at work, left by its run: {at_work}"
    if one.question is not None:
        yield f"waits for you: {one.question.story}: {one.asks} (bmad questions)"
    yield from map(str, one.pending[:MOST_SHOWN])
    if len(one.pending) > MOST_SHOWN:
        yield f"{len(one.pending) - MOST_SHOWN} more wait for others"
    yield from map(str, one.parked[:MOST_SHOWN])
    if len(one.parked) > MOST_SHOWN:
        yield f"{len(one.parked) - MOST_SHOWN} more are parked"
    if one.command:
        yield f"{one.command} goes on with run {one.run}"


def commands(one: UnderWay) -> tuple[tuple[str, str], ...]:
    """What can be typed beside it: a step done by hand would be in its way."""
    answer = (("bmad questions", "see what it asks, and how to answer"),) if one.question else ()
    look = (("bmad agent logs", "see what its agent does"),) if one.working else ()
    go_on = ((one.command, "then go on with it" if answer else "go on with it"),) if one.command else ()
    pulls = any(waits.pull for waits in one.pending)
    stand = (("bmad pr status", "how the pull requests stand"),) if pulls else ()
    lets_go = ((command("resume"), "let all that is parked go on"),) if one.parked else ()
    return (*answer, *look, *go_on, *lets_go, *stand)


def document(one: UnderWay) -> dict[str, object]:
    asked = {"story": one.question.story, "text": one.asks} if one.question else None
    return {
        "id": one.run,
        "story": one.story or None,
        "supervised": one.supervised,
        "pid": one.pid or None,
        "working": one.working or None,
        "question": asked,
        "command": one.command or None,
        "pending": [waits._asdict() for waits in one.pending],
        "parked": [held._asdict() for held in one.parked],
    }

"""From how a run ended to what is said about it."""

import os
import re
import time

from ..agents.attempts import State, state_of
from ..board.overview import EpicView, next_action, overview
from ..board.sprint import Board, action_items, read_board
from ..core.commands import command
from ..core.errors import AutopilotError, FileError
from ..core.statuses import DONE, OPTIONAL, READY, REVIEW
from ..engine.driving import RunEnd
from ..engine.lane import Lane
from ..files import read_text
from ..github.git import Git
from ..github.ground import look_at_ground
from ..project.open import Project
from ..runs.layout import attempt_folder
from ..runs.questions import open_questions
from ..views.questions import Waiting
from ..views.summary import Question, Summary
from ..views.words import first_line, said_of
from .going_on import command_for
from .taking_over import take_over
from .workflow_ending import summarise_workflow

DEFERRED = "deferred-work.md"
_ENTRY = re.compile(r"[-*] (?!\[[xX]\])")

Command = tuple[str, str]


def summarise(project: Project, end: RunEnd) -> Summary:
    lane, run = end.lane, end.record
    if lane.is_flow:
        from .flow_ending import summarise_flow

        return summarise_flow(project, end)
    if lane.is_workflow:
        return summarise_workflow(project, end)
    board = _board(project)
    epics = overview(board) if board else []
    done, left = _stories(lane, epics)
    asked = open_questions(end.folder)
    waits = [Waiting(question, end.run_id, 0.0) for question in asked]
    steps = [step for story in run.stories.values() for step in story.steps]
    retro = _retrospective(lane, epics)
    ended = sum(call.ended is not None for step in steps for call in step.calls)
    return Summary(
        end.status,
        _target(lane),
        end.run_id,
        done,
        left,
        commits=len(run.commits) + sum(len(story.commits) for story in run.stories.values()),
        rounds=sum(story.round - 1 for story in run.stories.values()),  # those that were sent back
        calls=sum(len(step.calls) for step in steps) - run.taken_over,
        agent_seconds=run.seconds,
        seconds=max(0.0, time.time() - run.began),
        dollars=run.dollars,
        priced=ended - run.unpriced - run.taken_over,
        unpriced=run.unpriced,
        tokens=run.tokens,
        checks=bool(lane.checks),
        retrospective=retro,
        not_held=_not_held(end),
        why=_why(end, left),
        left_out=_left_out(project, lane),
        action_items=tuple(item.action for item in action_items(board) if item.status != "done") if board else (),
        deferred=_deferred(project),
        questions=tuple(Question(question.story, first_line(question.in_short)) for question in asked),
        hand_over=take_over(project.config, lane, run, project.root.checkout) if _is_by_hand(end) else (),
        next=tuple(_next(end, epics, waits, retro)),
    )


def _board(project: Project) -> Board | None:
    try:
        return read_board(project.require_board())
    except FileError:
        return None


def _target(lane: Lane) -> str:
    return f"the next step of {lane.key}" if lane.scope == "step" else lane.key


def _stories(lane: Lane, epics: list[EpicView]) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    rows = [row for epic in epics for row in epic.stories]
    own = [row for row in rows if (row.epic == lane.epic if lane.scope == "epic" else row.key == lane.key)]
    done = tuple(row.key for row in own if row.meaning == DONE)
    return done, tuple((row.key, row.status.raw) for row in own if row.meaning != DONE)


def _retrospective(lane: Lane, epics: list[EpicView]) -> str:
    epic = next((epic for epic in epics if epic.number == lane.epic), None)
    retro = epic.retrospective if epic and lane.scope == "epic" and lane.retrospective != "never" else None
    is_open = retro is not None and retro.meaning == OPTIONAL and epic is not None and epic.is_closed
    return retro.key if retro and is_open else ""


def _not_held(end: RunEnd) -> str:
    """How a retrospective ended that left nothing: nobody was there to be asked, or they left it."""
    record = end.record.stories.get(end.lane.key) if end.lane.scope == "epic" else None
    ended = record.last_ended if record else None
    finding = str(ended.get("finding", "")) if ended else ""
    if ended is None or finding == "good":
        return ""
    asked = ended.get("question") or {}
    said = first_line(str(asked.get("question", ""))) if finding == "asked" else said_of(ended, finding)
    how = "stopped to ask" if finding == "asked" else "was not held"
    return f"the retrospective {how}" + (f": {said}" if said else "")


def _why(end: RunEnd, left: tuple[tuple[str, str], ...]) -> str:
    if end.status == "pending":
        number = f"#{end.record.delivery.pull} " if end.record.delivery.pull else ""
        return f"{number}waits for {(end.record.delivery.waits or {}).get('why') or 'its turn'}"
    if end.status != "not-done":
        return ""
    story = end.record.stories.get(end.lane.key)
    if story is not None and story.skipped:
        return "skipped, as you answered: its row is blocked, and its work is set aside"
    return f"its row says {left[0][1]}, and that is nobody's to change but yours" if left else "it left the board"


def _left_out(project: Project, lane: Lane) -> tuple[str, ...]:
    """What --allow-dirty let pass, as far as it is still not committed."""
    if not lane.dirty:
        return ()
    try:
        dirty = look_at_ground(Git(project.root.checkout)).dirty
    except AutopilotError:
        return ()
    before = set(lane.dirty)
    return tuple(path for path in dirty if path in before)


def _deferred(project: Project) -> int:
    """What reviews have put off; ticked entries are done."""
    path = os.path.join(project.folders.implementation, DEFERRED)
    try:
        text = read_text(path).text if os.path.exists(path) else ""
    except FileError:
        return 0
    return sum(_ENTRY.match(line) is not None for line in text.splitlines())


def _is_by_hand(end: RunEnd) -> bool:
    return end.status == "handed-over"


def _is_at_work(end: RunEnd) -> bool:
    steps = [step for story in end.record.stories.values() for step in story.steps]
    last = max(steps, key=lambda step: step.number, default=None)
    if last is None or last.last is None or last.last.ended is not None:
        return False
    return state_of(attempt_folder(end.folder, last.number, last.step, last.last.attempt)) is State.RUNNING


def _next(end: RunEnd, epics: list[EpicView], waits: list[Waiting], retro: str) -> list[Command]:
    lane = end.lane
    goes_on = command_for(lane.delivery is not None, lane.session)
    story = next(reversed(end.record.stories), lane.key)
    if end.status in ("waiting", "left", "paused") and waits:
        return [(waits[0].command, "answer it (bmad questions shows it whole)"), (goes_on, "then go on")]
    if end.status == "handed-over":
        row = command("board", "set", story, REVIEW)
        return [
            (row, "say how far you have brought it, if it has moved"),
            (goes_on, "then go on from there"),
        ]
    if end.status == "waiting":
        return [(goes_on, "once it can go on")]
    if end.status == "pending":
        look = [("bmad pr status", "how it stands")] if end.record.delivery.pull else []
        return [(goes_on, "watch it, and go on with the epics meanwhile"), *look]
    if end.status == "not-done" and story in end.record.stories:
        return [(command("board", "set", story, READY), "let it be worked on again"), *_after(lane, epics, retro)]
    if end.status in ("left", "paused"):
        stop = (command("agent", "cancel", story), "or stop its agent; what it did is kept")
        return [(goes_on, "go on where it stood"), *([stop] if _is_at_work(end) else [])]
    if end.status == "failed" and lane.delivery is not None:
        return [(f"{goes_on} --continue", "go on after all")]
    if end.status == "failed":
        return [(goes_on, "go on after all"), (command("restart", story), "or begin the story anew")]
    return _after(lane, epics, retro)


def _after(lane: Lane, epics: list[EpicView], retro: str) -> list[Command]:
    if lane.of_tasks:  # `run-epic` would take an epic of BMAD's board
        return [("bmad flow run", "go on with the flow")]
    found = []
    if retro:
        found.append((command("run-epic", lane.epic or lane.key, "--retrospective"), "look back on the epic"))
    action = next_action(epics)
    if action is None:
        return found or [("bmad status", "nothing is left to do")]
    epic = next(epic for epic in epics if any(row.key == action.story_id for row in epic.stories))
    if lane.scope == "epic" and epic.number:
        return [*found, (command("run-epic", epic.number), f"the next epic: {action.story_id} comes first")]
    return [*found, ("bmad next", f"{action.type} {action.story_id}")]

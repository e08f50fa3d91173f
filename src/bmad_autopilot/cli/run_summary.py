"""Builds the summary of a finished run, flow or workflow, and the commands to take over by hand."""

import os
import re
import shlex
import time
from collections.abc import Mapping

from ..agents.attempt import AttemptState, attempt_state
from ..board.overview import EpicView, epic_views, next_action
from ..board.sprint_status import Board, action_items, read_board
from ..core.errors import AutopilotError, FileError, command
from ..core.journal_fold import fold
from ..core.lane_scope import LaneScope
from ..core.run_ending import RunEnding
from ..core.run_record import CallRecord, RunRecord, StepRecord, StoryRecord
from ..core.statuses import DONE, OPTIONAL, READY, REVIEW
from ..engine.autopilot.checkouts import open_lane_project
from ..engine.flows.status import FlowStatus, load_flow_status
from ..engine.lane import Lane, lane_from_json
from ..engine.observe import skipped_steps
from ..engine.runner import RunEnd
from ..git.git import Git
from ..git.worktree_state import read_worktree_state
from ..io.files import read_text
from ..project.config import Config
from ..project.project import Project
from ..runs.journal import Journal
from ..runs.layout import attempt_folder
from ..runs.question_file import RunQuestion
from ..runs.questions import open_questions
from ..views.flow import CURRENT, FLOW_DONE, UPCOMING
from ..views.format import describe_outcome, first_line
from ..views.questions import OpenQuestion
from ..views.summary import RunSummary, SummaryQuestion
from ..workflows.flow_file import FlowHead
from ..workflows.flows import Flow
from ..workflows.step_entry import COMMAND
from .flow_lookup import next_flow_step
from .flow_status import current_step_status, step_lines
from .resume_command import resume_command_for

# Taking over from an agent: in its folder, resuming its conversation.

# client → command that resumes a conversation by its id
_RESUME_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "claude": ("claude", "--resume"),
    "codex": ("codex", "resume"),
    "opencode": ("opencode", "-s"),
    "gemini": ("gemini", "--resume"),
    "copilot": ("copilot", "--resume"),
    "cursor": ("cursor-agent", "--resume"),
}


def takeover_lines(config: Config, lane: Lane, run: RunRecord, folder: str) -> tuple[str, ...]:
    """The commands to type: cd into the folder, and the client's resume command if its last call has one."""
    cd_command = f"cd {shlex.quote(folder)}"
    last = _last_call(run)
    if last is None:
        return (cd_command,)
    step, session, agent = last
    role = next((one.role for one in (*lane.workflow.steps, lane.workflow.fix) if one.name == step), "dev")
    if not agent and role in config.roles:  # a command step has no agent
        agent = config.agent_of(role)
    command = _RESUME_COMMANDS.get(agent)
    return (f"{cd_command} && {shlex.join((*command, session))}",) if command and session else (cd_command,)


def takeover_lines_of_run(project: Project, run: str) -> tuple[str, ...]:
    """The same for a recorded run. If its journal cannot be read, only the cd command."""
    cd_command = f"cd {shlex.quote(project.root.checkout)}"
    try:
        entries = Journal(run, lambda value: value).entries()
        record = fold((entry.kind, entry.data, entry.at) for entry in entries)
        lane = lane_from_json(record.start_entry)
        return takeover_lines(project.config, lane, record, open_lane_project(project, lane).root.checkout)
    except (AutopilotError, LookupError, TypeError, ValueError):
        return (cd_command,)


def _last_call(run: RunRecord) -> tuple[str, str, str] | None:
    """The last ended call: step, conversation id, agent."""
    stories: list[StoryRecord] = [story for story in run.stories.values() if story.steps]
    steps: list[StepRecord] = [step for story in stories for step in story.steps if step.last_call]
    newest = max(steps, key=lambda step: step.number, default=None)
    last = newest.last_call if newest else None
    if newest is None or last is None or last.outcome is None:
        return None
    return newest.step, str(last.outcome.get("session") or ""), last.agent


Command = tuple[str, str]


def summarise(project: Project, end: RunEnd) -> RunSummary:
    lane, run = end.lane, end.record
    asked = open_questions(end.folder)
    calls = _own_calls(run)
    prices = [call.outcome.get("dollars") for call in calls if call.outcome is not None and call.agent != COMMAND]
    summary = RunSummary(
        end.status,
        _target(lane),
        end.run_id,
        done=(),
        left=(),
        calls=len(calls),
        agent_seconds=run.seconds,
        seconds=max(0.0, time.time() - run.started_at),
        dollars=run.dollars,
        priced=sum(price is not None for price in prices),
        unpriced=sum(price is None for price in prices),
        tokens=run.tokens,
        questions=tuple(map(_summary_question, asked)),
        hand_over=takeover_lines(project.config, lane, run, project.root.checkout)
        if end.status is RunEnding.HANDED_OVER
        else (),
    )
    if lane.is_flow:
        return _with_flow(summary, project, end)
    if lane.is_workflow:
        return _with_workflow(summary, project, end, asked)
    return _with_stories(summary, project, end, asked)


def _target(lane: Lane) -> str:
    return f"the next step of {lane.key}" if lane.scope is LaneScope.STEP else lane.key


def _own_calls(run: RunRecord) -> list[CallRecord]:
    """In order, without those of the run this one was forked from."""
    steps = sorted((step for story in run.stories.values() for step in story.steps), key=lambda step: step.number)
    return [call for step in steps for call in step.calls][run.inherited_calls :]


def _summary_question(asked: RunQuestion) -> SummaryQuestion:
    return SummaryQuestion(asked.story, first_line(asked.summary))


# A flow: from its files and state file, because earlier sessions may have done steps.


def _with_flow(summary: RunSummary, project: Project, end: RunEnd) -> RunSummary:
    status = _flow_status(project, end)
    questions = summary.questions
    if not questions and status is not None and status.question is not None:  # of one of its tasks
        questions = (_summary_question(status.question.question),)
    done, left = _steps(status)
    return summary._replace(
        done=done,
        left=left,
        questions=questions,
        next=tuple(_next_for_flow(project, end, status)),
        kind="steps",
        output=end.lane.path if status is not None and status.state is not None else "",
    )


def _flow_status(project: Project, end: RunEnd) -> FlowStatus | None:
    """None: its state file cannot be read; `bmad flow` reports it."""
    lane = end.lane
    try:
        return load_flow_status(project, Flow(lane.workflow, FlowHead(state=lane.path)))
    except FileError:
        return None


def _steps(status: FlowStatus | None) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    lines = step_lines(status) if status is not None else []
    words = {CURRENT: current_step_status(status).replace("_", " ") if status else "", UPCOMING: "to come"}
    done = tuple(line.name for line in lines if line.mark == FLOW_DONE)
    left = tuple((line.name, words.get(line.mark, "skipped")) for line in lines if line.mark != FLOW_DONE)
    return done, left


def _next_for_flow(project: Project, end: RunEnd, status: FlowStatus | None) -> list[Command]:
    if status is None:
        return [("bmad flow", "what is wrong with its state file")]
    step, part = status.step, status.part
    if end.status is RunEnding.SESSION_OVER and step is not None and part is not None:
        return [("bmad flow run", f"starts it: step {part.number}, {step.name}")]
    if end.status is RunEnding.HANDED_OVER:
        return [(command("flow", "run"), "then go on from there")]
    return list(next_flow_step(project, status).commands)


# A workflow file: from its steps in the journal.


def _with_workflow(summary: RunSummary, project: Project, end: RunEnd, asked: list[RunQuestion]) -> RunSummary:
    lane, run = end.lane, end.record
    story = run.stories.get(lane.key)
    steps = story.steps if story else []
    accepted = {step.step for step in steps if step.accepted}
    states = {step.step: "begun" for step in steps}
    states |= dict.fromkeys(skipped_steps(run, story) if story else (), "skipped")
    names = [step.name for step in lane.workflow.steps]
    return summary._replace(
        done=tuple(name for name in names if name in accepted),
        left=tuple((name, states.get(name, "to do")) for name in names if name not in accepted),
        next=tuple(_next_for_workflow(end, [OpenQuestion(question, end.run_id, 0.0) for question in asked])),
        kind="steps",
        output=_output(project, end),
    )


def _output(project: Project, end: RunEnd) -> str:
    """Path of the last artefact, relative to the project."""
    made = [one for checkpoint in end.record.checkpoints for one in checkpoint["artefacts"]]
    return os.path.relpath(os.path.join(end.folder, str(made[-1]["path"])), project.root.path) if made else ""


def _next_for_workflow(end: RunEnd, waits: list[OpenQuestion]) -> list[Command]:
    if waits:
        return [(waits[0].command, "answer it (bmad questions shows it whole)"), ("bmad resume", "then go on")]
    if end.status is RunEnding.COMPLETED:
        return []
    return [("bmad resume", "go on where it stood")]


# A story or an epic: from the board.

DEFERRED = "deferred-work.md"
_ENTRY = re.compile(r"[-*] (?!\[[xX]\])")


def _with_stories(summary: RunSummary, project: Project, end: RunEnd, asked: list[RunQuestion]) -> RunSummary:
    lane, run = end.lane, end.record
    board = _board(project)
    epics = epic_views(board) if board else []
    done, left = _stories(lane, epics)
    waits = [OpenQuestion(question, end.run_id, 0.0) for question in asked]
    retro = _retrospective(lane, epics)
    return summary._replace(
        done=done,
        left=left,
        commits=len(run.commits) + sum(len(story.commits) for story in run.stories.values()),
        rounds=sum(story.round - 1 for story in run.stories.values()),  # without the first
        checks=bool(lane.checks),
        retrospective=retro,
        not_held=_retrospective_problem(end),
        why=_reason(end, left),
        left_out=_uncommitted_files(project, lane),
        action_items=tuple(item.action for item in action_items(board) if item.status != "done") if board else (),
        deferred=_count_deferred(project),
        next=tuple(_next_for_run(end, epics, waits, retro)),
    )


def _board(project: Project) -> Board | None:
    try:
        return read_board(project.require_board())
    except FileError:
        return None


def _stories(lane: Lane, epics: list[EpicView]) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    rows = [row for epic in epics for row in epic.stories]
    own = [row for row in rows if (row.epic == lane.epic if lane.scope is LaneScope.EPIC else row.key == lane.key)]
    done = tuple(row.key for row in own if row.meaning == DONE)
    return done, tuple((row.key, row.status.raw) for row in own if row.meaning != DONE)


def _retrospective(lane: Lane, epics: list[EpicView]) -> str:
    epic = next((epic for epic in epics if epic.number == lane.epic), None)
    retro = epic.retrospective if epic and lane.scope is LaneScope.EPIC and lane.retrospective != "never" else None
    is_open = retro is not None and retro.meaning == OPTIONAL and epic is not None and epic.is_closed
    return retro.key if retro and is_open else ""


def _retrospective_problem(end: RunEnd) -> str:
    """Why the retrospective produced no document: it stopped to ask, or it failed."""
    record = end.record.stories.get(end.lane.key) if end.lane.scope is LaneScope.EPIC else None
    ended = record.last_outcome if record else None
    finding = str(ended.get("finding", "")) if ended else ""
    if ended is None or finding == "good":
        return ""
    asked = ended.get("question") or {}
    said = first_line(str(asked.get("question", ""))) if finding == "asked" else describe_outcome(ended, finding)
    how = "stopped to ask" if finding == "asked" else "was not held"
    return f"the retrospective {how}" + (f": {said}" if said else "")


def _reason(end: RunEnd, left: tuple[tuple[str, str], ...]) -> str:
    if end.status is RunEnding.PENDING:
        number = f"#{end.record.delivery.pull} " if end.record.delivery.pull else ""
        return f"{number}waits for {(end.record.delivery.current_wait or {}).get('why') or 'its turn'}"
    if end.status is not RunEnding.NOT_DONE:
        return ""
    story = end.record.stories.get(end.lane.key)
    if story is not None and story.skipped:
        return "skipped, as you answered: its row is blocked, and its work is set aside"
    return f"its row says {left[0][1]}, and that is nobody's to change but yours" if left else "it left the board"


def _uncommitted_files(project: Project, lane: Lane) -> tuple[str, ...]:
    """Files that --allow-dirty let pass and that are still uncommitted."""
    if not lane.dirty:
        return ()
    try:
        dirty = read_worktree_state(Git(project.root.checkout)).dirty
    except AutopilotError:
        return ()
    before = set(lane.dirty)
    return tuple(path for path in dirty if path in before)


def _count_deferred(project: Project) -> int:
    """Number of open entries in deferred-work.md; ticked ones are done."""
    path = os.path.join(project.folders.implementation, DEFERRED)
    try:
        text = read_text(path).text if os.path.exists(path) else ""
    except FileError:
        return 0
    return sum(_ENTRY.match(line) is not None for line in text.splitlines())


def _has_running_agent(end: RunEnd) -> bool:
    steps = [step for story in end.record.stories.values() for step in story.steps]
    last = max(steps, key=lambda step: step.number, default=None)
    if last is None or last.last_call is None or last.last_call.outcome is not None:
        return False
    return (
        attempt_state(attempt_folder(end.folder, last.number, last.step, last.last_call.attempt))
        is AttemptState.RUNNING
    )


def _next_for_run(end: RunEnd, epics: list[EpicView], waits: list[OpenQuestion], retro: str) -> list[Command]:
    lane = end.lane
    next_command = resume_command_for(lane.delivery is not None, lane.session)
    story = next(reversed(end.record.stories), lane.key)
    if end.status in (RunEnding.WAITING, RunEnding.DETACHED, RunEnding.PAUSED) and waits:
        return [(waits[0].command, "answer it (bmad questions shows it whole)"), (next_command, "then go on")]
    if end.status is RunEnding.HANDED_OVER:
        row = command("board", "set", story, REVIEW)
        return [
            (row, "say how far you have brought it, if it has moved"),
            (next_command, "then go on from there"),
        ]
    if end.status is RunEnding.WAITING:
        return [(next_command, "once it can go on")]
    if end.status is RunEnding.PENDING:
        look = [("bmad pr status", "how it stands")] if end.record.delivery.pull else []
        return [(next_command, "watch it, and go on with the epics meanwhile"), *look]
    if end.status is RunEnding.NOT_DONE and story in end.record.stories:
        return [
            (command("board", "set", story, READY), "let it be worked on again"),
            *_next_work(lane, epics, retro),
        ]
    if end.status.is_stopped:
        stop = (command("agent", "cancel", story), "or stop its agent; what it did is kept")
        return [(next_command, "go on where it stood"), *([stop] if _has_running_agent(end) else [])]
    if end.status is RunEnding.FAILED and lane.delivery is not None:
        return [(f"{next_command} --continue", "go on after all")]
    if end.status is RunEnding.FAILED:
        return [(next_command, "go on after all"), (command("restart", story), "or begin the story anew")]
    return _next_work(lane, epics, retro)


def _next_work(lane: Lane, epics: list[EpicView], retro: str) -> list[Command]:
    if lane.of_tasks:  # not `run-epic`, which expects an epic of BMAD's board
        return [("bmad flow run", "go on with the flow")]
    found = []
    if retro:
        found.append((command("run-epic", lane.epic or lane.key, "--retrospective"), "look back on the epic"))
    action = next_action(epics)
    if action is None:
        return found or [("bmad status", "nothing is left to do")]
    epic = next(epic for epic in epics if any(row.key == action.story_id for row in epic.stories))
    if lane.scope is LaneScope.EPIC and epic.number:
        return [*found, (command("run-epic", epic.number), f"the next epic: {action.story_id} comes first")]
    return [*found, ("bmad next", f"{action.type} {action.story_id}")]

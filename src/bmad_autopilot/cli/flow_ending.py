"""From how a flow's run ended to what is said about it."""

import time

from ..core.commands import command
from ..core.errors import FileError
from ..engine.driving import RunEnd
from ..engine.flows.standing import Standing, look_at_flow
from ..project.open import Project
from ..runs.questions import open_questions
from ..views.flow import DONE, NOW, TO_COME
from ..views.summary import Question, Summary
from ..views.words import first_line
from ..workflows.flow_entry import FlowHead
from ..workflows.flow_list import Flow
from .flow_next import what_next
from .flow_view import status_of, step_lines
from .taking_over import take_over

Command = tuple[str, str]


def summarise_flow(project: Project, end: RunEnd) -> Summary:
    """By the folder and the state file: earlier sessions have done steps, too."""
    lane, run = end.lane, end.record
    standing = _standing(project, end)
    story = run.stories.get(lane.key)
    calls = [call for step in (story.steps if story else ()) for call in step.calls]
    own = [Question(one.story, first_line(one.in_short)) for one in open_questions(end.folder)]
    if not own and standing is not None and standing.asked is not None:
        asked = standing.asked.question
        own = [Question(asked.story, first_line(asked.in_short))]
    done, left = _steps(standing)
    ended = sum(call.ended is not None for call in calls)
    return Summary(
        end.status,
        lane.key,
        end.run_id,
        done,
        left,
        calls=len(calls) - run.taken_over,
        agent_seconds=run.seconds,
        seconds=max(0.0, time.time() - run.began),
        dollars=run.dollars,
        priced=ended - run.unpriced - run.taken_over,
        unpriced=run.unpriced,
        tokens=run.tokens,
        questions=tuple(own),
        hand_over=take_over(project.config, lane, run, project.root.checkout)
        if end.status == "handed-over"
        else (),
        next=tuple(_next(project, end, standing)),
        kind="steps",
        output=lane.path if standing is not None and standing.state is not None else "",
    )


def _standing(project: Project, end: RunEnd) -> Standing | None:
    """None: its state file cannot be read, as `bmad flow` then says."""
    lane = end.lane
    try:
        return look_at_flow(project, Flow(lane.workflow, FlowHead(state=lane.path)))
    except FileError:
        return None


def _steps(standing: Standing | None) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    lines = step_lines(standing) if standing is not None else []
    words = {NOW: status_of(standing).replace("_", " ") if standing else "", TO_COME: "to come"}
    done = tuple(line.name for line in lines if line.mark == DONE)
    left = tuple((line.name, words.get(line.mark, "skipped")) for line in lines if line.mark != DONE)
    return done, left


def _next(project: Project, end: RunEnd, standing: Standing | None) -> list[Command]:
    if standing is None:
        return [("bmad flow", "what is wrong with its state file")]
    step, part = standing.step, standing.part
    if end.status == "session-over" and step is not None and part is not None:
        return [("bmad flow run", f"starts it: step {part.number}, {step.name}")]
    if end.status == "handed-over":
        return [(command("flow", "run"), "then go on from there")]
    return list(what_next(project, standing).commands)

"""From how a workflow's run ended to what is said about it."""

import os
import time

from ..engine.driving import RunEnd
from ..engine.workflow_lane import skipped_steps
from ..project.open import Project
from ..runs.questions import open_questions
from ..views.questions import Waiting
from ..views.summary import Question, Summary
from ..views.words import first_line
from .taking_over import take_over

Command = tuple[str, str]


def summarise_workflow(project: Project, end: RunEnd) -> Summary:
    lane, run = end.lane, end.record
    story = run.stories.get(lane.key)
    steps = story.steps if story else []
    accepted = {step.step for step in steps if step.accepted}
    said = {step.step: "begun" for step in steps}
    said |= dict.fromkeys(skipped_steps(run, story) if story else (), "skipped")
    asked = open_questions(end.folder)
    ended = sum(call.ended is not None for step in steps for call in step.calls)
    return Summary(
        end.status,
        lane.key,
        end.run_id,
        tuple(step.name for step in lane.workflow.steps if step.name in accepted),
        tuple(
            (step.name, said.get(step.name, "to do")) for step in lane.workflow.steps if step.name not in accepted
        ),
        calls=sum(len(step.calls) for step in steps) - run.taken_over,
        agent_seconds=run.seconds,
        seconds=max(0.0, time.time() - run.began),
        dollars=run.dollars,
        priced=ended - run.unpriced - run.taken_over,
        tokens=run.tokens,
        questions=tuple(Question(question.story, first_line(question.in_short)) for question in asked),
        hand_over=take_over(project.config, lane, run, project.root.checkout)
        if end.status == "handed-over"
        else (),
        next=tuple(_next(end, [Waiting(question, end.run_id, 0.0) for question in asked])),
        kind="steps",
        output=_output(project, end),
    )


def _output(project: Project, end: RunEnd) -> str:
    """What the last step has left, for a person."""
    made = [one for checkpoint in end.record.checkpoints for one in checkpoint["artefacts"]]
    return os.path.relpath(os.path.join(end.folder, str(made[-1]["path"])), project.root.path) if made else ""


def _next(end: RunEnd, waits: list[Waiting]) -> list[Command]:
    if waits:
        return [(waits[0].command, "answer it (bmad questions shows it whole)"), ("bmad resume", "then go on")]
    if end.status == "completed":
        return []
    return [("bmad resume", "go on where it stood")]

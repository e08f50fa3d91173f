"""The questions of a flow: gates, optional steps, session boundaries and failed steps."""

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ...core.answers import AnswerMeaning
from ...core.errors import FileError
from ...core.stop_causes import ABORT, CAUSE_MENUS, FIX, RETRY, SKIP, BlockReason, Cause
from ...io.files import read_text
from ...project.project import Project
from ...workflows.workflow import Step
from ..ports import LaneQuestion
from .model import FlowObservation, part_of, title_of

GATE, BOUNDARY, OPTIONAL, FAILED = "gate", "boundary", "optional", "flow-failed"
ANOTHER = "another"

# The meaning of each answer in the journal.
FLOW_ANSWERS: Mapping[str, Mapping[str, AnswerMeaning]] = {
    GATE: {"again": AnswerMeaning.REPEAT_STEP, "proceed": AnswerMeaning.CONTINUE},
    BOUNDARY: {
        "new-session": AnswerMeaning.END_SESSION,
        "continue": AnswerMeaning.CONTINUE,
        ANOTHER: AnswerMeaning.REPEAT_STEP,
    },
    OPTIONAL: {"run": AnswerMeaning.CONTINUE, SKIP: AnswerMeaning.PASS_OVER},
    FAILED: {
        RETRY: AnswerMeaning.CONTINUE,
        SKIP: AnswerMeaning.SKIP,
        FIX: AnswerMeaning.HAND_OVER,
        ABORT: AnswerMeaning.ABORT,
    },
}


class _QuestionText(NamedTuple):
    text: str
    labels: tuple[str, ...]
    recommended: str
    because: str
    cause: Cause
    more: tuple[str, ...] = ()  # additional options


def flow_question(code: str, observation: FlowObservation, step: Step, steps: tuple[Step, ...]) -> LaneQuestion:
    about = steps[steps.index(step) - 1] if code == BOUNDARY else step
    words = _question_text(code, about, step)
    return LaneQuestion(
        code,
        observation.story.key,
        observation.call if code == GATE else None,
        words.text,
        _context(code, observation, about),
        (*CAUSE_MENUS[words.cause].options, *words.more),
        words.recommended,
        BlockReason.SUBAGENT_FAILED if code == FAILED else BlockReason.CRITICAL_DECISION,
        cause=words.cause,
        because=words.because,
        labels=words.labels,
        step=about.name,
    )


def _question_text(code: str, about: Step, following: Step) -> _QuestionText:
    if code == GATE and (gate := part_of(about).gate) is not None:
        return _QuestionText(gate.ask, (gate.again, gate.go_on), gate.recommended, gate.because, Cause.GATE)
    if code == BOUNDARY:
        return _boundary(about, following)
    if code == OPTIONAL:
        return _optional(about)
    text = f"Step {part_of(about).number}, {title_of(about)}, has failed {part_of(about).tries} times. Try again?"
    why = "what stands above must be mended first; it is not tried again by itself"
    return _QuestionText(text, (), RETRY, why, Cause.FAILED)


def _boundary(step: Step, following: Step) -> _QuestionText:
    """Worded as in seed 004; a looping step offers one more round."""
    part = part_of(step)
    labels = (
        f"Start a new conversation for {_verb(following)} (recommended for context freshness)",
        f"Continue {_verb(following)} in this conversation",
    )
    more = (ANOTHER,) if part.loops else ()
    text = f"{part.boundary} complete — start {_verb(following)}?"
    why = f"{_verb(following)} is the longest phase, fresh context helps"
    others = (f"{title_of(step)} once more, before that",) if more else ()
    return _QuestionText(text, (*labels, *others), "new-session", why, Cause.BOUNDARY, more)


def _verb(step: Step) -> str:
    return "implementation" if part_of(step).tasks else title_of(step)


def _optional(step: Step) -> _QuestionText:
    part = part_of(step)
    text = f"Step {part.number}, {title_of(step)}, is optional. Do it?"
    labels = (f"Do {title_of(step)} now", f"Go on without {title_of(step)}")
    return _QuestionText(text, labels, "run", "what it finds is cheaper to act on now than later", Cause.OPTIONAL)


def _context(code: str, observation: FlowObservation, about: Step) -> str:
    if code == FAILED:
        state = observation.snapshot.state
        return "\n".join(state.blockers) if state else ""
    return observation.store.describe_output(about) if code in (GATE, BOUNDARY) else ""


# A short description of a step's output, for a person who decides about it.

TASKS_FOLDER = "_docs/02_tasks"
MAX_FILES = 8
MAX_LINE = 200


def describe_step_output(project: Project, step: Step) -> str:
    if part_of(step).boundary:
        return _tasks(project)
    return "\n".join(_output_files(project, part_of(step).done))


def _tasks(project: Project) -> str:
    from ...board.task_board import summarize_tasks
    from ...board.task_files import read_tasks

    tasks = read_tasks(os.path.join(project.root.checkout, TASKS_FOLDER))
    return str(summarize_tasks(tasks))


def _output_files(project: Project, conditions: tuple[str, ...]) -> Iterator[str]:
    from glob import glob

    top = project.root.checkout
    globs = [part.strip() for one in conditions for part in one.split("|") if "/" in part and "!" not in part]
    found = sorted({path for one in globs for path in glob(one, root_dir=top, recursive=True)})
    files = [path for path in found if os.path.isfile(os.path.join(top, path))]
    if files:
        yield f"{len(files)} {'file' if len(files) == 1 else 'files'}:"
    for path in files[:MAX_FILES]:
        said = _first_line(os.path.join(top, path))
        yield f"  {path}" + (f": {said}" if said else "")


def _first_line(path: str) -> str:
    try:
        text = read_text(path, limit=1024 * 1024).text
    except FileError:
        return ""
    return next((line.strip("# \t")[:MAX_LINE] for line in text.splitlines() if line.strip("# \t")), "")

"""What an agent is told for one step: the skill's invocation first, then our contract."""

from .contract import MAX_PATH, contract
from .invocations import REVISION, first_line
from .quoting import inline, quoted
from .step_context import Halfway, StepContext

MAX_ARTIFACTS = 50
MAX_ANSWERS = 20
_SETTLED = "settles that question, and changes no other rule of this text"

_TASKS = {
    "validate": """\
Do not create a story: validate the one that exists. Work through the skill's own checklist.md against the story
file and the planning documents, correct the story file in place, and leave its status as it is.""",
    REVISION: """\
You are the revisor, and did not write this code. Read the story's acceptance criteria and tasks, then every change
since the baseline, tracked and untracked. Look for criteria not met, tasks ticked but not done, defects, errors
nobody handles, tests that could not fail, and what breaks the project's conventions. Fix what you find with the
smallest change and a test that fails without it, and run the project's checks. Write into the story's Dev Agent
Record what you changed and why, keep its File List complete, and change no status. Where nothing is wrong, change
nothing.""",
}


def prompt_for(step: StepContext) -> str:
    line = first_line(
        step.step,
        inline(step.story),
        step.invocation,
        version=step.version,
        spec=step.spec and inline(step.spec, MAX_PATH),
        spec_folder=step.spec_folder and inline(step.spec_folder, MAX_PATH),
    )
    task = [_TASKS[step.step]] if step.step in _TASKS else []
    return "\n\n".join([line, *task, *_history(step), contract(step)]) + "\n"


def _history(step: StepContext) -> list[str]:
    """What happened to this story before, each part as data."""
    parts = []
    if step.review:
        parts.append("The last review asked for changes. Deal with each of its points before anything else.")
        parts.append(quoted("Its summary", step.review))
    if step.failure:
        parts.append("An earlier attempt at this step failed. Find the cause; keep what that attempt did well.")
        parts.append(quoted("What went wrong", step.failure))
    if step.halfway:
        parts += _resumed(step.halfway)
    return parts


def _resumed(halfway: Halfway) -> list[str]:
    lines = ["An earlier attempt at this step stopped to ask. Go on from where it stopped."]
    if halfway.blocked_at:
        lines.append(f"It stopped at: `{inline(halfway.blocked_at)}`")
    if halfway.last_completed:
        lines.append(f"Done, and not to be done again: `{inline(halfway.last_completed)}`")
    if halfway.artifacts:
        named = ", ".join(f"`{inline(name)}`" for name in halfway.artifacts[:MAX_ARTIFACTS])
        lines.append(f"Written already, and not to be written anew: {named}")
    answers = [
        quoted(f"Question {number}, answered by a human", "\n".join(_told(*answered)), meant=_SETTLED)
        for number, answered in enumerate(halfway.answers[:MAX_ANSWERS], 1)
    ]
    return ["\n".join(lines), *answers]


def _told(question: str, answer: str, context: str) -> list[str]:
    told = [f"asked: {question}", f"answered: {answer}"]
    return [*told, f"context: {context}"] if context else told

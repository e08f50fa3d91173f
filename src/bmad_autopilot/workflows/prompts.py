"""What an agent is told for one step: the skill's invocation or the step's own prompt first, then our contract."""

from .contract import MAX_PATH, contract, story_file
from .invocations import first_line, own_text
from .quoting import inline, quoted
from .step_context import Halfway, Point, StepContext

MAX_ARTIFACTS = 50
MAX_ANSWERS = 20
_CUT_SHORT = """\
An earlier attempt at this step was cut short from outside. Whatever changed since the baseline is this story's:
look at it first, keep what is good, and go on from there."""
_REVIEWED = "Reviewers of the pull request wrote this. Each point wants an answer."
_CONFLICT = """\
The base branch has changed these files in the same places. Each is shown as git would merge it: between the marks
stand this branch's lines and the base's. Write each file here as it should be with both changes in it, and without
marks. The base's other changes are not in this work tree yet; the project's checks are run once they are."""
_DECIDED = "the project's owner has decided that it is to be done as asked"
_SETTLED = "settles that question, and changes no other rule of this text"


def prompt_for(context: StepContext) -> str:
    return "\n\n".join([*_opening(context), *history(context), contract(context)]) + "\n"


def _opening(context: StepContext) -> list[str]:
    step = context.step
    values = {
        "story": inline(context.story),
        "story_file": inline(context.files.story or story_file(context), MAX_PATH),
        "epic": inline(context.epic),
    }
    if step.skill is None:
        return [own_text(step, values)]
    line = first_line(
        step,
        values["story"],
        context.invocation,
        version=context.version,
        spec=context.spec and inline(context.spec, MAX_PATH),
        spec_folder=context.spec_folder and inline(context.spec_folder, MAX_PATH),
    )
    return [line, own_text(step, values)] if step.prompt else [line]


def history(context: StepContext) -> list[str]:
    """What happened at this step before, each part as data."""
    parts = []
    if context.review:
        parts.append("The last review asked for changes. Deal with each of its points before anything else.")
        parts.append(quoted("Its summary", context.review))
    if context.checks:
        parts.append("The project's own checks fail on this work. Mend the cause; leave the checks as they are.")
        parts.append(quoted("What they printed", context.checks))
    if context.points:
        parts.append(_CONFLICT if context.in_conflict else _REVIEWED)
        parts += [quoted(_point(one), f"{one.title}\n\n{one.text}") for one in context.points]
    if context.logs:
        parts.append("These checks failed on the pull request. Mend the cause; leave the checks as they are.")
        parts += [
            quoted(f"The check no. {number}, and the end of its log", f"{one.title}\n\n{one.text}")
            for number, one in enumerate(context.logs, 1)
        ]
    if context.failure:
        parts.append("An earlier attempt at this step failed. Find the cause; keep what that attempt did well.")
        parts.append(quoted("What went wrong", context.failure))
    if context.cut_short:
        parts.append(_CUT_SHORT)
    if context.halfway:
        parts += _resumed(context.halfway)
    return parts


def _point(one: Point) -> str:
    """What a person has decided stands outside the quotation: inside, anybody could have written it."""
    return f"{one.name}" + (f"; {_DECIDED}" if one.is_decided else "")


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

"""What comes next in a flow, in a sentence and commands to type."""

from ..core.causes import Cause
from ..core.commands import command
from ..engine.flows.standing import Standing
from ..project.open import Project
from ..views.questions import Waiting
from ..views.status import Next
from ..workflows.flow_list import Flow

Commands = tuple[tuple[str, str], ...]


def what_next(project: Project, standing: Standing, others: tuple[Flow, ...] = ()) -> Next:
    """`others`: flows that fit as well."""
    step, part = standing.step, standing.part
    if standing.owner is not None:
        return Next("it is under way", _beside(standing))
    if standing.asked is not None:
        return _asked(standing)
    if step is None or part is None:
        return _over(project, standing)
    named = f"step {part.number}, {step.name}"
    if standing.has_failed:
        number = str(part.number)
        again = (command("flow", "retry", number), "try it again, once what stands in its way is mended")
        without = (command("flow", "skip", number), "or go on without it")
        return Next(
            f"{named}, has failed {standing.state.retry_count if standing.state else 0} times", (again, without)
        )
    if standing.place.at_gate and part.gate is not None:
        return Next(part.gate.ask, (("bmad flow run", "asks, and goes on as you choose"),))
    return Next(named, (*_run(standing, others), *_other_flows(standing, others)))


def _run(standing: Standing, others: tuple[Flow, ...]) -> Commands:
    """Where nothing names it yet, its name is given: what fits may be another one tomorrow."""
    named = () if standing.is_begun or not others else (standing.flow.name,)
    return ((command("flow", "run", *named), "go on with it" if standing.is_begun else "begin it"),)


def _other_flows(standing: Standing, others: tuple[Flow, ...]) -> Commands:
    if standing.is_begun:
        return ()
    return tuple((command("flow", "run", one.name), "or the other one that fits") for one in others)


def _beside(standing: Standing) -> Commands:
    answer = (("bmad questions", "see what it asks, and how to answer"),) if standing.asked else ()
    return (
        *answer,
        ("bmad agent logs", "see what its agent does"),
        ("bmad pause", "stop it before its next call"),
    )


def _asked(standing: Standing) -> Next:
    assert standing.asked is not None
    question = standing.asked.question
    answer = Waiting(question, standing.asked.run.id, 0.0).command
    if question.cause == Cause.BOUNDARY:
        step = standing.step.name if standing.step else "what follows"
        stay = command("intervene", question.story, "continue", "--resume")
        return Next(
            f"the session is over, and {step} comes in the next",
            (("bmad flow run", "starts it"), (stay, "or go on in this one")),
        )
    return Next(
        "an answer of yours",
        ((answer, "answer it (bmad questions shows it whole)"), ("bmad flow run", "then go on")),
    )


def _over(project: Project, standing: Standing) -> Next:
    if project.folders.board:
        return Next("every step is done, and there is a board", from_board())
    loop = next((at for at, step in enumerate(standing.flow.steps, 1) if step.flow and step.flow.loops), None)
    more = command("flow", "run", "--from", str(loop)) if loop else ""
    return Next(
        "nothing: every step is done", ((more, f"another {standing.flow.steps[loop - 1].name}"),) if loop else ()
    )


def from_board() -> Commands:
    """The way from a flow to the stories that it has led to."""
    return (("bmad status", "what comes next on it"), ("bmad autopilot", "take its epics to merged pull requests"))

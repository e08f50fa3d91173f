"""What an agent is told of the flow that its step belongs to."""

from collections.abc import Iterator
from typing import NamedTuple

from .contract import MAX_PATH
from .pipelines import FlowPart
from .quoting import inline, quoted

MAX_DECISIONS = 40


class FlowPassing(NamedTuple):
    state: str  # the path of the state file
    decisions: tuple[str, ...]  # that were taken so far
    substep: str  # where an earlier call stood
    substep_file: str  # where this one says where it stands


def flow_paragraphs(part: FlowPart, about: FlowPassing) -> Iterator[str]:
    if about.decisions:
        listed = "\n".join(f"- {inline(one)}" for one in about.decisions[-MAX_DECISIONS:])
        yield quoted("What was decided before, and holds", listed)
    if part.done and part.done != ("recorded",):
        listed = "\n".join(f"- `{inline(one)}`" for one in part.done if one != "recorded")
        yield f"What must be there when you end, each file with content (`!`: gone); it is checked:\n{listed}"
    yield from _substeps(part, about)
    yield (
        f"Leave `{inline(about.state, MAX_PATH)}` alone: it is kept for you. What you decide for good goes into\n"
        'the JSON object named below, as "decisions": a list of short sentences.'
    )


def _substeps(part: FlowPart, about: FlowPassing) -> Iterator[str]:
    if about.substep:
        yield (
            f"An earlier call was cut short at sub-step {inline(about.substep)}. Look at what it has left, go on\n"
            "there, and do nothing again that is done."
        )
    where = inline(about.substep_file, MAX_PATH)
    if part.substeps:
        listed = "\n".join(f"- {inline(one)}" for one in part.substeps)
        yield f"Its sub-steps, in this order:\n{listed}"
    yield f"Whenever you begin a sub-step, write its number and name, one line, into `{where}`."

"""What goes from step to step of a workflow file, and how: files in the attempt's own folder."""

import os
from collections import deque
from typing import Any, NamedTuple

from ..agents.events import JSON, TEXT, read_events
from ..agents.shim import records
from ..core.errors import FileError
from ..core.offered import asks
from ..files import read_bytes
from ..runs.json_files import write_object
from ..workflows.pipelines import Step
from ..workflows.step_variables import MAX_ALL, Variables, as_text, fault_of, read_variables

GIVEN, VARIABLES, OUTPUT = "variables-in.json", "variables.json", "output.md"
MAX_OUTPUT = 60_000  # bytes that are kept of it, as a journal's line has room for; the whole stays where it is
MAX_FILE = 4 * 1024 * 1024
_CUT = "\n\n… [cut: the whole is {}]\n"


class Left(NamedTuple):
    """What a step has left."""

    variables: dict[str, Any]
    output: str
    missing: tuple[str, ...] = ()  # in sentences, for whoever does it again


def hand_in(folder: str, variables: Variables) -> None:
    """What a call begins with. Nothing that an attempt of the same name has left may be taken for its work."""
    os.makedirs(folder, 0o700, exist_ok=True)
    for name in (VARIABLES, OUTPUT):
        if os.path.lexists(f"{folder}/{name}"):
            os.unlink(f"{folder}/{name}")
    write_object(f"{folder}/{GIVEN}", dict(variables), durable=False)


def left_by(folder: str, step: Step, before: Variables, closing: str) -> Left:
    """`before`: the run's variables so far. `closing`: an agent's last words."""
    variables, problem = _variables(folder)
    if step.persist:
        variables = {name: value for name, value in variables.items() if name in step.persist}
    missing = [f"`{VARIABLES}` cannot be used: {problem}"] if problem else []
    missing += [f"the variable `{name}` is not in `{VARIABLES}`" for name in step.persist if name not in variables]
    together = fault_of({**before, **variables})
    if together and not problem:
        missing.append(f"with those of the steps before: {together}")
    written = _written(folder)
    if written is None and not step.command and not variables and asks(closing):
        missing.append("it ended with a question, and left nothing")
    said = written if written is not None else _printed(folder) if step.command else closing
    return Left(variables, _bounded(said, f"{folder}/{OUTPUT if written else records.EVENTS}"), tuple(missing))


def is_left(folder: str, step: Step) -> bool:
    """The files say that the work is done."""
    variables, problem = _variables(folder)
    if step.persist:
        return not problem and all(name in variables for name in step.persist)
    return os.path.isfile(f"{folder}/{OUTPUT}")


def _variables(folder: str) -> tuple[dict[str, Any], str]:
    """And what is wrong with them."""
    path = f"{folder}/{VARIABLES}"
    if os.path.islink(path):
        return {}, "it is a link"
    if not os.path.lexists(path):
        return {}, ""
    try:
        return read_variables(read_bytes(path, limit=8 * MAX_ALL, follow=False)), ""
    except FileError as error:
        return {}, error.message
    except ValueError as error:
        return {}, str(error)


def _written(folder: str) -> str | None:
    path = f"{folder}/{OUTPUT}"
    if os.path.islink(path) or not os.path.lexists(path):
        return None
    try:
        return read_bytes(path, limit=MAX_FILE, follow=False).decode("utf-8", "replace")
    except FileError:
        return None


def _printed(folder: str) -> str:
    """A command's standard output: its end, where there is too much of it."""
    lines: deque[str] = deque()
    size = 0
    for event, _ in read_events(f"{folder}/{records.EVENTS}"):
        if event.kind not in (TEXT, JSON):
            continue
        line = as_text(event.data)
        lines.append(line)
        size += len(line) + 1
        while size > MAX_OUTPUT and len(lines) > 1:
            size -= len(lines.popleft()) + 1
    return "".join(f"{line}\n" for line in lines)


def _bounded(text: str, whole: str) -> str:
    raw = text.encode("utf-8", "replace")
    if len(raw) <= MAX_OUTPUT:
        return text
    return raw[:MAX_OUTPUT].decode("utf-8", "ignore") + _CUT.format(whole)

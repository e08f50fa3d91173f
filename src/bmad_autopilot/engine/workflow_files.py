"""Passes variables and output between the steps of a workflow file, as files in the attempt's folder; and starts
command steps."""

import os
import time
import uuid
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..agents.adapter import JSON, TEXT, AgentCommand, read_events
from ..agents.attempt import CallSpec, attempt_temp_folder
from ..agents.command import script_argv
from ..agents.environment import agent_environment
from ..agents.shim import attempt_files
from ..agents.shim.redact import environment_secrets
from ..agents.start import TimeLimits, claim_attempt, start_attempt
from ..core.agent_questions import ends_with_question
from ..core.errors import FileError
from ..io.files import read_bytes
from ..io.json_files import write_json_object
from ..io.processes import find_program
from ..project.lane_venv import lane_environment
from ..project.project import Project
from ..workflows.step_entry import (
    COMMAND,
    MAX_TOTAL,
    Variables,
    as_text,
    fill_words,
    find_variables_problem,
    read_variables,
)
from ..workflows.workflow import Step
from .ports import AgentCall

VARIABLES_IN, VARIABLES, OUTPUT = "variables-in.json", "variables.json", "output.md"
MAX_OUTPUT = 60_000  # bytes kept, to fit a journal line; the full output stays in its file
MAX_FILE = 4 * 1024 * 1024
_CUT = "\n\n… [cut: the whole is {}]\n"


class CollectedOutput(NamedTuple):
    """The output of a step."""

    variables: dict[str, Any]
    output: str
    missing: tuple[str, ...] = ()  # missing output, as sentences for the next attempt


def write_inputs(folder: str, variables: Variables) -> None:
    """Write a call's input variables, and remove output that an earlier attempt in this folder has left."""
    os.makedirs(folder, 0o700, exist_ok=True)
    for name in (VARIABLES, OUTPUT):
        if os.path.lexists(f"{folder}/{name}"):
            os.unlink(f"{folder}/{name}")
    write_json_object(f"{folder}/{VARIABLES_IN}", dict(variables), durable=False)


def collect_output(folder: str, step: Step, before: Variables, closing: str) -> CollectedOutput:
    """`before`: the run's variables so far. `closing`: the agent's closing message."""
    variables, problem = _variables(folder)
    if step.persist:
        variables = {name: value for name, value in variables.items() if name in step.persist}
    missing = [f"`{VARIABLES}` cannot be used: {problem}"] if problem else []
    missing += [f"the variable `{name}` is not in `{VARIABLES}`" for name in step.persist if name not in variables]
    together = find_variables_problem({**before, **variables})
    if together and not problem:
        missing.append(f"with those of the steps before: {together}")
    written = _written(folder)
    if written is None and not step.command and not variables and ends_with_question(closing):
        missing.append("it ended with a question, and left nothing")
    text = written if written is not None else _printed(folder) if step.command else closing
    return CollectedOutput(
        variables, _bounded(text, f"{folder}/{OUTPUT if written else attempt_files.EVENTS}"), tuple(missing)
    )


def has_output(folder: str, step: Step) -> bool:
    """Whether the files show that the work is done."""
    variables, problem = _variables(folder)
    if step.persist:
        return not problem and all(name in variables for name in step.persist)
    return os.path.isfile(f"{folder}/{OUTPUT}")


def _variables(folder: str) -> tuple[dict[str, Any], str]:
    """The variables, and what is wrong with them."""
    path = f"{folder}/{VARIABLES}"
    if os.path.islink(path):
        return {}, "it is a link"
    if not os.path.lexists(path):
        return {}, ""
    try:
        return read_variables(read_bytes(path, limit=8 * MAX_TOTAL, follow=False)), ""
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
    """A command's standard output; only its end if it is too long."""
    lines: deque[str] = deque()
    size = 0
    for event, _ in read_events(f"{folder}/{attempt_files.EVENTS}"):
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


# Command steps: started through the same shim as an agent, with an agent's environment.


def start_command(folder: str, project: Project, order: AgentCall, run: str) -> None:
    """`run`: the run's id, passed to the command."""
    id = uuid.uuid4().hex
    worktree, config = project.root.checkout, project.config
    plain = agent_environment(
        os.environ, variables=(), pass_through=config.passed, temp_folder=attempt_temp_folder(id), identity=None
    )
    environment = lane_environment(plain, project.root)
    words = _words(order.step, order.variables)
    spec = CallSpec(
        id=id,
        agent=COMMAND,
        step=order.step.name,
        story=order.story,
        session=str(uuid.uuid4()),
        worktree=worktree,
        argv=(),
        created_at=time.time(),
        name=order.name,
        role=COMMAND,
    )
    with claim_attempt(folder, spec.worktree) as claim:
        start_attempt(
            claim,
            spec,
            AgentCommand(
                (_program(words[0], worktree, environment), *words[1:]),
                environment=_step_environment(folder, order, run),
            ),
            environment=environment,
            limits=TimeLimits(
                config.story_timeout_cap * 60.0 * order.time_limit_factor, 0
            ),  # a build may be silent for long
            prompt="",
            secrets=environment_secrets(os.environ),
            other_worktrees=[project.root.path] if project.root.is_linked else [],
        )


def _words(step: Step, variables: Variables) -> tuple[str, ...]:
    """A variable's value is an argument or a part of one, never script text. A script ends at its first failing
    command."""
    if not step.shell:
        return fill_words(step.command, variables)
    sh, *words = script_argv(step.command[0], {name: as_text(value) for name, value in variables.items()})
    return (sh, "-e", *words)


def _program(name: str, worktree: str, environment: Mapping[str, str]) -> str:
    """The shim reports a program that is not found: an earlier step may have been meant to install it."""
    return os.path.join(worktree, name) if "/" in name else find_program(name, environment["PATH"]) or name


def _step_environment(folder: str, order: AgentCall, run: str) -> dict[str, str]:
    return {
        "BMAD_STEP": order.step.name,
        "BMAD_RUN": run,
        "BMAD_VARIABLES_IN": f"{folder}/{VARIABLES_IN}",
        "BMAD_VARIABLES": f"{folder}/{VARIABLES}",
        "BMAD_OUTPUT": f"{folder}/{OUTPUT}",
    }

"""A step that is a command: started through the same shim as an agent, with an agent's environment."""

import os
import time
import uuid
from collections.abc import Mapping

from ..agents.attempts import Spec, private_folder
from ..agents.command import script_words
from ..agents.environment import agent_environment
from ..agents.protocol import Call
from ..agents.shim.redaction import secrets_of
from ..agents.starting import Limits, start
from ..project.open import Project
from ..project.programs import find_program, lane_environment
from ..workflows.pipelines import Step
from ..workflows.step_entry import COMMAND
from ..workflows.step_variables import Variables, as_text, filled
from .doors import CallOrder
from .workflow_passing import GIVEN, OUTPUT, VARIABLES


def begin_command(folder: str, project: Project, order: CallOrder, run: str) -> None:
    """`run`: its id, which the command is told."""
    id = uuid.uuid4().hex
    worktree, config = project.root.checkout, project.config
    plain = agent_environment(
        os.environ, variables=(), passed=config.passed, private=private_folder(id), identity=None
    )
    environment = lane_environment(plain, project.root)
    words = _words(order.step, order.variables)
    spec = Spec(
        id=id,
        agent=COMMAND,
        step=order.step.name,
        story=order.story,
        session=str(uuid.uuid4()),
        worktree=worktree,
        argv=(),
        created_at=time.time(),
        name=f"bmad-{order.story}-{order.id.number}-{order.id.attempt}",
        role=COMMAND,
    )
    start(
        folder,
        spec,
        Call((_program(words[0], worktree, environment), *words[1:]), environment=_told(folder, order, run)),
        environment=environment,
        limits=Limits(config.story_timeout_cap * 60.0 * order.times, 0),  # a build may be silent for long
        prompt="",
        secrets=secrets_of(os.environ),
        others=[project.root.path] if project.root.is_linked else [],
    )


def _words(step: Step, variables: Variables) -> tuple[str, ...]:
    """A value is a word, or a part of one, and never a part of a script. A script ends at the first command of it
    that fails."""
    if not step.shell:
        return filled(step.command, variables)
    sh, *words = script_words(step.command[0], {name: as_text(value) for name, value in variables.items()})
    return (sh, "-e", *words)


def _program(name: str, worktree: str, environment: Mapping[str, str]) -> str:
    """One that nobody finds is left to the shim, which says so: a step before may have been to install it."""
    return os.path.join(worktree, name) if "/" in name else find_program(name, environment["PATH"]) or name


def _told(folder: str, order: CallOrder, run: str) -> dict[str, str]:
    return {
        "BMAD_STEP": order.step.name,
        "BMAD_RUN": run,
        "BMAD_VARIABLES_IN": f"{folder}/{GIVEN}",
        "BMAD_VARIABLES": f"{folder}/{VARIABLES}",
        "BMAD_OUTPUT": f"{folder}/{OUTPUT}",
    }

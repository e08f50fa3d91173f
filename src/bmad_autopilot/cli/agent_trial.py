"""Trying an agent out: one tiny call in a repository made for it, started and taken in as in a run."""

import os
import secrets
import select
import time
import uuid
from typing import NamedTuple

from ..agents.attempts import Spec, State, state_of
from ..agents.outcomes import Outcome
from ..agents.shim import work
from ..agents.watching import cancel, wait_for_any
from ..core.errors import AutopilotError
from ..engine.calling import Job, begin
from ..engine.harvesting import Harvest, harvest
from ..engine.wakeups import FileWatch
from ..files import read_bytes
from ..project.bmad import Bmad, Era
from ..project.commands import commands_of
from ..project.config import ROLES, CommandSettings, Config, Role
from ..project.custom import EVIDENCE
from ..project.folders import find_folders
from ..project.layers import read_settings
from ..project.open import Project
from ..project.programs import Question, ask
from ..project.root import Root
from ..workflows.pipelines import Step

SECONDS = 180.0
END_SECONDS = 120.0  # for the supervisor, beyond the time limit it keeps itself
STOP_SECONDS = 20.0
FILE = "hello.txt"
STEP = Step("agent-test", "dev", None, None, None)

_GIT = ("git", "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false")
_NOBODY = ("-c", "user.name=bmad-autopilot", "-c", "user.email=bmad-autopilot@localhost")


class Trial(NamedTuple):
    folder: str
    word: str
    config: Config
    spec: Spec

    @property
    def tree(self) -> str:
        return f"{self.folder}/work"

    @property
    def attempt(self) -> str:
        return f"{self.folder}/attempt"

    @property
    def file(self) -> str:
        return f"{self.tree}/{FILE}"

    @property
    def holds_word(self) -> bool:
        return found(self.file) == self.word


def begin_trial(folder: str, name: str, model: str | None, root: Root, config: Config) -> Trial:
    """In `folder`, which is empty and ours. The project's own files are only read."""
    config = _config(name, model, root, config)
    tree = f"{folder}/work"
    _make_repository(tree)
    own = Root(tree, tree, f"{tree}/.git")
    folders, _ = find_folders(own, read_settings(None), None)
    project = Project(own, Bmad(Era.NONE, None, None, (), False), folders, config, ())
    word = secrets.token_hex(4)
    prompt = (
        f"Create the file {FILE} in the current folder. Its only content is this word: {word}\n"
        "Then stop. Do nothing else, and ask nothing: nobody is here to answer.\n"
    )
    name = f"agent-test-{word}"
    job = Job(uuid.uuid4().hex, project, STEP, "hello", name, prompt, branch="main", seconds=SECONDS)
    return Trial(folder, word, config, begin(f"{folder}/attempt", job))


def chosen_model(config: Config, name: str) -> str | None:
    """That of a role which uses the agent, the developer's first."""
    models = (config.roles[role].model for role in ("dev", *ROLES) if config.agent_of(role) == name)
    return next((model for model in models if model), None)


def chosen_launcher(config: Config, name: str) -> str | None:
    """That of a role which uses the agent, or the agent's own."""
    launchers = (config.launcher_of(role) for role in ROLES if config.agent_of(role) == name)
    own = config.agents[name].launcher if name in config.agents else None
    return next((launcher for launcher in launchers if launcher), None) or own


def _config(name: str, model: str | None, root: Root, config: Config) -> Config:
    """The project's settings for this one agent, here: a launcher would look for a folder that is not there."""
    agents = dict(config.agents)
    if name in agents:
        command = agents[name].command
        if not agents[name].shell and os.sep in command[0]:  # relative to the project
            command = (os.path.join(root.checkout, command[0]), *command[1:])
        agents[name] = agents[name]._replace(command=command, launcher=None)
    return config._replace(
        # All set, so that the permissions come from the project's commands and not from those of an empty folder.
        commands=CommandSettings(*commands_of(root.checkout, config.commands)),
        roles={**config.roles, STEP.role: Role(name, model or chosen_model(config, name))},
        agents=agents,
    )


def _make_repository(tree: str) -> None:
    os.mkdir(tree)
    for words in (
        ("init", "--quiet", "--initial-branch=main"),
        (*_NOBODY, "commit", "--quiet", "--allow-empty", "--message", "Begin"),
    ):
        answer = ask(Question((*_GIT, *words), own_environment=True), tree)
        if answer is None or not answer.ok:
            why = "git is not installed" if answer is None else answer.why
            raise AutopilotError(f"no repository could be made for the test: {why}", hint="bmad doctor")


def finish_trial(trial: Trial) -> Harvest:
    """Wait for the end, and take it in. Whoever interrupts us stops the call as well."""
    try:
        wait_for_any([trial.attempt], SECONDS + END_SECONDS)
    except KeyboardInterrupt:
        cancel(trial.attempt, "the test was interrupted")
        wait_for_any([trial.attempt], END_SECONDS)
        raise
    if state_of(trial.attempt) is State.RUNNING:
        raise AutopilotError("the call does not end", hint=f"look at {trial.attempt}")
    done = harvest(trial.attempt, trial.config)
    if done.verdict.outcome is Outcome.COMPLETED and _works_on(trial):
        _await_file(trial)
    return done


def _works_on(trial: Trial) -> bool:
    custom = trial.config.agents.get(trial.spec.agent)
    return custom is not None and custom.completion == EVIDENCE


def _await_file(trial: Trial) -> None:
    """The command has only begun the work: the file is waited for, then the work is stopped."""
    deadline = time.monotonic() + SECONDS
    written = FileWatch([trial.file])
    poll = select.poll()
    poll.register(written, select.POLLIN)
    try:
        while not trial.holds_word and (left := deadline - time.monotonic()) > 0:
            poll.poll(int(left * 1000) + 1)
            written.clear()
    finally:
        written.close()
        if trial.spec.stop:
            work.run(list(trial.spec.stop), dict(os.environ), STOP_SECONDS)


def found(path: str) -> str | None:
    """What the file holds, its edges stripped; None where there is none."""
    if not os.path.lexists(path):
        return None
    return read_bytes(path, limit=1024 * 1024, head=1000).decode("utf-8", "replace").strip()

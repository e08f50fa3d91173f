"""bmad agent test: check an agent with one small real call."""

import gc
import os
import secrets
import select
import shutil
import signal
import tempfile
import time
import uuid
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import click

from ..agents.adapter import Outcome, read_events
from ..agents.attempt import AttemptState, CallSpec, attempt_state
from ..agents.monitor import cancel_attempt, wait_for_any
from ..agents.registry import PACKAGES, find_agent
from ..agents.shim import attempt_files, tree_snapshot
from ..agents.start import claim_attempt
from ..core.errors import EXIT_DONE, EXIT_FAILED, AutopilotError
from ..core.text import printable
from ..engine.collect import FinishedCall, finalize_call
from ..engine.ports import AgentCall, CallId
from ..engine.start_agent import prepare_call, start_call
from ..engine.waiting import FileWatch
from ..io.files import read_bytes
from ..io.processes import Probe, run_probe
from ..project.bmad_install import BmadInstall, Era
from ..project.bmad_settings import read_settings
from ..project.commands import resolve_commands
from ..project.config import EVIDENCE, ROLES, CommandSettings, Config, Role, load_config
from ..project.folders import find_folders
from ..project.project import Project
from ..project.root import CONFIG_NAME, Root, find_root
from ..views.agents import format_timestamp, outcome_words, readable_lines, spend_words
from ..views.terminal import Terminal
from ..workflows.workflow import Step
from .agent_lookup import complete_agent, find_known_agent, parked_until
from .context import terminal

# The trial: one small call in a temporary repository, started and collected as in a run.

SECONDS = 180.0
END_SECONDS = 120.0  # for the supervisor, beyond its own time limit
STOP_SECONDS = 20.0
FILE = "hello.txt"
STEP = Step("agent-test", "dev", None, None, None)

_GIT = ("git", "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false")
_GIT_IDENTITY = ("-c", "user.name=bmad-autopilot", "-c", "user.email=bmad-autopilot@localhost")


class Trial(NamedTuple):
    folder: str
    word: str
    config: Config
    spec: CallSpec

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
    def has_word(self) -> bool:
        return read_content(self.file) == self.word


def start_trial(folder: str, name: str, model: str | None, root: Root, config: Config) -> Trial:
    """Start a call in `folder`, an empty temporary folder. The project's files are only read."""
    config = _config(name, model, root, config)
    tree = f"{folder}/work"
    _make_repository(tree)
    own = Root(tree, tree, f"{tree}/.git")
    folders, _ = find_folders(own, read_settings(None), None)
    project = Project(own, BmadInstall(Era.NONE, None, None, (), False), folders, config, ())
    word = secrets.token_hex(4)
    prompt = (
        f"Create the file {FILE} in the current folder. Its only content is this word: {word}\n"
        "Then stop. Do nothing else, and ask nothing: nobody is here to answer.\n"
    )
    name = f"agent-test-{word}"
    call = AgentCall(CallId(1, STEP.name, 1), "hello", STEP, name=name, branch="main", seconds=SECONDS)
    prepared = prepare_call(project, call, prompt, attempt=uuid.uuid4().hex)
    with claim_attempt(f"{folder}/attempt", tree) as claim:
        return Trial(folder, word, config, start_call(claim, prepared))


def chosen_model(config: Config, name: str) -> str | None:
    """The model of a role that uses the agent; the dev role comes first."""
    models = (config.roles[role].model for role in ("dev", *ROLES) if config.agent_of(role) == name)
    return next((model for model in models if model), None)


def chosen_launcher(config: Config, name: str) -> str | None:
    """The launcher of a role that uses the agent, or the agent's own."""
    launchers = (config.launcher_of(role) for role in ROLES if config.agent_of(role) == name)
    own = config.agents[name].launcher if name in config.agents else None
    return next((launcher for launcher in launchers if launcher), None) or own


def _config(name: str, model: str | None, root: Root, config: Config) -> Config:
    """The project's settings for this one agent, without its launcher, which cannot see the temporary folder."""
    agents = dict(config.agents)
    if name in agents:
        command = agents[name].command
        if not agents[name].shell and os.sep in command[0]:  # relative to the project
            command = (os.path.join(root.checkout, command[0]), *command[1:])
        agents[name] = agents[name]._replace(command=command, launcher=None)
    return config._replace(
        # Set explicitly: permissions must derive from the project's commands, not from an empty folder's.
        commands=CommandSettings(*resolve_commands(root.checkout, config.commands)),
        roles={**config.roles, STEP.role: Role(name, model or chosen_model(config, name))},
        agents=agents,
    )


def _make_repository(tree: str) -> None:
    os.mkdir(tree)
    for words in (
        ("init", "--quiet", "--initial-branch=main"),
        (*_GIT_IDENTITY, "commit", "--quiet", "--allow-empty", "--message", "Begin"),
    ):
        answer = run_probe(Probe((*_GIT, *words), inherits_environment=True), tree)
        if answer is None or not answer.ok:
            why = "git is not installed" if answer is None else answer.reason
            raise AutopilotError(f"no repository could be made for the test: {why}", hint="bmad doctor")


def finish_trial(trial: Trial) -> FinishedCall:
    """Wait for the call and collect its result. An interrupt cancels the call."""
    try:
        wait_for_any([trial.attempt], SECONDS + END_SECONDS)
    except KeyboardInterrupt:
        cancel_attempt(trial.attempt, "the test was interrupted")
        wait_for_any([trial.attempt], END_SECONDS)
        raise
    if attempt_state(trial.attempt) is AttemptState.RUNNING:
        raise AutopilotError("the call does not end", hint=f"look at {trial.attempt}")
    done = finalize_call(trial.attempt, trial.config)
    if done.verdict.outcome is Outcome.COMPLETED and _continues_after_exit(trial):
        _await_file(trial)
    return done


def _continues_after_exit(trial: Trial) -> bool:
    custom = trial.config.agents.get(trial.spec.agent)
    return custom is not None and custom.completion == EVIDENCE


def _await_file(trial: Trial) -> None:
    """The command only started background work: wait for the file, then stop that work."""
    deadline = time.monotonic() + SECONDS
    written = FileWatch([trial.file])
    poll = select.poll()
    poll.register(written, select.POLLIN)
    try:
        while not trial.has_word and (left := deadline - time.monotonic()) > 0:
            poll.poll(int(left * 1000) + 1)
            written.clear()
    finally:
        written.close()
        if trial.spec.stop:
            tree_snapshot.run(list(trial.spec.stop), dict(os.environ), STOP_SECONDS)


def read_content(path: str) -> str | None:
    """The file's stripped content; None if it does not exist."""
    if not os.path.lexists(path):
        return None
    return read_bytes(path, limit=1024 * 1024, head=1000).decode("utf-8", "replace").strip()


# Advice for each outcome of a failed trial.

LOGIN = {
    "claude": "claude, then /login; or set ANTHROPIC_API_KEY",
    "codex": "codex login",
    "opencode": "opencode auth login",
    "gemini": "gemini, and choose how to log in; or set GEMINI_API_KEY",
    "copilot": "copilot, then /login",
    "cursor": "cursor-agent login",
}
_KEEP_HINT = "keep what it printed, and look: --keep"

_ADVICE = {
    Outcome.COMPLETED: "it ended well without doing what it was asked: {model}",
    Outcome.QUESTION: "it asked instead of working: {model}",
    Outcome.PERMISSION_DENIED: f"name what it needs in permissions.allow of {CONFIG_NAME}",
    Outcome.LIMIT: "wait, or choose another agent",
    Outcome.OVERLOADED: "the service is overloaded: try again in a few minutes",
    Outcome.AUTH: "{login}",
    Outcome.BILLING: "see to the account's billing: it has no credit, or the plan does not cover this",
    Outcome.BUDGET: "raise the budget in the client's own settings",
    Outcome.MAX_TURNS: "raise the number of turns in the client's own settings",
    Outcome.PROMPT_TOO_LONG: "the prompt is short: see what the client adds to it (memory files, tools)",
    Outcome.NETWORK: "see that this machine reaches the agent's service (HTTPS_PROXY, firewall), and try again",
    Outcome.STALLED: _KEEP_HINT,
    Outcome.TIMED_OUT: _KEEP_HINT,
    Outcome.CANCELLED: "run it again",
    Outcome.CRASHED: _KEEP_HINT,
    Outcome.LOST: "run it again: its supervisor was killed",
    Outcome.SKILL_MISSING: "bmad doctor",
    Outcome.MISCONFIGURED: "{install}; or {model}",
}


def advice(outcome: Outcome, name: str) -> str:
    text = _ADVICE[outcome]
    if name not in PACKAGES:
        return f"see [agents.{name}] in {CONFIG_NAME}" if "{" in text else text
    model = f"bmad agent test {name} --model MODEL"
    return text.format(login=LOGIN[name], install=PACKAGES[name].install, model=model)


LAST_LINES = 8


@click.command("test", short_help="See that an agent works here.")
@click.argument("name", shell_complete=complete_agent)
@click.option("--model", metavar="MODEL", help="Ask for this model instead of the role's.")
@click.option("--keep", is_flag=True, help="Keep the temporary repository and all that was recorded.")
@click.pass_context
def test_(ctx: click.Context, name: str, model: str | None, keep: bool) -> None:
    """See that an agent works here: it is asked to write one word into a file.

    This is a real call with the environment and the permissions of a run, in a temporary repository, of three
    minutes at most. It costs what a few hundred words cost. Your own repository is not touched."""
    gc.enable()  # it may wait for minutes
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)  # cancel the call, as Ctrl-C does
    os.environ.setdefault("CLAUDE_CODE_MAX_RETRIES", "2")  # ten retries take three minutes to report a wrong key
    root = find_root(ctx.obj[0])
    config = load_config(root)
    find_agent(name, config.agents)
    agent = find_known_agent(name, root, config)
    out = terminal(ctx)
    _row("agent", f"{name}: {agent.problem or agent.version or agent.program}")
    launcher = chosen_launcher(config, name)
    if launcher:
        _row("launcher", f"{launcher} is left out: the test's folder is only on this machine")
    if agent.problem:
        _print_failure(name, Outcome.MISCONFIGURED, out)
        ctx.exit(EXIT_FAILED)
    with _trial_folder(keep) as folder:
        trial = start_trial(folder, name, model, root, config)
        model_words = f" with {trial.spec.model}" if trial.spec.model else ""
        _row("started", f"in a temporary repository{model_words}, for 3 minutes at most")
        works = _report_result(trial, finish_trial(trial), out)
    ctx.exit(EXIT_DONE if works else EXIT_FAILED)


@contextmanager
def _trial_folder(keep: bool) -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="bmad-agent-test-")
    try:
        yield folder
    finally:
        if keep or attempt_state(f"{folder}/attempt") is AttemptState.RUNNING:
            _row("kept", f"{folder}: work (the repository), attempt (what was recorded)")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _report_result(trial: Trial, done: FinishedCall, out: Terminal) -> bool:
    """Print the result. The agent works only if it reported success and wrote the file."""
    verdict, name = done.verdict, trial.spec.agent
    works = verdict.outcome is Outcome.COMPLETED and trial.has_word
    color = "green" if verdict.outcome is Outcome.COMPLETED else "red"
    _row("outcome", outcome_words(verdict), out, color)
    for denied in verdict.denials:
        _row("refused", denied)
    _row("file", _file_words(trial))
    _row("took", " · ".join([f"{done.result.seconds:.1f} s", *spend_words(verdict.spend)]))
    if verdict.model or verdict.version:
        _row("said", " ".join(part for part in (verdict.version, verdict.model) if part))
    if works:
        click.echo(out.style(f"{name} works here", "green"))
        return True
    _last_lines(trial)
    _print_failure(name, verdict.outcome, out)
    return False


def _file_words(trial: Trial) -> str:
    text = read_content(trial.file)
    if text is None:
        return f"no {FILE}"
    return f"{FILE} holds the word" if text == trial.word else f"{FILE} holds {text[:60]!r}, not {trial.word!r}"


def _last_lines(trial: Trial) -> None:
    agent = find_agent(trial.spec.agent, trial.config.agents)
    events = read_events(f"{trial.attempt}/{attempt_files.EVENTS}")
    last = deque((line for event, _ in events for line in readable_lines(agent, event)), maxlen=LAST_LINES)
    for line in last:
        _row("printed", line.text)


def _print_failure(name: str, outcome: Outcome, out: Terminal) -> None:
    click.echo(out.style(f"{name} does not work here", "red"))
    if outcome is Outcome.LIMIT:
        parked = parked_until(name)
        if parked:
            _row("parked", f"until {format_timestamp(parked[1])} ({parked[0]} limit)")
    click.echo(f"  {out.style('fix:', 'bold')} {advice(outcome, name)}")


def _row(label: str, text: str, out: Terminal | None = None, color: str = "") -> None:
    """Never truncated, so that lines can be read and copied whole."""
    shown = printable(text)
    click.echo(f"{label:<9} {out.style(shown, color) if out else shown}")

"""bmad agent test: does this agent work here?"""

import gc
import os
import shutil
import signal
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import click

from ..agents.attempts import State, state_of
from ..agents.events import read_events
from ..agents.outcomes import Outcome
from ..agents.registry import find_agent
from ..agents.shim import records
from ..core.errors import EXIT_DONE, EXIT_FAILED
from ..engine.harvesting import Harvest
from ..project.config import load_config
from ..project.root import find_root
from ..views.agents import moment
from ..views.calls import outcome_words, readable, spend_words
from ..views.terminal import Terminal, clean
from .agent_advice import advice
from .agent_known import complete_agent, one_agent, parked_until
from .agent_trial import FILE, Trial, begin_trial, chosen_launcher, finish_trial, found
from .facts import terminal

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
    gc.enable()  # it waits for minutes
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)  # the call ends with us, as by Ctrl-C
    os.environ.setdefault(
        "CLAUDE_CODE_MAX_RETRIES", "2"
    )  # ten would take three minutes to say that a key is wrong
    root = find_root(ctx.obj[0])
    config = load_config(root)
    find_agent(name, config.agents)
    agent = one_agent(name, root, config)
    out = terminal(ctx)
    _row("agent", f"{name}: {agent.problem or agent.version or agent.program}")
    launcher = chosen_launcher(config, name)
    if launcher:
        _row("launcher", f"{launcher} is left out: the test's folder is only on this machine")
    if agent.problem:
        _failed(name, Outcome.MISCONFIGURED, out)
        ctx.exit(EXIT_FAILED)
    with _place(keep) as folder:
        trial = begin_trial(folder, name, model, root, config)
        model_words = f" with {trial.spec.model}" if trial.spec.model else ""
        _row("started", f"in a temporary repository{model_words}, for 3 minutes at most")
        works = _tell(trial, finish_trial(trial), out)
    ctx.exit(EXIT_DONE if works else EXIT_FAILED)


@contextmanager
def _place(keep: bool) -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="bmad-agent-test-")
    try:
        yield folder
    finally:
        if keep or state_of(f"{folder}/attempt") is State.RUNNING:
            _row("kept", f"{folder}: work (the repository), attempt (what was recorded)")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _tell(trial: Trial, done: Harvest, out: Terminal) -> bool:
    """Whether it works: an agent's word is not enough, and neither is a file that came in spite of it."""
    verdict, name = done.verdict, trial.spec.agent
    works = verdict.outcome is Outcome.COMPLETED and trial.holds_word
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
    _failed(name, verdict.outcome, out)
    return False


def _file_words(trial: Trial) -> str:
    text = found(trial.file)
    if text is None:
        return f"no {FILE}"
    return f"{FILE} holds the word" if text == trial.word else f"{FILE} holds {text[:60]!r}, not {trial.word!r}"


def _last_lines(trial: Trial) -> None:
    agent = find_agent(trial.spec.agent, trial.config.agents)
    events = read_events(f"{trial.attempt}/{records.EVENTS}")
    last = deque((line for event, _ in events for line in readable(agent, event)), maxlen=LAST_LINES)
    for line in last:
        _row("printed", line.text)


def _failed(name: str, outcome: Outcome, out: Terminal) -> None:
    click.echo(out.style(f"{name} does not work here", "red"))
    if outcome is Outcome.LIMIT:
        parked = parked_until(name)
        if parked:
            _row("parked", f"until {moment(parked[1])} ({parked[0]} limit)")
    click.echo(f"  {out.style('fix:', 'bold')} {advice(outcome, name)}")


def _row(label: str, text: str, out: Terminal | None = None, color: str = "") -> None:
    """Every line whole: it is there to be read to its end, and to be copied."""
    shown = clean(text)
    click.echo(f"{label:<9} {out.style(shown, color) if out else shown}")

"""bmad intervene: choose how a story that has stopped goes on."""

import time

import click

from ..agents.attempts import State, read_spec, set_time_limit, state_of
from ..agents.shim import records
from ..core.causes import ABORT, EXTEND, FIX, RETRY, SKIP
from ..core.commands import command
from ..core.errors import AutopilotError, FileError, UsageError
from ..project.config import load_config
from ..runs.answering import option_meant
from ..runs.layout import Place, find_attempts, runs_folder
from ..runs.question import Kind
from ..views.calls import span
from ..views.terminal import clean
from .inbox import Waits, complete_asked, find_asked, matching, read_inbox, waiting
from .recording import record_answer

CHOICES = (RETRY, SKIP, FIX, EXTEND, ABORT)
LOOK_BACK = 50  # the newest calls: one that runs is among them


@click.command(short_help="Choose how a story that has stopped goes on.")
@click.argument("story", shell_complete=complete_asked)
@click.argument("choice")
@click.option("--run", metavar="RUN", help="Of several runs that ask about this story, this one.")
@click.option("--resume", is_flag=True, help="Then go on with the run, here.")
@click.pass_context
def intervene(ctx: click.Context, story: str, choice: str, run: str | None, resume: bool) -> None:
    """Choose how STORY goes on, which has stopped: retry, skip, fix, extend or abort, or whatever `bmad questions`
    shows; the first letter will do.

    While its agent is still at work, `extend` gives it as much time again."""
    waits = read_inbox(ctx)
    stories = [asked.question.story for asked in waits.inbox.asked]
    at_work = None if matching(stories, story) else _at_work(waits, story)
    if at_work is not None:
        _while_at_work(waits, at_work, choice)
        return
    asked = find_asked(waits, story, run=run)
    question = asked.question
    if question.kind is not Kind.INTERVENTION:
        hint = waiting(asked, waits.inbox).command
        raise UsageError(f"{question.story} asks a question, and waits for an answer", hint=hint)
    meant = option_meant(question.options, choice)
    if meant is None:
        raise UsageError(f"{question.story} does not offer {choice!r}", expected=", ".join(question.options))
    record_answer(ctx, waits, asked, meant, resume=resume)


def _at_work(waits: Waits, wanted: str) -> Place | None:
    """The newest call for that story that is still running."""
    running: dict[str, Place] = {}
    for place in find_attempts(runs_folder(waits.project.root.path))[:LOOK_BACK]:
        if state_of(place.folder) is State.RUNNING:
            try:
                running.setdefault(read_spec(place.folder).story, place)
            except FileError:
                continue
    found = matching(list(running), wanted)
    return running[found[0]] if len(found) == 1 else None


def _while_at_work(waits: Waits, place: Place, choice: str) -> None:
    meant = option_meant(CHOICES, choice)
    if meant is None:
        raise UsageError(f"there is no choice {choice!r}", expected=", ".join(CHOICES))
    if meant != EXTEND:
        instead = command("agent", "cancel", place.name)
        hint = f"bmad stop --now ends the run and the agent; {instead} ends this call, and you are asked"
        raise AutopilotError(f"the agent is still at work; {meant} is for when it has stopped", hint=hint)
    more = load_config(waits.project.root).story_timeout_cap * 60.0
    started = records.read_started(place.folder)
    limit = records.read_time_limit(place.folder, 0.0)
    if started is None or not limit:
        raise AutopilotError(f"{place.name} has no time limit that could be extended")
    set_time_limit(place.folder, limit + more)
    until = time.strftime("%H:%M", time.localtime(started[1] + limit + more))
    click.echo(clean(f"{place.name} may go on until {until} ({span(more)} more)"))

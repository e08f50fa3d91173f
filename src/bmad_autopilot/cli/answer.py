"""bmad answer: answer a question, so that its run goes on."""

import os
import sys

import click

from ..board.sprint import find_row, read_board
from ..core.commands import command
from ..core.errors import AutopilotError, FileError, UsageError
from ..core.keys import identify
from ..core.statuses import Kind
from ..project.open import Project
from ..runs.answering import MAX_BYTES, why_invalid
from ..runs.question import By, Question
from ..runs.questions import Asked, Inbox, deliver
from ..runs.questions import answer as record
from ..runs.supervisor import Owner, described, owner
from ..views.questions import one
from ..views.terminal import clean
from .facts import terminal
from .inbox import Waits, complete_asked, matching, read_inbox, waiting

MAX_TRIES = 20


@click.command(short_help="Answer a question, so that its run goes on.")
@click.argument("story", shell_complete=complete_asked)
@click.argument("text", nargs=-1)
@click.option("--question", "id", metavar="ID", help="Which one, where a story has several (q1, q2 …).")
@click.pass_context
def answer(ctx: click.Context, story: str, text: tuple[str, ...], id: str | None) -> None:
    """Answer the open question of STORY (`1-2`, `1.2`, its key or the beginning of it).

    TEXT is the answer: an option, its number or its letter where there are options, else words. `-` reads it from
    standard input. Without TEXT, on a terminal, the question is shown and the answer asked for."""
    waits = read_inbox(ctx)
    asked = _find(waits, story, id)
    said = " ".join(text) if text else _prompt(ctx, asked, waits.inbox)
    done = record(asked.path, _from_input() if said == "-" else said, By.HUMAN)
    click.echo(f"{clean(done.story)} {done.id}: " + "\n  ".join(map(clean, (done.answer or "").split("\n"))))
    _deliver(done)
    click.echo(_what_now(asked, owner(waits.project.state_folder)))
    after = [other for other in waits.inbox.asked if other.question.story == done.story and other != asked]
    if after:
        hint = command("answer", done.story)
        click.echo(clean(f"{len(after)} more question{'s' * (len(after) != 1)} of this story: {hint}"))


def _find(waits: Waits, wanted: str, id: str | None) -> Asked:
    stories = list(dict.fromkeys(asked.question.story for asked in waits.inbox.asked))
    found = matching(stories, wanted)
    if len(found) > 1:
        raise UsageError(f"{wanted} names several stories", found=", ".join(found), hint="give the whole key")
    if not found:
        raise _nothing(waits.project, wanted, stories)
    of_story = [asked for asked in waits.inbox.asked if asked.question.story == found[0]]
    if id is None:
        return of_story[0]
    chosen = next((asked for asked in of_story if asked.question.id == id.lower()), None)
    if chosen is None:
        expected = ", ".join(asked.question.id for asked in of_story)
        raise UsageError(f"{found[0]} has no open question {id}", expected=expected, hint="bmad questions")
    return chosen


def _nothing(project: Project, wanted: str, stories: list[str]) -> AutopilotError:
    """A story without a question, or no story at all: the board tells, if it can be read."""
    others = f"open for: {', '.join(stories[:6])}" if stories else "no question is open in this project"
    try:
        board = read_board(project.require_board())
        kind = identify([wanted])[wanted].kind
        key = find_row(board, wanted, kind if kind in (Kind.STORY, Kind.EPIC) else Kind.STORY).key
    except FileError:
        key = wanted
    return AutopilotError(f"{key} has no open question", found=others, hint="bmad questions")


def _prompt(ctx: click.Context, asked: Asked, inbox: Inbox) -> str:
    """Asked again until it is an answer, as 000 wants it; nothing is recorded before."""
    if not sys.stdin.isatty():
        hint = f"{command('answer', asked.question.story)} TEXT, or - to read it from standard input"
        raise UsageError("there is no TEXT, and no terminal to ask on", hint=hint)
    click.echo("\n".join(one(waiting(asked, inbox), terminal(ctx))))
    for _ in range(MAX_TRIES):
        said: str = click.prompt("answer", default="", show_default=False)
        problem = why_invalid(asked.question, said)
        if problem is None:
            return said
        click.echo(clean(problem))
    raise UsageError(f"no answer in {MAX_TRIES} tries")


def _from_input() -> str:
    return sys.stdin.buffer.read(MAX_BYTES * 4).decode("utf-8", "replace")


def _deliver(done: Question) -> None:
    """The run has the answer, and whoever resumes it delivers it too: a file in the way is only said."""
    try:
        deliver(done)
    except (AutopilotError, OSError) as error:
        click.echo(f"it could not be written to {clean(done.state_file)}: {clean(str(error))}", err=True)


def _what_now(asked: Asked, at_work: Owner | None) -> str:
    if at_work is None:
        return "nobody is at work here; to go on: bmad resume"
    if at_work.run and os.path.basename(at_work.run) != asked.run.id:
        return clean(f"{described(at_work)} is at work on another run; after that: bmad resume")
    return clean(f"{described(at_work)} goes on by itself")

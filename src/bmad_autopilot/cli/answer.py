"""bmad answer: answer a question, so that its run goes on."""

import sys

import click

from ..core.commands import command
from ..core.errors import UsageError
from ..runs.answering import MAX_BYTES, why_invalid
from ..runs.questions import Asked, Inbox
from ..views.questions import one
from ..views.terminal import clean
from .facts import terminal
from .inbox import complete_asked, find_asked, read_inbox, waiting
from .recording import record_answer

MAX_TRIES = 20


@click.command(short_help="Answer a question, so that its run goes on.")
@click.argument("story", shell_complete=complete_asked)
@click.argument("text", nargs=-1)
@click.option("--option", "number", type=click.IntRange(min=1), metavar="N", help="The option of that number.")
@click.option("--file", "path", metavar="FILE", help="Read the answer from FILE; `-`: from standard input.")
@click.option("--question", "id", metavar="ID", help="Which one, where a story has several (q1, q2 …).")
@click.option("--run", metavar="RUN", help="Of several runs that ask about this story, this one.")
@click.option("--resume", is_flag=True, help="Then go on with the run, here.")
@click.pass_context
def answer(
    ctx: click.Context,
    story: str,
    text: tuple[str, ...],
    number: int | None,
    path: str | None,
    id: str | None,
    run: str | None,
    resume: bool,
) -> None:
    """Answer the open question of STORY (`1-2`, `1.2`, its key or the beginning of it).

    TEXT is the answer: an option, its number or its letter where there are options, else words. `-` reads it from
    standard input. Without TEXT, on a terminal, the question is shown and the answer asked for."""
    if sum((bool(text), number is not None, path is not None)) > 1:
        raise UsageError("TEXT, --option and --file exclude each other")
    waits = read_inbox(ctx)
    asked = find_asked(waits, story, id, run)
    if number is not None:
        said = _option(asked, number)
    elif path is not None:
        said = _from(path)
    else:
        said = " ".join(text) if text else _prompt(ctx, asked, waits.inbox)
    record_answer(ctx, waits, asked, _from("-") if said == "-" else said, resume=resume)


def _option(asked: Asked, number: int) -> str:
    options = asked.question.options
    if number > len(options):
        expected = "; ".join(options) or "words: it has no options"
        raise UsageError(f"{asked.question.story} {asked.question.id} has no option {number}", expected=expected)
    return options[number - 1]


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


def _from(path: str) -> str:
    """More than an answer may have is read, so that it is refused and not cut."""
    if path == "-":
        return sys.stdin.buffer.read(MAX_BYTES * 4).decode("utf-8", "replace")
    from ..files import read_text

    return read_text(path, limit=MAX_BYTES * 4).text

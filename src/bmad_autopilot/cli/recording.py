"""Recording what a person says to a question, and what happens then."""

import os
from typing import NoReturn

import click

from ..core.causes import FIX
from ..core.commands import command
from ..core.errors import AutopilotError, UsageError
from ..core.statuses import REVIEW
from ..project.open import Project
from ..runs.layout import runs_folder
from ..runs.question import By, Kind, Question
from ..runs.questions import Asked, deliver
from ..runs.questions import answer as record
from ..runs.supervisor import AUTOPILOT, Owner, described, owner_of
from ..views.terminal import clean
from .going_on import going_on
from .inbox import Waits


def record_answer(ctx: click.Context, waits: Waits, asked: Asked, said: str, *, resume: bool) -> None:
    """Once: whoever comes second is told. Then what is to be typed, or the run itself."""
    at_work = owner_of(waits.project.state_folder, asked.run.id)
    if resume and at_work is not None:
        raise UsageError(f"{described(at_work)} is at work here", hint="leave --resume out: it goes on by itself")
    done = record(asked.path, said, By.HUMAN)
    click.echo(f"{clean(done.story)} {done.id}: " + "\n  ".join(map(clean, (done.answer or "").split("\n"))))
    _deliver(done)
    if resume and not _is_by_hand(done):
        _resume(ctx, asked)
    for line in _take_over(waits.project, asked, done):
        click.echo(f"  {clean(line)}")
    click.echo(_what_now(asked, owner_of(waits.project.state_folder, asked.run.id), done))
    after = [other for other in waits.inbox.asked if other.question.story == done.story and other != asked]
    if after:
        hint = command("answer", done.story)
        click.echo(clean(f"{len(after)} more question{'s' * (len(after) != 1)} of this story: {hint}"))


def _deliver(done: Question) -> None:
    """The run has the answer, and whoever resumes it delivers it too: a file in the way is only said."""
    try:
        deliver(done)
    except (AutopilotError, OSError) as error:
        click.echo(f"it could not be written to {clean(done.state_file)}: {clean(str(error))}", err=True)


def _resume(ctx: click.Context, asked: Asked) -> NoReturn:
    from ..runs.finding import find_run
    from .facts import the_project
    from .resume import go_on_with

    project = the_project(ctx)
    run = find_run(runs_folder(project.root.path), f"{asked.run.session}/{asked.run.id}")
    go_on_with(ctx, project, run, {}, as_json=False)


def _is_by_hand(done: Question) -> bool:
    return done.kind is Kind.INTERVENTION and done.answer == FIX


def _take_over(project: Project, asked: Asked, done: Question) -> tuple[str, ...]:
    if not _is_by_hand(done):
        return ()
    from .taking_over import take_over_from

    return take_over_from(project, asked.run.folder)


def _what_now(asked: Asked, at_work: Owner | None, done: Question) -> str:
    goes_on = going_on(asked.run.folder)
    if _is_by_hand(done):
        row = command("board", "set", done.story, REVIEW)
        moved = "" if done.about == "workflow" else f"if its row has moved: {clean(row)}\n"
        return f"{moved}when it is mended: {goes_on}"
    if at_work is None:
        return f"nobody is at work here; to go on: {goes_on}"
    if at_work.run and os.path.basename(at_work.run) != asked.run.id and at_work.command != AUTOPILOT:
        return clean(f"{described(at_work)} is at work on another run; after that: {goes_on}")
    return clean(f"{described(at_work)} goes on by itself")

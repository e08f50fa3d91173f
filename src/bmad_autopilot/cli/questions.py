"""bmad questions, answer and intervene: list open questions and record answers."""

import os
import sys
import time
from typing import NoReturn

import click

from ..agents.attempt import AttemptState, attempt_state, read_call_spec, set_time_limit
from ..agents.shim import attempt_files
from ..core.errors import AutopilotError, FileError, UsageError, command
from ..core.statuses import REVIEW
from ..core.stop_causes import ABORT, EXTEND, FIX, RETRY, SKIP, StopKind
from ..core.text import printable
from ..project.config import load_config
from ..project.project import Project
from ..runs.layout import AttemptLocation, find_attempts, runs_folder
from ..runs.question_file import MAX_BYTES, AnswerSource, RunQuestion, answer_problem, match_option
from ..runs.questions import Inbox, PendingQuestion, deliver_answer
from ..runs.questions import record_answer as record
from ..runs.supervisor_lock import AUTOPILOT, LockOwner, describe_owner, owner_of_run
from ..views.agents import coarse_duration
from ..views.questions import QuestionsView, question_block, question_list, render
from .context import display_path, print_json, terminal
from .inbox import ProjectInbox, complete_asking_story, find_question, matching_stories, open_question, read_inbox
from .resume_command import resume_command


@click.command(short_help="What waits for a human?")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def questions(ctx: click.Context, as_json: bool) -> None:
    """The open questions of all runs that are not over, the oldest first and one at a time per story, each with
    its options and the command that answers it."""
    project_inbox = read_inbox(ctx)
    asked = project_inbox.inbox.next_per_story
    then = " and ".join(sorted({resume_command(one.run.folder) for one in asked}))
    view = QuestionsView(
        [open_question(one, project_inbox.inbox) for one in asked],
        project_inbox.owner,
        _unreadable_files(project_inbox),
        then,
    )
    if as_json:
        print_json("questions", question_list(view))
    else:
        click.echo("\n".join(render(view, terminal(ctx))))


def _unreadable_files(project_inbox: ProjectInbox) -> list[str]:
    found = project_inbox.inbox.diagnostics
    return [
        f"{display_path(project_inbox.project, one.location.file)}: {one.message} ({one.hint})" for one in found
    ]


# Recording an answer, and what follows.


def record_answer(
    ctx: click.Context, project_inbox: ProjectInbox, asked: PendingQuestion, reply: str, *, resume: bool
) -> None:
    """Record the answer (a second one is an error), then resume the run or print the next command."""
    at_work = owner_of_run(project_inbox.project.state_folder, asked.run.id)
    if resume and at_work is not None:
        raise UsageError(
            f"{describe_owner(at_work)} is at work here", hint="leave --resume out: it goes on by itself"
        )
    done = record(asked.path, reply, AnswerSource.HUMAN)
    click.echo(
        f"{printable(done.story)} {done.id}: " + "\n  ".join(map(printable, (done.answer or "").split("\n")))
    )
    _deliver(done)
    if resume and not _is_manual_fix(done):
        _resume(ctx, asked)
    for line in _takeover_lines(project_inbox.project, asked, done):
        click.echo(f"  {printable(line)}")
    click.echo(_next_text(asked, owner_of_run(project_inbox.project.state_folder, asked.run.id), done))
    after = [
        other for other in project_inbox.inbox.pending if other.question.story == done.story and other != asked
    ]
    if after:
        hint = command("answer", done.story)
        click.echo(printable(f"{len(after)} more question{'s' * (len(after) != 1)} of this story: {hint}"))


def _deliver(done: RunQuestion) -> None:
    """Write the answer to the state file. A failure is only reported: the resumed run writes it again."""
    try:
        deliver_answer(done)
    except (AutopilotError, OSError) as error:
        click.echo(f"it could not be written to {printable(done.state_file)}: {printable(str(error))}", err=True)


def _resume(ctx: click.Context, asked: PendingQuestion) -> NoReturn:
    from ..runs.index import find_run
    from .context import current_project
    from .resume import continue_run

    project = current_project(ctx)
    run = find_run(runs_folder(project.root.path), f"{asked.run.session}/{asked.run.id}")
    continue_run(ctx, project, run, {}, as_json=False)


def _is_manual_fix(done: RunQuestion) -> bool:
    return done.kind is StopKind.INTERVENTION and done.answer == FIX


def _takeover_lines(project: Project, asked: PendingQuestion, done: RunQuestion) -> tuple[str, ...]:
    if not _is_manual_fix(done):
        return ()
    from .run_summary import takeover_lines_of_run

    return takeover_lines_of_run(project, asked.run.folder)


def _next_text(asked: PendingQuestion, at_work: LockOwner | None, done: RunQuestion) -> str:
    next_command = resume_command(asked.run.folder)
    if _is_manual_fix(done):
        row = command("board", "set", done.story, REVIEW)
        moved = "" if done.about == "workflow" else f"if its row has moved: {printable(row)}\n"
        return f"{moved}when it is mended: {next_command}"
    if at_work is None:
        return f"nobody is at work here; to go on: {next_command}"
    if at_work.run and os.path.basename(at_work.run) != asked.run.id and at_work.command != AUTOPILOT:
        return printable(f"{describe_owner(at_work)} is at work on another run; after that: {next_command}")
    return printable(f"{describe_owner(at_work)} goes on by itself")


# bmad answer

MAX_TRIES = 20


@click.command(short_help="Answer a question, so that its run goes on.")
@click.argument("story", shell_complete=complete_asking_story)
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
    project_inbox = read_inbox(ctx)
    asked = find_question(project_inbox, story, id, run)
    if number is not None:
        reply = _option(asked, number)
    elif path is not None:
        reply = _read_answer(path)
    else:
        reply = " ".join(text) if text else _prompt(ctx, asked, project_inbox.inbox)
    record_answer(ctx, project_inbox, asked, _read_answer("-") if reply == "-" else reply, resume=resume)


def _option(asked: PendingQuestion, number: int) -> str:
    options = asked.question.options
    if number > len(options):
        expected = "; ".join(options) or "words: it has no options"
        raise UsageError(f"{asked.question.story} {asked.question.id} has no option {number}", expected=expected)
    return options[number - 1]


def _prompt(ctx: click.Context, asked: PendingQuestion, inbox: Inbox) -> str:
    """Prompt until the answer is valid, as seed 000 requires; nothing is recorded before."""
    if not sys.stdin.isatty():
        hint = f"{command('answer', asked.question.story)} TEXT, or - to read it from standard input"
        raise UsageError("there is no TEXT, and no terminal to ask on", hint=hint)
    click.echo("\n".join(question_block(open_question(asked, inbox), terminal(ctx))))
    for _ in range(MAX_TRIES):
        reply: str = click.prompt("answer", default="", show_default=False)
        problem = answer_problem(asked.question, reply)
        if problem is None:
            return reply
        click.echo(printable(problem))
    raise UsageError(f"no answer in {MAX_TRIES} tries")


def _read_answer(path: str) -> str:
    """Read more than the allowed size, so that a long answer is rejected and not cut."""
    if path == "-":
        return sys.stdin.buffer.read(MAX_BYTES * 4).decode("utf-8", "replace")
    from ..io.files import read_text

    return read_text(path, limit=MAX_BYTES * 4).text


# bmad intervene

CHOICES = (RETRY, SKIP, FIX, EXTEND, ABORT)
MAX_SCANNED_CALLS = 50  # newest calls: a running one is among them


@click.command(short_help="Choose how a story that has stopped goes on.")
@click.argument("story", shell_complete=complete_asking_story)
@click.argument("choice")
@click.option("--run", metavar="RUN", help="Of several runs that ask about this story, this one.")
@click.option("--resume", is_flag=True, help="Then go on with the run, here.")
@click.pass_context
def intervene(ctx: click.Context, story: str, choice: str, run: str | None, resume: bool) -> None:
    """Choose how STORY goes on, which has stopped: retry, skip, fix, extend or abort, or whatever `bmad questions`
    shows; the first letter will do.

    While its agent is still at work, `extend` gives it as much time again."""
    project_inbox = read_inbox(ctx)
    stories = [asked.question.story for asked in project_inbox.inbox.pending]
    at_work = None if matching_stories(stories, story) else _running_call(project_inbox, story)
    if at_work is not None:
        _extend_running_call(project_inbox, at_work, choice)
        return
    asked = find_question(project_inbox, story, run=run)
    question = asked.question
    if question.kind is not StopKind.INTERVENTION:
        hint = open_question(asked, project_inbox.inbox).command
        raise UsageError(f"{question.story} asks a question, and waits for an answer", hint=hint)
    meant = match_option(question.options, choice)
    if meant is None:
        raise UsageError(f"{question.story} does not offer {choice!r}", expected=", ".join(question.options))
    record_answer(ctx, project_inbox, asked, meant, resume=resume)


def _running_call(project_inbox: ProjectInbox, wanted: str) -> AttemptLocation | None:
    """The newest running call of the story."""
    running: dict[str, AttemptLocation] = {}
    for location in find_attempts(runs_folder(project_inbox.project.root.path))[:MAX_SCANNED_CALLS]:
        if attempt_state(location.folder) is AttemptState.RUNNING:
            try:
                running.setdefault(read_call_spec(location.folder).story, location)
            except FileError:
                continue
    found = matching_stories(list(running), wanted)
    return running[found[0]] if len(found) == 1 else None


def _extend_running_call(project_inbox: ProjectInbox, location: AttemptLocation, choice: str) -> None:
    meant = match_option(CHOICES, choice)
    if meant is None:
        raise UsageError(f"there is no choice {choice!r}", expected=", ".join(CHOICES))
    if meant != EXTEND:
        instead = command("agent", "cancel", location.name)
        hint = f"bmad stop --now ends the run and the agent; {instead} ends this call, and you are asked"
        raise AutopilotError(f"the agent is still at work; {meant} is for when it has stopped", hint=hint)
    more = load_config(project_inbox.project.root).story_timeout_cap * 60.0
    started = attempt_files.read_started(location.folder)
    limit = attempt_files.read_time_limit(location.folder, 0.0)
    if started is None or not limit:
        raise AutopilotError(f"{location.name} has no time limit that could be extended")
    set_time_limit(location.folder, limit + more)
    until = time.strftime("%H:%M", time.localtime(started[1] + limit + more))
    click.echo(printable(f"{location.name} may go on until {until} ({coarse_duration(more)} more)"))

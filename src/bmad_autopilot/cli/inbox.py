"""The questions that wait in a project, for the commands that show and answer them. Its board and its settings may
be broken: a question can be answered all the same."""

import time
from typing import TYPE_CHECKING, NamedTuple

import click

from ..board.sprint import find_row, read_board
from ..core.errors import AutopilotError, FileError, UsageError
from ..core.keys import identify, number_of
from ..core.statuses import Kind
from ..project.open import Project
from ..runs.finding import unfinished
from ..runs.layout import runs_folder
from ..runs.questions import Asked, Inbox, all_open, questions_of
from ..runs.supervisor import Owner, owners
from ..views.questions import Waiting
from .opening import open_in_parts

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Waits(NamedTuple):
    project: Project
    inbox: Inbox
    owner: Owner | None


def read_inbox(ctx: click.Context) -> Waits:
    project, _ = open_in_parts(ctx.obj[0])
    return Waits(project, all_open(runs_folder(project.root.path)), next(iter(owners(project.state_folder)), None))


def waiting(asked: Asked, inbox: Inbox) -> Waiting:
    question = asked.question
    same = sum(other.question.story == question.story and other.run == asked.run for other in inbox.asked)
    several = len(inbox.runs_asking(question.story)) > 1
    return Waiting(question, asked.run.id, max(0.0, time.time() - question.asked_at), same - 1, several)


def find_asked(waits: Waits, wanted: str, id: str | None = None, run: str | None = None) -> Asked:
    """The open question of the story that is meant, the oldest where it has several; else what to say instead. Of
    two runs that ask about one story, the newer is meant unless one is named."""
    stories = list(dict.fromkeys(asked.question.story for asked in waits.inbox.asked))
    found = matching(stories, wanted)
    if len(found) > 1:
        raise UsageError(f"{wanted} names several stories", found=", ".join(found), hint="give the whole key")
    if not found:
        raise _nothing(waits.project, wanted, stories)
    runs = [one for one in waits.inbox.runs_asking(found[0]) if run is None or one.id.startswith(run)]
    if not runs or (run is not None and len(runs) > 1 and run not in [one.id for one in runs]):
        known = ", ".join(one.id for one in waits.inbox.runs_asking(found[0]))
        raise UsageError(f"{'several runs' if runs else 'no run'} called {run} ask about {found[0]}", found=known)
    meant = next((one for one in runs if one.id == run), runs[0])
    of_story = [one for one in waits.inbox.asked if one.question.story == found[0] and one.run.id == meant.id]
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
    said = _last_answer(project, key)
    return AutopilotError(f"{key} has no open question", found=said or others, hint="bmad questions")


def _last_answer(project: Project, story: str) -> str:
    """What somebody has said already."""
    for run in unfinished(runs_folder(project.root.path)):
        given = [one for _, one in questions_of(run.folder)[0] if one.story == story and one.answer is not None]
        if given:
            return f"{given[-1].id} was answered: {(given[-1].answer or '')[:200]}"
    return ""


def matching(stories: list[str], wanted: str) -> list[str]:
    """The stories a person may mean: by the whole key, by number, by a beginning; `2-1` does not mean 2-10."""
    if wanted in stories:
        return [wanted]
    number = number_of(wanted)
    found = [key for key, identity in identify(stories).items() if identity.number == number]
    start = wanted.lower()
    return found or [key for key in stories if start and _begins(key.lower(), start)]


def _begins(key: str, start: str) -> bool:
    return key.startswith(start) and not (start[-1].isdigit() and key[len(start) :][:1].isdigit())


def complete_asked(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Silent, as all completion: whatever is broken completes nothing."""
    from click.shell_completion import CompletionItem

    from ..project.root import find_root
    from ..views.terminal import clean

    start = ctx.find_root().params.get("project") or "."
    try:
        first = all_open(runs_folder(find_root(start).path)).first
        found = [asked.question for asked in first if asked.question.story.startswith(incomplete)]
        return [CompletionItem(one.story, help=clean(one.question[:80])) for one in found[:100]]
    except Exception:
        return []

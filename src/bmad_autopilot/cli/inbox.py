"""Finds the open questions of a project. Works with a broken board or broken settings, so that questions can
always be answered."""

import time
from typing import TYPE_CHECKING, NamedTuple

import click

from ..board.sprint_status import find_row, read_board
from ..core.errors import AutopilotError, FileError, UsageError
from ..core.keys import identify, normalize_number
from ..core.statuses import RowKind
from ..project.project import Project
from ..runs.index import unfinished_runs
from ..runs.layout import runs_folder
from ..runs.questions import Inbox, PendingQuestion, load_inbox, questions_of
from ..runs.supervisor_lock import LockOwner, lock_owners
from ..views.questions import OpenQuestion
from .context import open_tolerant

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class ProjectInbox(NamedTuple):
    project: Project
    inbox: Inbox
    owner: LockOwner | None


def read_inbox(ctx: click.Context) -> ProjectInbox:
    project, _ = open_tolerant(ctx.obj[0])
    return ProjectInbox(
        project, load_inbox(runs_folder(project.root.path)), next(iter(lock_owners(project.state_folder)), None)
    )


def open_question(asked: PendingQuestion, inbox: Inbox) -> OpenQuestion:
    question = asked.question
    same = sum(other.question.story == question.story and other.run == asked.run for other in inbox.pending)
    several = len(inbox.runs_asking(question.story)) > 1
    return OpenQuestion(question, asked.run.id, max(0.0, time.time() - question.asked_at), same - 1, several)


def find_question(
    project_inbox: ProjectInbox, wanted: str, id: str | None = None, run: str | None = None
) -> PendingQuestion:
    """The oldest open question of a story, or the one with this id. If several runs ask about the story, the
    newest run is used unless `run` names one. Raises an error that lists the alternatives."""
    stories = list(dict.fromkeys(asked.question.story for asked in project_inbox.inbox.pending))
    found = matching_stories(stories, wanted)
    if len(found) > 1:
        raise UsageError(f"{wanted} names several stories", found=", ".join(found), hint="give the whole key")
    if not found:
        raise _no_question_error(project_inbox.project, wanted, stories)
    runs = [one for one in project_inbox.inbox.runs_asking(found[0]) if run is None or one.id.startswith(run)]
    if not runs or (run is not None and len(runs) > 1 and run not in [one.id for one in runs]):
        known = ", ".join(one.id for one in project_inbox.inbox.runs_asking(found[0]))
        raise UsageError(f"{'several runs' if runs else 'no run'} called {run} ask about {found[0]}", found=known)
    meant = next((one for one in runs if one.id == run), runs[0])
    of_story = [
        one for one in project_inbox.inbox.pending if one.question.story == found[0] and one.run.id == meant.id
    ]
    if id is None:
        return of_story[0]
    chosen = next((asked for asked in of_story if asked.question.id == id.lower()), None)
    if chosen is None:
        expected = ", ".join(asked.question.id for asked in of_story)
        raise UsageError(f"{found[0]} has no open question {id}", expected=expected, hint="bmad questions")
    return chosen


def _no_question_error(project: Project, wanted: str, stories: list[str]) -> AutopilotError:
    """The error for a story without a question. Raises another one if the board does not have the story."""
    others = f"open for: {', '.join(stories[:6])}" if stories else "no question is open in this project"
    try:
        board = read_board(project.require_board())
        kind = identify([wanted])[wanted].kind
        key = find_row(board, wanted, kind if kind in (RowKind.STORY, RowKind.EPIC) else RowKind.STORY).key
    except FileError:
        key = wanted
    last_answer = _last_answer(project, key)
    return AutopilotError(f"{key} has no open question", found=last_answer or others, hint="bmad questions")


def _last_answer(project: Project, story: str) -> str:
    """The story's latest answered question, if any."""
    for run in unfinished_runs(runs_folder(project.root.path)):
        given = [one for _, one in questions_of(run.folder)[0] if one.story == story and one.answer is not None]
        if given:
            return f"{given[-1].id} was answered: {(given[-1].answer or '')[:200]}"
    return ""


def matching_stories(stories: list[str], wanted: str) -> list[str]:
    """Match stories by key, by number, or by prefix; `2-1` does not match 2-10."""
    if wanted in stories:
        return [wanted]
    number = normalize_number(wanted)
    found = [key for key, identity in identify(stories).items() if identity.number == number]
    start = wanted.lower()
    return found or [key for key in stories if start and _is_prefix(key.lower(), start)]


def _is_prefix(key: str, start: str) -> bool:
    return key.startswith(start) and not (start[-1].isdigit() and key[len(start) :][:1].isdigit())


def complete_asking_story(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Completion must be silent: on any error it returns nothing."""
    from click.shell_completion import CompletionItem

    from ..core.text import printable
    from ..project.root import find_root

    start = ctx.find_root().params.get("project") or "."
    try:
        first = load_inbox(runs_folder(find_root(start).path)).next_per_story
        found = [asked.question for asked in first if asked.question.story.startswith(incomplete)]
        return [CompletionItem(one.story, help=printable(one.question[:80])) for one in found[:100]]
    except Exception:
        return []

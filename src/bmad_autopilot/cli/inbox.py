"""The questions that wait in a project, for the commands that show and answer them. Its board and its settings may
be broken: a question can be answered all the same."""

import time
from typing import TYPE_CHECKING, NamedTuple

import click

from ..core.keys import identify, number_of
from ..project.open import Project
from ..runs.layout import runs_folder
from ..runs.questions import Asked, Inbox, all_open
from ..runs.supervisor import Owner, owner
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
    return Waits(project, all_open(runs_folder(project.root.path)), owner(project.state_folder))


def waiting(asked: Asked, inbox: Inbox) -> Waiting:
    question = asked.question
    same = sum(other.question.story == question.story for other in inbox.asked)
    return Waiting(question, asked.run.id, max(0.0, time.time() - question.asked_at), same - 1)


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

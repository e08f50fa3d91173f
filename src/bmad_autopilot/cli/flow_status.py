"""`bmad status` where there is no board yet: the flow that leads to one, and the way from one to the other."""

import os
from typing import TYPE_CHECKING

import click

from ..core.errors import EXIT_DONE, EXIT_HUMAN, FileError
from ..engine.flows.standing import Looked, Standing, look_at_flows
from ..project.bmad import Era
from ..project.open import Project
from ..views.flow import document, render
from .facts import print_json, terminal
from .flow_view import flow_view

if TYPE_CHECKING:
    from ..views.flow import FlowView


def show_flow(ctx: click.Context, project: Project, *, as_json: bool, show_all: bool) -> None:
    """The FileError that there is no board, where there is no flow to tell of either."""
    looked = look_at_flows(project)
    standing = looked.chosen
    if standing is None or not _is_worth(project, standing):
        raise _no_board(project, looked)
    view = flow_view(looked, standing, looked.choice.why, show_all=show_all)
    if as_json:
        print_json(_document(project, view))
    else:
        out = terminal(ctx)
        name = os.path.basename(project.root.path)
        click.echo(f"{out.style(name, 'bold')}   {out.style('no board yet; its flow:', 'dim')}\n")
        click.echo("\n".join(render(view, out)))
    ctx.exit(EXIT_HUMAN if view.waits else EXIT_DONE)


def _is_worth(project: Project, standing: Standing) -> bool:
    """In a folder that nobody has begun anything in, they may have meant another one."""
    return standing.is_begun or project.bmad.era is not Era.NONE


def _no_board(project: Project, looked: Looked) -> FileError:
    try:
        project.require_board()
    except FileError as error:
        chosen = looked.choice.flow
        way = f"begin {chosen.name} here: bmad flow run" if chosen else "from an idea to a board: bmad flow list"
        hint = f"{error.hint}\n            {way}" if error.hint else way
        return FileError(error.message, place=error.place, found=error.found, expected=error.expected, hint=hint)
    raise AssertionError("a board is there, and was not found")


def _document(project: Project, view: "FlowView") -> dict[str, object]:
    counts = dict.fromkeys(("backlog", "ready-for-dev", "in-progress", "review", "done"), 0)
    told = document(view)
    return {
        "version": 1,
        "kind": "status",
        "project": {
            "root": project.root.path,
            "checkout": project.root.checkout,
            "name": os.path.basename(project.root.path),
            "bmad_version": project.bmad.version,
            "era": project.bmad.era.value,
            "board": None,
        },
        "counts": counts,
        "next": None,
        "retrospective": None,
        **{name: [] for name in ("risks", "drift", "action_items", "parked", "unrecognised")},
        "flow": {name: value for name, value in told.items() if name not in ("version", "kind")},
        "epics": [],
    }

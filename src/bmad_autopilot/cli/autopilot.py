"""bmad autopilot: epics to merged pull requests."""

import gc
import os
import time
from typing import TYPE_CHECKING, NoReturn

import click

from ..core.errors import EXIT_DONE
from .running_options import RunOptions, file_options

if TYPE_CHECKING:
    from ..engine.autopilot.lanes import Held
    from ..engine.autopilot.supervising import Ending
    from ..engine.autopilot.wishes import Wishes
    from ..engine.world.delivery import ForgeMaker
    from ..views.autopilot import Came, LeftAlone

MOST_NEXT = 4  # commands that are named at the end


@click.command()
@click.argument("patterns", nargs=-1, metavar="[PATTERN]…")
@click.option("--continue", "go_on", is_flag=True, help="Also go on with what was given up, or begun by others.")
@click.option("--draft", is_flag=True, help="Open pull requests as drafts: a person takes them out of that.")
@click.option(
    "--dry-run", is_flag=True, help="Only show which epics would be taken up, and how they are delivered."
)
@click.option("--rehearse", is_flag=True, hidden=True, help="GitHub is played here, on a bare repository.")
@file_options
@click.pass_context
def autopilot(
    ctx: click.Context,
    patterns: tuple[str, ...],
    go_on: bool,
    draft: bool,
    dry_run: bool,
    rehearse: bool,
    options: RunOptions,
) -> NoReturn:
    """Take epics to merged pull requests, one after another.

    Each gets a branch `feature/epic-ID`, its stories, a pull request, mends what reviewers and checks find, and is
    merged once it is green, answered and approved. While one waits for others, the next is begun.

    PATTERN: a regular expression, in any case, that an epic's number or title must hold; several: one of them."""
    from ..engine.autopilot.wishes import Wishes
    from ..engine.setting_out import Caps

    caps = Caps(options.max_cost, options.max_hours)
    wishes = Wishes(patterns, go_on, draft, caps, options.unattended, options.session)
    if dry_run:
        _show(ctx, wishes, as_json=options.as_json)
    fly(ctx, wishes, as_json=options.as_json, rehearse=rehearse)


def _show(ctx: click.Context, wishes: "Wishes", *, as_json: bool) -> NoReturn:
    from ..views import autopilot as view
    from .facts import gather, print_json, terminal
    from .outset import outset

    facts = gather(ctx)
    told = outset(facts.project, facts.board, wishes)
    if as_json:
        print_json({"version": 1, "event": "autopilot-plan", "at": time.time(), **view.outset_document(told)})
    else:
        click.echo("\n".join(view.outset_lines(told, terminal(ctx))))
    ctx.exit(EXIT_DONE)


def fly(ctx: click.Context, wishes: "Wishes", *, as_json: bool, rehearse: bool = False) -> NoReturn:
    from ..engine.autopilot.supervising import autopilot
    from ..views import autopilot as view
    from ..views.run_view import EventView
    from .facts import all_stories, gather, terminal
    from .outset import outset
    from .reader_gone import GONE, leaves_without_reader
    from .running import human_at, watching

    gc.enable()  # it may be here for a night
    facts = gather(ctx)
    project = facts.project
    begins = None if wishes.once else outset(project, facts.board, wishes)
    with watching(ctx, project, all_stories(facts), None, as_json=as_json) as shown, leaves_without_reader():
        shown.outlet.gone = GONE
        if begins is not None:
            if isinstance(shown, EventView):
                shown("autopilot-plan", view.outset_document(begins), time.time())
            shown.say([*view.outset_lines(begins, terminal(ctx)), ""])
        end = autopilot(project, wishes, told=shown, human=human_at(shown), forge=_played() if rehearse else None)
    came = _came(end, wishes.patterns, begins.left_alone if begins else ())
    if isinstance(shown, EventView):
        shown("autopilot-summary", view.came_document(came), time.time())
    gap = [""] if end.lanes or end.merged else []  # nothing was told since the last one
    shown.say([*gap, *view.came_lines(came, terminal(ctx))])
    shown.close()
    ctx.exit(end.exit_code)


def _played() -> "ForgeMaker":
    from ..sim.rehearsal import forge_for

    return forge_for


def _came(end: "Ending", patterns: tuple[str, ...], left_alone: "tuple[LeftAlone, ...]") -> "Came":
    from ..views.autopilot import Came, LaneTold

    lanes = tuple(
        LaneTold(held.lane.key, held.stage.value, held.pull, held.why, os.path.basename(held.folder))
        for held in end.lanes
    )
    return Came(end.exit_code, end.merged, lanes, tuple(_next(end.lanes, patterns, left_alone)), left_alone)


def _next(
    lanes: "tuple[Held, ...]", patterns: tuple[str, ...], left_alone: "tuple[LeftAlone, ...]" = ()
) -> list[tuple[str, str]]:
    from ..core.commands import command
    from ..runs.layout import SESSION

    stages = {held.stage.value for held in lanes}
    found = []
    if "asks" in stages:
        found.append(("bmad questions", "what is asked, and how to answer"))
    if lanes:
        purpose = "go on with all of them" if "blocked" not in stages else "once that is mended: go on"
        again = ("--continue",) if "blocked" in stages else ()
        session = lanes[0].lane.session
        again = again if session == SESSION else (*again, "--session", session)
        found.append((command("autopilot", *patterns, *again), purpose))  # the same epics, and no others
        if any(held.pull for held in lanes):
            found.append(("bmad pr status", "how the pull requests stand"))
    elif left_alone:
        found = list({one.command: (one.command, "once it can go on") for one in left_alone}.values())
    return found[:MOST_NEXT] or [("bmad status", "where the project stands")]

"""bmad autopilot: epics to merged pull requests."""

import gc
import os
import time
from typing import TYPE_CHECKING, NoReturn

import click

from ..core.errors import EXIT_DONE, UsageError
from ..project.config import MOST_AT_ONCE
from .bounds import bound_options
from .running_options import RunOptions, pilot_options

if TYPE_CHECKING:
    from ..engine.autopilot.budgets import Bounds
    from ..engine.autopilot.lanes import Held
    from ..engine.autopilot.supervising import Ending
    from ..engine.autopilot.wishes import Wishes
    from ..engine.world.delivery import ForgeMaker
    from ..views.autopilot import Came, LeftAlone, Outset
    from .facts import Facts

MOST_NEXT = 4  # commands that are named at the end


@click.command()
@click.argument("patterns", nargs=-1, metavar="[PATTERN]…")
@click.option("--continue", "go_on", is_flag=True, help="Also go on with what was given up, or begun by others.")
@click.option("--draft", is_flag=True, help="Open pull requests as drafts: a person takes them out of that.")
@click.option(
    "--parallel",
    type=click.IntRange(0, MOST_AT_ONCE),
    metavar="N",
    help="Up to N agents at once, each epic in a worktree; 0: one epic at a time, in the checkout. Unset: as in "
    "the settings.",
)
@bound_options
@click.option(
    "--dry-run", is_flag=True, help="Only show which epics would be taken up, and how they are delivered."
)
@click.option("--daemon", is_flag=True, help="Go on in the background; what it says is in .autopilot/daemon.log.")
@click.option("--rehearse", is_flag=True, hidden=True, help="GitHub is played here, on a bare repository.")
@pilot_options
@click.pass_context
def autopilot(
    ctx: click.Context,
    patterns: tuple[str, ...],
    go_on: bool,
    draft: bool,
    parallel: int | None,
    bounds: "Bounds",
    dry_run: bool,
    daemon: bool,
    rehearse: bool,
    options: RunOptions,
) -> NoReturn:
    """Take epics to merged pull requests, one after another or several at once.

    Each gets a branch `feature/epic-ID`, its stories, a pull request, mends what reviewers and checks find, and is
    merged once it is green, answered and approved. While one waits for others, the next is begun.

    A bound (--max-cost, --max-tokens, --max-hours, --until) is of the whole command: once it is met no new call is
    started, calls under way end and are taken in, and all is left paused, with exit code 3.

    PATTERN: a regular expression, in any case, that an epic's number or title must hold; several: one of them."""
    from ..engine.autopilot.wishes import Wishes

    if daemon and dry_run:
        raise UsageError("--daemon and --dry-run exclude each other")
    if daemon:
        from .daemon import start_daemon

        start_daemon(ctx, as_json=options.as_json)
    wishes = Wishes(patterns, go_on, draft, options.unattended, options.session, bounds=bounds)
    if dry_run:
        _show(ctx, wishes, parallel, as_json=options.as_json)
    fly(ctx, wishes, parallel, as_json=options.as_json, rehearse=rehearse)


def _show(ctx: click.Context, wishes: "Wishes", parallel: int | None, *, as_json: bool) -> NoReturn:
    from ..views import autopilot as view
    from .facts import gather_to_act, print_json, terminal

    facts, wishes = _settled(gather_to_act(ctx), wishes, parallel)
    told = _outset(facts, wishes)
    if as_json:
        print_json({"version": 1, "event": "autopilot-plan", "at": time.time(), **view.outset_document(told)})
    else:
        click.echo("\n".join(view.outset_lines(told, terminal(ctx))))
    ctx.exit(EXIT_DONE)


def _settled(facts: "Facts", wishes: "Wishes", parallel: int | None) -> "tuple[Facts, Wishes]":
    """As the base branch's settings have it where nothing is said: an agent's branch cannot have more of them."""
    from ..engine.policy import with_policy

    project = with_policy(facts.project, lambda kind, data, at: None)
    at_once = project.config.parallel if parallel is None else parallel
    return facts._replace(project=project), wishes._replace(parallel=at_once)


def _outset(facts: "Facts", wishes: "Wishes") -> "Outset":
    from .at_once import at_once, bounds_told
    from .outset import outset

    told = outset(facts.project, facts.board, wishes)
    return told._replace(at_once=at_once(facts, wishes), bounds=bounds_told(wishes.bounds))


def fly(
    ctx: click.Context, wishes: "Wishes", parallel: int | None = 0, *, as_json: bool, rehearse: bool = False
) -> NoReturn:
    from ..engine.autopilot.supervising import autopilot
    from ..views import autopilot as view
    from ..views.run_view import EventView
    from .facts import all_stories, gather_to_act, terminal
    from .reader_gone import GONE, leaves_without_reader
    from .running import human_at, watching

    gc.enable()  # it may be here for a night
    facts = gather_to_act(ctx)
    project = facts.project
    settled, wishes = _settled(facts, wishes, parallel)
    begins = None if wishes.once else _outset(settled, wishes)
    with watching(ctx, project, all_stories(facts), None, as_json=as_json) as shown, leaves_without_reader():
        shown.outlet.gone = GONE
        if begins is not None:
            if isinstance(shown, EventView):
                shown("autopilot-plan", view.outset_document(begins), time.time())
            shown.say([*view.outset_lines(begins, terminal(ctx)), ""])
        human = None if wishes.parallel else human_at(shown)  # several lanes could ask at once: `bmad answer`
        end = autopilot(project, wishes, told=shown, human=human, forge=_played() if rehearse else None)
    is_usual = wishes.once or wishes.parallel == settled.project.config.parallel
    again = () if is_usual else ("--parallel", str(wishes.parallel))
    came = _came(end, (*wishes.patterns, *again), wishes.session, begins.left_alone if begins else ())
    if isinstance(shown, EventView):
        shown("autopilot-summary", view.came_document(came), time.time())
    gap = [""] if came.lanes or end.merged else []  # nothing was told since the last one
    shown.say([*gap, *view.came_lines(came, terminal(ctx))])
    shown.close()
    ctx.exit(end.exit_code)


def _played() -> "ForgeMaker":
    from ..sim.rehearsal import forge_for

    return forge_for


def _came(end: "Ending", words: tuple[str, ...], session: str, left_alone: "tuple[LeftAlone, ...]") -> "Came":
    from ..views.autopilot import Came, LaneTold

    lanes = tuple(
        LaneTold(held.lane.key, held.stage.value, held.pull, held.why, os.path.basename(held.folder))
        for held in end.lanes
    )
    unbegun = tuple(LaneTold(key, "blocked", 0, one.why, "", one.hint) for key, one in end.given_up)
    cut = session if end.met or end.given_up else ""
    following = tuple(_next(end.lanes, words, left_alone, cut=cut, is_mended=bool(unbegun)))
    return Came(end.exit_code, end.merged, (*lanes, *unbegun), following, left_alone, end.met)


def _next(
    lanes: "tuple[Held, ...]",
    words: tuple[str, ...],
    left_alone: "tuple[LeftAlone, ...]" = (),
    *,
    cut: str = "",
    is_mended: bool = False,
) -> list[tuple[str, str]]:
    """`words`: what it was called with, so that the same epics are gone on with and no others. `cut`: there
    is more to do in this session, beside the lanes. `is_mended`: once somebody has seen to it."""
    from ..core.commands import command
    from ..runs.layout import SESSION

    stages = {held.stage.value for held in lanes}
    found = []
    if "asks" in stages:
        found.append(("bmad questions", "what is asked, and how to answer"))
    if lanes or cut:
        is_mended = is_mended or "blocked" in stages
        purpose = "once that is mended: go on" if is_mended else "go on with all of them"
        again = ("--continue",) if "blocked" in stages else ()
        session = lanes[0].lane.session if lanes else cut
        again = again if session == SESSION else (*again, "--session", session)
        found.append((command("autopilot", *words, *again), purpose))
        if any(held.pull for held in lanes):
            found.append(("bmad pr status", "how the pull requests stand"))
    elif left_alone:
        found = list({one.command: (one.command, "once it can go on") for one in left_alone}.values())
    return found[:MOST_NEXT] or [("bmad status", "where the project stands")]

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
    from ..project.open import Project
    from ..views.autopilot import Came, Outset


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

    if dry_run:
        _show(ctx, patterns, as_json=options.as_json)
    caps = Caps(options.max_cost, options.max_hours)
    wishes = Wishes(patterns, go_on, draft, caps, options.unattended, options.session)
    fly(ctx, wishes, as_json=options.as_json, rehearse=rehearse)


def _show(ctx: click.Context, patterns: tuple[str, ...], *, as_json: bool) -> NoReturn:
    from ..views import autopilot as view
    from .facts import gather, print_json, terminal

    facts = gather(ctx)
    outset = _outset(facts.project, facts.epics, patterns)
    if as_json:
        print_json({"version": 1, "event": "autopilot-plan", "at": time.time(), **view.outset_document(outset)})
    else:
        click.echo("\n".join(view.outset_lines(outset, terminal(ctx))))
    ctx.exit(EXIT_DONE)


def fly(ctx: click.Context, wishes: "Wishes", *, as_json: bool, rehearse: bool = False) -> NoReturn:
    from ..engine.autopilot.supervising import autopilot
    from ..views import autopilot as view
    from ..views.run_view import EventView
    from .facts import all_stories, gather, terminal
    from .running import human_at, watching

    gc.enable()  # it may be here for a night
    facts = gather(ctx)
    project = facts.project
    with watching(ctx, project, all_stories(facts), None, as_json=as_json) as shown:
        if not wishes.once:
            outset = _outset(project, facts.epics, wishes.patterns)
            if isinstance(shown, EventView):
                shown("autopilot-plan", view.outset_document(outset), time.time())
            shown.say([*view.outset_lines(outset, terminal(ctx)), ""])
        end = autopilot(project, wishes, told=shown, human=human_at(shown), forge=_played() if rehearse else None)
    came = _came(end)
    if isinstance(shown, EventView):
        shown("autopilot-summary", view.came_document(came), time.time())
    shown.say(["", *view.came_lines(came, terminal(ctx))])
    shown.close()
    ctx.exit(end.exit_code)


def _played() -> "ForgeMaker":
    from ..sim.rehearsal import forge_for

    return forge_for


def _outset(project: "Project", epics: list, patterns: tuple[str, ...]) -> "Outset":  # type: ignore[type-arg]
    from ..core.schedule import Candidate, matches
    from ..core.statuses import DONE
    from ..engine.autopilot.finding import check_patterns, epic_titles
    from ..engine.policy import checks_of, with_policy
    from ..views.autopilot import Outset, Planned

    check_patterns(patterns)
    project = with_policy(project, lambda kind, data, at: None)
    config, titles = project.config, epic_titles(project)
    found = []
    for epic in epics:
        if epic.number is None or epic.is_closed:
            continue
        one = Candidate(epic.key, epic.number, titles.get(epic.number, ""))
        if matches(patterns, one):
            left = sum(row.meaning != DONE for row in epic.stories)
            found.append(Planned(one.key, one.title, f"{left} of {len(epic.stories)} stories left"))
    goes_to = "merged here, without a forge" if config.delivery == "local" else "a pull request each"
    return Outset(
        tuple(found),
        goes_to,
        _MERGES[config.merge] + _REVIEWS[config.require_review] * (config.delivery != "local"),
        "each epic begins on the one before it" if config.dependencies == "order" else "each begins on the base",
        ", ".join(dict.fromkeys(config.agent_of(role) for role in config.roles)),
        ", ".join(checks_of(project)) or "none configured: no command of the project's own is run",
    )


_MERGES = {
    "when-approved": "once green, answered and approved",
    "manual": "by a person",
    "auto": "once green and answered",
}
_REVIEWS = {"copilot": ", after Copilot's review", "human": "", "none": ""}


def _came(end: "Ending") -> "Came":
    from ..views.autopilot import Came, LaneTold

    lanes = tuple(
        LaneTold(held.lane.key, held.stage.value, held.pull, held.why, os.path.basename(held.folder))
        for held in end.lanes
    )
    return Came(end.exit_code, end.merged, lanes, tuple(_next(end.lanes)))


def _next(lanes: "tuple[Held, ...]") -> list[tuple[str, str]]:
    stages = {held.stage.value for held in lanes}
    found = []
    if "asks" in stages:
        found.append(("bmad questions", "what is asked, and how to answer"))
    if lanes:
        purpose = "go on with all of them" if "blocked" not in stages else "once that is mended: go on"
        found.append(("bmad autopilot --continue" if "blocked" in stages else "bmad autopilot", purpose))
        found.append(("bmad pr status", "how the pull requests stand"))
    return found or [("bmad status", "where the project stands")]

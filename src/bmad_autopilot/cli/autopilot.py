"""bmad autopilot: epics to merged pull requests."""

import gc
import os
import time
from typing import TYPE_CHECKING, NoReturn

import click

from ..core.errors import EXIT_DONE
from .running_options import RunOptions, file_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..board.overview import EpicView
    from ..engine.autopilot.lanes import Held
    from ..engine.autopilot.supervising import Ending
    from ..engine.autopilot.wishes import Wishes
    from ..engine.world.delivery import ForgeMaker
    from ..project.config import Config
    from ..project.open import Project
    from ..views.autopilot import Came, Outset, Planned


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

    facts = gather(ctx)
    outset = _outset(facts.project, facts.epics, wishes)
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
            outset = _outset(project, facts.epics, wishes)
            if isinstance(shown, EventView):
                shown("autopilot-plan", view.outset_document(outset), time.time())
            shown.say([*view.outset_lines(outset, terminal(ctx)), ""])
        end = autopilot(project, wishes, told=shown, human=human_at(shown), forge=_played() if rehearse else None)
    came = _came(end, wishes.patterns)
    if isinstance(shown, EventView):
        shown("autopilot-summary", view.came_document(came), time.time())
    shown.say(["", *view.came_lines(came, terminal(ctx))])
    shown.close()
    ctx.exit(end.exit_code)


def _played() -> "ForgeMaker":
    from ..sim.rehearsal import forge_for

    return forge_for


def _outset(project: "Project", epics: "list[EpicView]", wishes: "Wishes") -> "Outset":
    from ..core.schedule import Candidate, matches
    from ..core.statuses import DONE
    from ..engine.autopilot.finding import check_patterns, epic_titles
    from ..engine.policy import checks_of, with_policy
    from ..views.autopilot import Outset, Planned

    check_patterns(wishes.patterns)
    project = with_policy(project, lambda kind, data, at: None)
    config, titles = project.config, epic_titles(project)
    known = [
        (epic, Candidate(epic.key, epic.number, titles.get(epic.number, ""))) for epic in epics if epic.number
    ]
    found = _pending(project, wishes, titles)
    for epic, one in known:
        if not epic.is_closed and matches(wishes.patterns, one):
            left = sum(row.meaning != DONE for row in epic.stories)
            found.append(Planned(one.key, one.title, f"{left} of {len(epic.stories)} stories left"))
    goes_to = "merged here, without a forge" if config.delivery == "local" else "a pull request each"
    return Outset(
        tuple(found),
        goes_to,
        _merges(config),
        "each epic begins on the one before it" if config.dependencies == "order" else "each begins on the base",
        ", ".join(dict.fromkeys(config.agent_of(role) for role in config.roles)),
        ", ".join(checks_of(project)) or "none configured: no command of the project's own is run",
        tuple(text for text in wishes.patterns if not any(matches((text,), one) for _, one in known)),
    )


def _pending(project: "Project", wishes: "Wishes", titles: "Mapping[str, str]") -> "list[Planned]":
    """Epics that earlier commands left on their way to the base branch: they come first, whatever is chosen."""
    from ..core.schedule import Stage
    from ..engine.autopilot.lanes import held_lanes
    from ..runs.layout import runs_folder
    from ..views.autopilot import Planned

    found = []
    for held in held_lanes(runs_folder(project.root.path), wishes.session, go_on=wishes.go_on):
        if held.is_delivered:
            pull = f"pull request #{held.pull}" if held.pull else "its stories are over"
            told = "given up: --continue" if held.stage is Stage.BLOCKED else "gone on with"
            found.append(Planned(held.lane.key, titles.get(held.lane.epic or "", ""), f"{pull}, {told}"))
    return found


_MERGES = {
    "when-approved": "once green, answered and approved",
    "manual": "by a person",
    "auto": "once green and answered",
}
_REVIEWS = {"copilot": ", after Copilot's review", "human": "", "none": ""}


def _merges(config: "Config") -> str:
    """Without a forge there is nobody who could review or approve."""
    if config.delivery == "local":
        return _MERGES["manual"] if config.merge == "manual" else "once the checks pass here"
    return _MERGES[config.merge] + _REVIEWS[config.require_review]


def _came(end: "Ending", patterns: tuple[str, ...]) -> "Came":
    from ..views.autopilot import Came, LaneTold

    lanes = tuple(
        LaneTold(held.lane.key, held.stage.value, held.pull, held.why, os.path.basename(held.folder))
        for held in end.lanes
    )
    return Came(end.exit_code, end.merged, lanes, tuple(_next(end.lanes, patterns)))


def _next(lanes: "tuple[Held, ...]", patterns: tuple[str, ...]) -> list[tuple[str, str]]:
    from ..core.commands import command

    stages = {held.stage.value for held in lanes}
    found = []
    if "asks" in stages:
        found.append(("bmad questions", "what is asked, and how to answer"))
    if lanes:
        purpose = "go on with all of them" if "blocked" not in stages else "once that is mended: go on"
        again = ("--continue",) if "blocked" in stages else ()
        found.append((command("autopilot", *patterns, *again), purpose))  # the same epics, and no others
        if any(held.pull for held in lanes):
            found.append(("bmad pr status", "how the pull requests stand"))
    return found or [("bmad status", "where the project stands")]

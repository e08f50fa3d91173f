"""bmad autopilot: take epics to merged pull requests."""

import gc
import os
import time
from typing import TYPE_CHECKING, NoReturn

import click

from ..board.epic_dependencies import ORDER
from ..core.errors import EXIT_DONE, UsageError
from ..engine.autopilot.options import AutopilotOptions, Bounds
from ..git.git import Git
from ..git.worktrees.site import worktrees_folder
from ..project.config import MAX_PARALLEL
from ..project.project import Project
from .context import ProjectFacts
from .run_options import RunOptions, bound_options, pilot_options

if TYPE_CHECKING:
    from ..engine.autopilot.lanes import LaneState
    from ..engine.autopilot.supervisor import AutopilotResult
    from ..engine.world.delivery import ForgeFactory
    from ..views.autopilot import AutopilotPreview, AutopilotReport, SkippedEpic


MAX_NEXT_COMMANDS = 4  # next commands in the report


@click.command()
@click.argument("patterns", nargs=-1, metavar="[PATTERN]…")
@click.option("--continue", "go_on", is_flag=True, help="Also go on with what was given up, or begun by others.")
@click.option("--draft", is_flag=True, help="Open pull requests as drafts: a person takes them out of that.")
@click.option(
    "--parallel",
    type=click.IntRange(0, MAX_PARALLEL),
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

    if daemon and dry_run:
        raise UsageError("--daemon and --dry-run exclude each other")
    if daemon:
        from .daemon import start_daemon

        start_daemon(ctx, as_json=options.as_json)
    autopilot_options = AutopilotOptions(
        patterns, go_on, draft, options.unattended, options.session, bounds=bounds
    )
    if dry_run:
        _show(ctx, autopilot_options, parallel, as_json=options.as_json)
    run_autopilot(ctx, autopilot_options, parallel, as_json=options.as_json, rehearse=rehearse)


def _show(
    ctx: click.Context, autopilot_options: "AutopilotOptions", parallel: int | None, *, as_json: bool
) -> NoReturn:
    from ..views import autopilot as view
    from .context import gather_facts_to_act, print_event, terminal

    facts, autopilot_options = _with_base_policy(gather_facts_to_act(ctx), autopilot_options, parallel)
    preview = _preview(facts, autopilot_options)
    if as_json:
        print_event("autopilot-plan", view.preview_document(preview))
    else:
        click.echo("\n".join(view.preview_lines(preview, terminal(ctx))))
    ctx.exit(EXIT_DONE)


def _with_base_policy(
    facts: "ProjectFacts", autopilot_options: "AutopilotOptions", parallel: int | None
) -> "tuple[ProjectFacts, AutopilotOptions]":
    """Apply the base branch's settings, so that an agent's branch cannot raise its own parallelism."""
    from ..engine.policy import with_base_settings

    project = with_base_settings(facts.project, lambda kind, data, at: None)
    at_once = project.config.parallel if parallel is None else parallel
    return facts._replace(project=project), autopilot_options._replace(parallel=at_once)


def _preview(facts: "ProjectFacts", autopilot_options: "AutopilotOptions") -> "AutopilotPreview":
    from .autopilot_preview import build_preview

    preview = build_preview(facts.project, facts.board, autopilot_options)
    return preview._replace(
        parallel=parallel_text(facts, autopilot_options), bounds=bounds_text(autopilot_options.bounds)
    )


def run_autopilot(
    ctx: click.Context,
    autopilot_options: "AutopilotOptions",
    parallel: int | None = 0,
    *,
    as_json: bool,
    rehearse: bool = False,
) -> NoReturn:
    from ..engine.autopilot.supervisor import run_autopilot
    from ..views import autopilot as view
    from ..views.run_view import EventView
    from .context import all_stories, gather_facts_to_act, terminal
    from .daemon import CLOSED_MESSAGE, stop_when_output_closes
    from .run_session import prompter_for, watch_run

    gc.enable()  # it may run all night
    facts = gather_facts_to_act(ctx)
    project = facts.project
    settled, autopilot_options = _with_base_policy(facts, autopilot_options, parallel)
    preview = None if autopilot_options.once else _preview(settled, autopilot_options)
    with watch_run(ctx, project, all_stories(facts), None, as_json=as_json) as run_view, stop_when_output_closes():
        run_view.output.closed_message = CLOSED_MESSAGE
        if preview is not None:
            if isinstance(run_view, EventView):
                run_view("autopilot-plan", view.preview_document(preview), time.time())
            run_view.print_lines([*view.preview_lines(preview, terminal(ctx)), ""])
        human = (
            None if autopilot_options.parallel else prompter_for(run_view)
        )  # several lanes may ask at the same time: use `bmad answer`
        end = run_autopilot(
            project,
            autopilot_options,
            on_event=run_view,
            human=human,
            forge=_simulated_forge() if rehearse else None,
        )
    is_usual = autopilot_options.once or autopilot_options.parallel == settled.project.config.parallel
    again = () if is_usual else ("--parallel", str(autopilot_options.parallel))
    report = _report(
        end, (*autopilot_options.patterns, *again), autopilot_options.session, preview.skipped if preview else ()
    )
    if isinstance(run_view, EventView):
        run_view("autopilot-summary", view.report_document(report), time.time())
    gap = [""] if report.lanes or end.merged else []  # no gap if nothing was printed since the preview
    run_view.print_lines([*gap, *view.report_lines(report, terminal(ctx))])
    run_view.close()
    ctx.exit(end.exit_code)


def _simulated_forge() -> "ForgeFactory":
    from ..sim.demo_github import demo_forge

    return demo_forge


def _report(
    end: "AutopilotResult", words: tuple[str, ...], session: str, skipped: "tuple[SkippedEpic, ...]"
) -> "AutopilotReport":
    from ..views.autopilot import AutopilotReport, LaneReport

    lanes = tuple(
        LaneReport(
            lane_state.lane.key,
            lane_state.stage.value,
            lane_state.pull,
            lane_state.why,
            os.path.basename(lane_state.folder),
        )
        for lane_state in end.lanes
    )
    unbegun = tuple(LaneReport(key, "blocked", 0, one.why, "", one.hint) for key, one in end.failed_starts)
    cut = session if end.limit_reached or end.failed_starts else ""
    following = tuple(_next_commands(end.lanes, words, skipped, open_session=cut, needs_fix=bool(unbegun)))
    return AutopilotReport(end.exit_code, end.merged, (*lanes, *unbegun), following, skipped, end.limit_reached)


def _next_commands(
    lanes: "tuple[LaneState, ...]",
    words: tuple[str, ...],
    skipped: "tuple[SkippedEpic, ...]" = (),
    *,
    open_session: str = "",
    needs_fix: bool = False,
) -> list[tuple[str, str]]:
    """`words`: the original arguments, so that the same epics are resumed. `open_session`: a session with more
    work than these lanes. `needs_fix`: the user must fix something first."""
    from ..core.errors import command
    from ..runs.layout import SESSION

    stages = {lane_state.stage.value for lane_state in lanes}
    found = []
    if "asks" in stages:
        found.append(("bmad questions", "what is asked, and how to answer"))
    if lanes or open_session:
        needs_fix = needs_fix or "blocked" in stages
        purpose = "once that is mended: go on" if needs_fix else "go on with all of them"
        again = ("--continue",) if "blocked" in stages else ()
        session = lanes[0].lane.session if lanes else open_session
        again = again if session == SESSION else (*again, "--session", session)
        found.append((command("autopilot", *words, *again), purpose))
        if any(lane_state.pull for lane_state in lanes):
            found.append(("bmad pr status", "how the pull requests stand"))
    elif skipped:
        found = list({one.command: (one.command, "once it can go on") for one in skipped}.values())
    return found[:MAX_NEXT_COMMANDS] or [("bmad status", "where the project stands")]


# The "parallel" and "until" rows of the preview.


def parallel_text(facts: ProjectFacts, autopilot_options: AutopilotOptions) -> str:
    """`facts`: with the base branch's settings."""
    if not autopilot_options.parallel:
        return ""
    project = facts.project
    many = "one agent" if autopilot_options.parallel == 1 else f"up to {autopilot_options.parallel} agents at once"
    preview = f"{many}, each epic in a worktree below {_folder(project)}"
    if autopilot_options.parallel == 1 or project.config.dependencies != ORDER:
        return preview
    return f'{preview}; dependencies = "order": one epic is developed at a time{_gain(facts, autopilot_options)}'


def _folder(project: Project) -> str:
    own = project.config.worktrees.folder
    tree = Git(project.root.checkout).work_tree
    if own is not None or tree is None:
        return own or "the checkout's neighbour"
    return os.path.relpath(worktrees_folder(tree, own), project.root.path)


def _gain(facts: ProjectFacts, autopilot_options: AutopilotOptions) -> str:
    from ..core.errors import command
    from ..views.plan import duration
    from .plan import epic_plan

    view = epic_plan(facts, autopilot_options.patterns, autopilot_options.parallel)
    asks = command("plan", "--parallel", str(autopilot_options.parallel), *autopilot_options.patterns)
    if view.declared is None:
        return f" ({asks})"
    seconds = duration(view.declared.seconds), duration(view.seconds.middle)
    return f'; with "declared" about {seconds[0]} instead of {seconds[1]} ({asks})'


def bounds_text(bounds: Bounds) -> str:
    cost = f"--max-cost {bounds.dollars:g}" if bounds.dollars is not None else ""
    tokens = f"--max-tokens {bounds.tokens}" if bounds.tokens is not None else ""
    named = ", ".join(filter(None, (cost, tokens, bounds.clock)))
    return f"{named}: then no more calls are started, and all is left paused" if named else ""

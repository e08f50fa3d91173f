"""bmad resume: resume an unfinished run, fork one from a checkpoint, or adopt another tool's run."""

import gc
import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

import click

from ..board.overview import epic_views
from ..board.sprint_status import Row, read_board
from ..core.errors import EXIT_DONE, FileError, UsageError
from ..core.lane_scope import LaneScope
from ..core.statuses import DONE
from ..core.text import printable
from ..engine.run_setup import ForeignRunActive
from ..project.project import Project
from ..runs.checkpoints import refuse_interrupted_fork
from ..runs.index import Run, find_run, refuse_unreadable, stale_runs, unfinished_runs
from ..runs.layout import runs_folder
from ..runs.legacy_state import EpicStatus, ForeignRun, find_foreign_run, read_epic_state, write_epic_state
from ..runs.state_file import RunStatus
from .context import current_project, display_path, print_json, terminal
from .control import unpause
from .run_options import on_blocked

if TYPE_CHECKING:
    from ..runs.checkpoints import Checkpoint
    from .run_session import RunRequest


@click.command()
@click.option("--run", metavar="RUN", help="Another run: its name, or the beginning of one that only one run has.")
@click.option("--list", "lists", is_flag=True, help="Only list the checkpoints one can go back to.")
@click.option(
    "--checkpoint", metavar="ID", help="Go back: a new run on a branch of its own, from this checkpoint."
)
@click.option("--adopt", is_flag=True, help="Go on where another tool's run stood: /run-epic, or the bash script.")
@on_blocked
@click.option("--json", "as_json", is_flag=True, help="Print events, one JSON object a line (a list: one).")
@click.pass_context
def resume(
    ctx: click.Context,
    run: str | None,
    lists: bool,
    checkpoint: str | None,
    adopt: bool,
    unattended: Mapping[str, str],
    as_json: bool,
) -> None:
    """Go on with the newest run that is running, failed or paused, exactly where it was. An agent that still works
    is adopted. What `bmad pause --run` or `bmad stop --run` has parked beside others goes on under the autopilot
    that looks after it.

    --checkpoint goes back instead: the work tree, the board's rows and the variables as they were then, in a new
    run on a new branch. The old run stays as it is, and what lies in the work tree now is saved first."""
    if sum((run is not None, lists, checkpoint is not None, adopt)) > 1:
        raise UsageError("--run, --list, --checkpoint and --adopt exclude each other")
    project = current_project(ctx)
    if not lists:
        project.bmad.require_supported()
    if lists:
        _list(ctx, project, as_json=as_json)
    elif checkpoint is not None:
        _resume_from_checkpoint(ctx, project, checkpoint, as_json=as_json)
    elif adopt:
        _adopt(ctx, project, unattended, as_json=as_json)
    elif not unpause(project, run):
        meant = _find_run_to_resume(ctx, project, run)
        if meant.is_protocol:
            _print_protocol_resume(ctx, project, meant, as_json=as_json)
        else:
            continue_run(ctx, project, meant, unattended, as_json=as_json)


def continue_run(
    ctx: click.Context, project: Project, run: Run, unattended: Mapping[str, str], *, as_json: bool
) -> NoReturn:
    from ..engine.autopilot.checkouts import open_lane_project, remove_merged_worktree
    from ..engine.resume import resume_run
    from ..engine.runner import lane_of_run
    from .run_session import finish, prompter_for, watch_run

    gc.enable()  # it may run all night
    lane_project = open_lane_project(project, lane_of_run(run))
    with watch_run(ctx, lane_project, _rows(lane_project, run), run, as_json=as_json) as view:
        end = resume_run(lane_project, run, on_event=view, human=prompter_for(view), unattended=unattended)
        remove_merged_worktree(lane_project, end, lambda text: view("notice", {"text": text}, time.time()))
    is_there = os.path.isdir(lane_project.root.checkout)
    finish(ctx, lane_project if is_there else project, end, view)


def _resume_from_checkpoint(ctx: click.Context, project: Project, wanted: str, *, as_json: bool) -> NoReturn:
    from ..engine.resume import resume_fork
    from ..runs.checkpoints import entries_until, find_checkpoint
    from .run_session import finish, prompter_for, watch_run

    gc.enable()
    runs = runs_folder(project.root.path)
    at = find_checkpoint(runs, wanted)
    before = find_run(runs, f"{at.session}/{at.run}")
    if before.is_protocol:
        _fork_protocol_run(ctx, project, at, as_json=as_json)
    with watch_run(ctx, project, _rows(project, before), None, as_json=as_json) as view:
        view.replay((one.kind, one.data, one.at) for one in entries_until(at))
        end = resume_fork(project, at, on_event=view, human=prompter_for(view))
    finish(ctx, project, end, view)


def _fork_protocol_run(ctx: click.Context, project: Project, at: "Checkpoint", *, as_json: bool) -> NoReturn:
    """Fork a protocol run. bmad does not drive the fork either: the caller continues it."""
    from ..engine.resume import fork_protocol
    from ..views.run_log import RunLog

    fork = fork_protocol(project, at)
    if not as_json:
        for line in RunLog({}).lines("forked", fork.event_data, time.time()):
            click.echo(printable(line.word))
    _print_protocol_resume(ctx, project, find_run(runs_folder(project.root.path), fork.run_id), as_json=as_json)
    ctx.exit(EXIT_DONE)


def _find_run_to_resume(ctx: click.Context, project: Project, wanted: str | None) -> Run:
    runs = runs_folder(project.root.path)
    if wanted is not None:
        run = find_run(runs, wanted)
        if run.state.status is RunStatus.COMPLETED or run.is_archived:
            what = "in the archive" if run.is_archived else "completed"
            hint = "bmad resume --list shows the checkpoints one can go back to"
            raise UsageError(
                f"run {run.id} is {what}", expected="one that is running, failed or paused", hint=hint
            )
        return run
    found = unfinished_runs(runs)
    if found:
        return found[0]
    refuse_interrupted_fork(project.root.checkout, runs)  # a fork that was interrupted before its run existed
    refuse_unreadable(runs)
    left = find_foreign_run(project.root.path, project.folders.implementation)
    hint = "bmad status says what comes next"
    if left is not None:
        at = " at ".join(filter(None, (left.epic, left.story or left.phase)))
        hint = f"{left.tool} has left one behind ({at}): bmad resume --adopt goes on with it"
    raise UsageError("there is nothing to resume: no run is running, failed or paused", hint=hint)


def _adopt(ctx: click.Context, project: Project, unattended: Mapping[str, str], *, as_json: bool) -> NoReturn:
    """Start a run of the epic that another tool left unfinished."""
    from .context import find_epic, gather_facts
    from .run_options import RunOptions
    from .run_session import RunRequest, run

    left = find_foreign_run(project.root.path, project.folders.implementation)
    if left is None or not left.epic:
        problem = f"{left.path}: {left.problem}" if left and left.problem else "no other tool has left a run here"
        raise UsageError(problem, hint="bmad status says what comes next")
    facts = gather_facts(ctx)
    view = find_epic(facts, left.epic)
    rows = [row for row in view.stories if row.meaning != DONE]
    title = f"{view.key}, left by {left.tool}: {len(rows)} of {len(view.stories)} stories left"
    options = RunOptions(as_json=as_json, unattended=unattended, adopt=True)
    run(ctx, facts, RunRequest(LaneScope.EPIC, view.key, title, rows), options)


def _print_protocol_resume(ctx: click.Context, project: Project, run: Run, *, as_json: bool) -> None:
    """Print what an agent needs to continue a protocol run, which bmad does not drive."""
    from ..runs.checkpoint_protocol import load_protocol_resume
    from ..views.run_details import render_protocol_resume

    found = load_protocol_resume(run.folder)
    assert found is not None, run.folder
    if as_json:
        print_json("protocol-resume", found)
    else:
        click.echo("\n".join(render_protocol_resume(found, terminal(ctx))))


def _list(ctx: click.Context, project: Project, *, as_json: bool) -> None:
    from ..runs.checkpoints import all_checkpoints
    from ..views.run_details import checkpoint_list, render_checkpoints

    found = all_checkpoints(runs_folder(project.root.path))
    if as_json:
        print_json("checkpoints", checkpoint_list(found))
    else:
        click.echo(
            "\n".join(
                render_checkpoints(found, terminal(ctx), display_path(project, runs_folder(project.root.path)))
            )
        )


def _rows(project: Project, run: Run) -> list[Row]:
    """The board rows of the run's stories."""
    try:
        epics = epic_views(read_board(project.require_board()))
    except FileError:
        return []
    own = next((epic.stories for epic in epics if epic.key == run.target), None)
    return own or [row for epic in epics for row in epic.stories if row.key == run.target]


# Before a new run: offer to resume or stop a run that was left running.

RESUME, STOP = "resume", "stop"


def offer_resume(project: Project, request: "RunRequest") -> Run | None:
    """The interrupted run the user chose to resume instead. A run of the same target is resumed without asking;
    the others are set to paused when the new run starts."""
    found = stale_runs(runs_folder(project.root.path), project.state_folder)
    if not found or any(run.target == request.key for run in found):
        return None
    run = found[0]
    click.echo(printable(f"Run {run.id} of {run.target} was cut short, and still calls itself running."), err=True)
    choice = _choose(f"Resume it, or stop it and go on with {printable(request.key)}?")
    return run if choice == RESUME else None


def offer_adoption(left: ForeignRunActive) -> bool:
    """True: adopt the other tool's run. False: it was set to paused."""
    click.echo(printable(f"{left.message}: {left.found}."), err=True)
    if _choose("Resume it here, or stop it?") == RESUME:
        return True
    pause_left_behind(left.left)
    return False


def pause_left_behind(left: ForeignRun) -> None:
    state = read_epic_state(left.path) if os.path.exists(left.path) else None
    if state is not None:
        write_epic_state(left.path, state._replace(status=EpicStatus.PAUSED))


def _choose(question: str) -> str:
    choice: str = click.prompt(
        f"{question} [r/s]", type=click.Choice(["r", "s"]), show_choices=False, default="r", err=True
    )
    return RESUME if choice == "r" else STOP

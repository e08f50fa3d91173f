"""bmad resume: go on with a run that is not over, or from any checkpoint."""

import gc
import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

import click

from ..board.overview import overview
from ..board.sprint import Row, read_board
from ..core.errors import EXIT_DONE, FileError, UsageError
from ..core.statuses import DONE
from ..project.open import Project
from ..runs.adoption import left_behind
from ..runs.finding import Run, find_run, refuse_unreadable, unfinished
from ..runs.half_forks import refuse_half
from ..runs.layout import runs_folder
from ..runs.state import Status
from ..views.terminal import clean
from .facts import print_json, shown_path, terminal, the_project
from .letting_go_on import let_go_on
from .running_options import on_blocked

if TYPE_CHECKING:
    from ..runs.checkpoints import Checkpoint


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
    project = the_project(ctx)
    if not lists:
        project.bmad.require_supported()
    if lists:
        _list(ctx, project, as_json=as_json)
    elif checkpoint is not None:
        _go_back(ctx, project, checkpoint, as_json=as_json)
    elif adopt:
        _adopt(ctx, project, unattended, as_json=as_json)
    elif not let_go_on(project, run):
        meant = _meant(ctx, project, run)
        if meant.is_protocol:
            _tell_protocol(ctx, project, meant, as_json=as_json)
        else:
            go_on_with(ctx, project, meant, unattended, as_json=as_json)


def go_on_with(
    ctx: click.Context, project: Project, run: Run, unattended: Mapping[str, str], *, as_json: bool
) -> NoReturn:
    from ..engine.driving import lane_of
    from ..engine.own_place import at_its_place, leave_its_place
    from ..engine.resuming import resume_run
    from .running import finish, human_at, watching

    gc.enable()  # it may be here for a night
    place = at_its_place(project, lane_of(run))
    with watching(ctx, place, _rows(place, run), run, as_json=as_json) as view:
        end = resume_run(place, run, told=view, human=human_at(view), unattended=unattended)
        leave_its_place(place, end, lambda text: view("notice", {"text": text}, time.time()))
    is_there = os.path.isdir(place.root.checkout)
    finish(ctx, place if is_there else project, end, view)


def _go_back(ctx: click.Context, project: Project, wanted: str, *, as_json: bool) -> NoReturn:
    from ..engine.resuming import resume_fork
    from ..runs.checkpoints import entries_until, find_checkpoint
    from .running import finish, human_at, watching

    gc.enable()
    runs = runs_folder(project.root.path)
    at = find_checkpoint(runs, wanted)
    before = find_run(runs, f"{at.session}/{at.run}")
    if before.is_protocol:
        _go_back_in_protocol(ctx, project, at, as_json=as_json)
    with watching(ctx, project, _rows(project, before), None, as_json=as_json) as view:
        view.catch_up((one.kind, one.data, one.at) for one in entries_until(at))
        end = resume_fork(project, at, told=view, human=human_at(view))
    finish(ctx, project, end, view)


def _go_back_in_protocol(ctx: click.Context, project: Project, at: "Checkpoint", *, as_json: bool) -> NoReturn:
    """Nobody drives the new run either: whoever asked goes on with it."""
    from ..engine.resuming import fork_protocol
    from ..views.run_log import RunLog

    fork = fork_protocol(project, at)
    if not as_json:
        for line in RunLog({}).lines("forked", fork.said, time.time()):
            click.echo(clean(line.word))
    _tell_protocol(ctx, project, find_run(runs_folder(project.root.path), fork.run_id), as_json=as_json)
    ctx.exit(EXIT_DONE)


def _meant(ctx: click.Context, project: Project, wanted: str | None) -> Run:
    runs = runs_folder(project.root.path)
    if wanted is not None:
        run = find_run(runs, wanted)
        if run.state.status is Status.COMPLETED or run.is_archived:
            what = "in the archive" if run.is_archived else "completed"
            hint = "bmad resume --list shows the checkpoints one can go back to"
            raise UsageError(
                f"run {run.id} is {what}", expected="one that is running, failed or paused", hint=hint
            )
        return run
    found = unfinished(runs)
    if found:
        return found[0]
    refuse_half(project.root.checkout, runs)  # cut short before there was a run
    refuse_unreadable(runs)
    left = left_behind(project.root.path, project.folders.implementation)
    hint = "bmad status says what comes next"
    if left is not None:
        at = " at ".join(filter(None, (left.epic, left.story or left.phase)))
        hint = f"{left.tool} has left one behind ({at}): bmad resume --adopt goes on with it"
    raise UsageError("there is nothing to resume: no run is running, failed or paused", hint=hint)


def _adopt(ctx: click.Context, project: Project, unattended: Mapping[str, str], *, as_json: bool) -> NoReturn:
    """Its epic from the board, by a run of ours."""
    from .facts import gather, one_epic
    from .running import Order, run
    from .running_options import RunOptions

    left = left_behind(project.root.path, project.folders.implementation)
    if left is None or not left.epic:
        problem = f"{left.path}: {left.problem}" if left and left.problem else "no other tool has left a run here"
        raise UsageError(problem, hint="bmad status says what comes next")
    facts = gather(ctx)
    view = one_epic(facts, left.epic)
    rows = [row for row in view.stories if row.meaning != DONE]
    title = f"{view.key}, left by {left.tool}: {len(rows)} of {len(view.stories)} stories left"
    options = RunOptions(as_json=as_json, unattended=unattended, adopt=True)
    run(ctx, facts, Order("epic", view.key, title, rows), options)


def _tell_protocol(ctx: click.Context, project: Project, run: Run, *, as_json: bool) -> None:
    """Nobody here drives it: what the agent that goes on with it must know."""
    from ..runs.protocol_resume import protocol_resume
    from ..views.protocol import document, render

    found = protocol_resume(run.folder)
    assert found is not None, run.folder
    if as_json:
        print_json(document(found))
    else:
        click.echo("\n".join(render(found, project.language, terminal(ctx))))


def _list(ctx: click.Context, project: Project, *, as_json: bool) -> None:
    from ..runs.checkpoints import all_checkpoints
    from ..views.checkpoints import document, render

    found = all_checkpoints(runs_folder(project.root.path))
    if as_json:
        print_json(document(found))
    else:
        click.echo("\n".join(render(found, terminal(ctx), shown_path(project, runs_folder(project.root.path)))))


def _rows(project: Project, run: Run) -> list[Row]:
    """The stories it is about."""
    try:
        epics = overview(read_board(project.require_board()))
    except FileError:
        return []
    own = next((epic.stories for epic in epics if epic.key == run.target), None)
    return own or [row for epic in epics for row in epic.stories if row.key == run.target]

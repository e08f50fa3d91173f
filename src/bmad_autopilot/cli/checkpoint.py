"""bmad checkpoint: agents record their progress in a workflow that bmad does not drive, so it can be resumed."""

import os
import time
from collections.abc import Callable
from typing import Any, TypeVar

import click

from ..agents.shim.redact import Redactor, environment_secrets
from ..core.errors import FileError, Location, UsageError
from ..core.text import printable
from ..engine.run_refs import capture_state
from ..io.files import read_text
from ..io.json_files import read_json_object
from ..project.git_excludes import ensure_excludes
from ..project.project import Project
from ..project.root import Root
from ..runs.checkpoint_protocol import MAX_STEP, CheckpointProtocol, ProtocolResult, SaveRequest, UpdateRequest
from ..runs.index import Run
from ..runs.layout import SESSION, runs_folder
from ..runs.state_file import RunStatus
from .context import open_tolerant, print_json

# Shared by the three commands: finding the run, parsing variables, printing the result.

MAX_NAME = 200

_F = TypeVar("_F", bound=Callable[..., Any])


def checkpoint_options(call: _F) -> _F:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
        click.option("--session", default=SESSION, metavar="NAME", help="The session branch (main)."),
        click.option("--run", metavar="RUN", help="Which run; else the newest running one of the session."),
    ):
        call = option(call)
    return call


def step_options(call: _F) -> _F:
    for option in (
        click.option("--vars-file", metavar="FILE", help="Variables from a JSON object in a file."),
        click.option(
            "--var", "pairs", multiple=True, metavar="NAME=VALUE", help="A variable to keep; repeatable."
        ),
        click.option("--name", default="", metavar="TEXT", help="What the step is called."),
        click.option("--step", required=True, type=click.IntRange(1, MAX_STEP), help="Its number, from 1."),
    ):
        call = option(call)
    return call


def open_keeper(ctx: click.Context) -> tuple[Project, CheckpointProtocol]:
    """Open the project tolerantly: a broken board or setting must not prevent a checkpoint."""
    project, _ = open_tolerant(ctx.obj[0])
    redact = Redactor(environment_secrets(os.environ)).value
    return project, CheckpointProtocol(runs_folder(project.root.path), redact, time.time())


def find_open_run(keeper: CheckpointProtocol, wanted: str | None, session: str) -> Run:
    found = keeper.find(wanted, session)
    if found is None:
        raise UsageError(
            f"no run of session {session} is kept with bmad checkpoint and still running",
            hint="begin one: bmad checkpoint save --workflow NAME --step 1",
        )
    return found


def parse_variables(pairs: tuple[str, ...], file: str | None) -> dict[str, Any]:
    """Variables from the file, overridden by the NAME=VALUE pairs."""
    found: dict[str, Any] = {}
    if file is not None:
        read = read_json_object(file)
        if read is None:
            raise FileError("no such file", location=Location(file), expected="a JSON object of variables")
        found.update(read)
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name.strip():
            raise UsageError("is no variable", found=pair[:80], expected="--var NAME=VALUE")
        found[name.strip()] = value
    long = next((name for name in found if len(name) > MAX_NAME), None)
    if long is not None:
        raise UsageError(
            "a variable's name is too long", found=f"{long[:60]}…", expected=f"at most {MAX_NAME} letters"
        )
    return found


def read_artefact(root: Root, path: str) -> str:
    """Read a file whose real path is inside the project."""
    real = os.path.realpath(path) if "\0" not in path else ""
    if not any(real.startswith(place.rstrip("/") + "/") for place in map(os.path.realpath, root.search_folders)):
        raise UsageError("is outside the project", found=path[:200], expected=f"a file below {root.checkout}")
    return read_text(real).text


def print_checkpoint(kept: ProtocolResult, *, as_json: bool) -> None:
    if as_json:
        print_json("checkpoint", kept)
        return
    again = "" if kept.is_new else " (recorded before)"
    step = f"step {kept.step}/{kept.total}" if kept.total else f"step {kept.step}"
    step = f"all {kept.total} steps completed" if 0 < kept.total < kept.step else step
    click.echo(f"run {printable(kept.run)}, session {printable(kept.session)}")
    click.echo(f"checkpoint {kept.checkpoint_id}: {step}, {kept.status.value}{again}")


# bmad checkpoint close

CLOSED = [RunStatus.COMPLETED.value, RunStatus.FAILED.value, RunStatus.PAUSED.value]


@click.command(short_help="At the end: how the workflow ended.")
@click.option("--status", default="completed", type=click.Choice(CLOSED), help="How it ended (completed).")
@click.option("--summary", default="", metavar="TEXT", help="What came of it.")
@checkpoint_options
@click.pass_context
def close(ctx: click.Context, status: str, summary: str, run: str | None, session: str, as_json: bool) -> None:
    """Say that the workflow is over. A failed or paused one is what `bmad resume` offers next."""
    _, keeper = open_keeper(ctx)
    print_checkpoint(
        keeper.close(find_open_run(keeper, run, session), RunStatus(status), summary), as_json=as_json
    )


# bmad checkpoint save: before a step

MAX_PATH = 1000


@click.command(short_help="Before a step: where the run is and what it knows.")
@click.option("--workflow", required=True, metavar="NAME", help="Which workflow it is.")
@step_options
@click.option("--total", default=0, type=click.IntRange(0, MAX_STEP), help="How many steps there are.")
@click.option("--path", default="", metavar="FILE", help="The workflow's own file, to be found again by.")
@click.option("--status", default="running", type=click.Choice(["running", "paused"]), help="How it stands.")
@checkpoint_options
@click.pass_context
def save(
    ctx: click.Context,
    workflow: str,
    step: int,
    name: str,
    pairs: tuple[str, ...],
    vars_file: str | None,
    total: int,
    path: str,
    status: str,
    run: str | None,
    session: str,
    as_json: bool,
) -> None:
    """Say that step N begins, with the variables so far. A run is begun where the session has none of this
    workflow; its name and the checkpoint's id are printed."""
    project, keeper = open_keeper(ctx)
    kept_path = path[:MAX_PATH]
    saving = SaveRequest(
        workflow, step, session, kept_path, name, total, parse_variables(pairs, vars_file), RunStatus(status)
    )
    ensure_excludes(project.root)
    found = keeper.open(run, saving)
    print_checkpoint(keeper.save(found, saving, capture_state(project, found.id, step)), as_json=as_json)


# bmad checkpoint update: after a step


@click.command(short_help="After a step: it is completed.")
@step_options
@click.option("--artefact", metavar="FILE", help="What the step has made; a copy is kept in the run.")
@click.option("--next", "following", default=0, type=click.IntRange(0, MAX_STEP), help="The step after it.")
@click.option("--note", default="", metavar="TEXT", help="For whoever goes on.")
@checkpoint_options
@click.pass_context
def update(
    ctx: click.Context,
    step: int,
    name: str,
    pairs: tuple[str, ...],
    vars_file: str | None,
    artefact: str | None,
    following: int,
    note: str,
    run: str | None,
    session: str,
    as_json: bool,
) -> None:
    """Say that step N is completed: its checkpoint is recorded, with the board's rows and git's work tree as they
    are. The same again changes nothing."""
    project, keeper = open_keeper(ctx)
    text = read_artefact(project.root, artefact) if artefact is not None else None
    called = os.path.basename(artefact) if artefact is not None else ""
    found = find_open_run(keeper, run, session)
    done = UpdateRequest(step, following, name, parse_variables(pairs, vars_file), text, called, note)
    print_checkpoint(keeper.update(found, done, capture_state(project, found.id, step)), as_json=as_json)


@click.group()
def checkpoint() -> None:
    """Keep the place in a long workflow: save before a step, update after it, close at the end.

    For agents (or people) inside a workflow that bmad does not drive itself. `bmad resume` then says where to go
    on, with the variables and the artefacts so far."""


for _command in (save, update, close):
    checkpoint.add_command(_command)

"""What the three checkpoint calls have in common: whose run, its variables, what is said afterwards."""

import os
import time
from collections.abc import Callable
from typing import Any, TypeVar

import click

from ..agents.shim.redaction import Redactor, secrets_of
from ..core.errors import FileError, Place, UsageError
from ..files import read_text
from ..project.open import Project
from ..project.root import Root
from ..runs.finding import Run
from ..runs.json_files import read_object
from ..runs.layout import SESSION, runs_folder
from ..runs.protocol import MAX_STEP, Keeper, Kept
from ..views.terminal import clean
from .facts import print_json
from .opening import open_in_parts

MAX_NAME = 200

_F = TypeVar("_F", bound=Callable[..., Any])


def run_options(call: _F) -> _F:
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


def the_keeper(ctx: click.Context) -> tuple[Project, Keeper]:
    """A broken board or a broken setting keeps nobody from a checkpoint."""
    project, _ = open_in_parts(ctx.obj[0])
    redact = Redactor(secrets_of(os.environ)).value
    return project, Keeper(runs_folder(project.root.path), redact, time.time())


def the_run(keeper: Keeper, wanted: str | None, session: str) -> Run:
    found = keeper.find(wanted, session)
    if found is None:
        raise UsageError(
            f"no run of session {session} is kept with bmad checkpoint and still running",
            hint="begin one: bmad checkpoint save --workflow NAME --step 1",
        )
    return found


def variables(pairs: tuple[str, ...], file: str | None) -> dict[str, Any]:
    """Those of the file, then those that are named one by one."""
    found: dict[str, Any] = {}
    if file is not None:
        read = read_object(file)
        if read is None:
            raise FileError("no such file", place=Place(file), expected="a JSON object of variables")
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


def artefact_text(root: Root, path: str) -> str:
    """Of a file inside the project, by where it really lies."""
    real = os.path.realpath(path) if "\0" not in path else ""
    if not any(real.startswith(place.rstrip("/") + "/") for place in map(os.path.realpath, root.places)):
        raise UsageError("is outside the project", found=path[:200], expected=f"a file below {root.checkout}")
    return read_text(real).text


def tell(kept: Kept, *, as_json: bool) -> None:
    if as_json:
        known = {**kept._asdict(), "status": kept.status.value}
        print_json({"version": 1, "kind": "checkpoint", **known})
        return
    again = "" if kept.is_new else " (recorded before)"
    step = f"step {kept.step}/{kept.total}" if kept.total else f"step {kept.step}"
    step = f"all {kept.total} steps completed" if 0 < kept.total < kept.step else step
    click.echo(f"run {clean(kept.run)}, session {clean(kept.session)}")
    click.echo(f"checkpoint {kept.checkpoint_id}: {step}, {kept.status.value}{again}")

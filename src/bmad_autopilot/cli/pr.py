"""bmad pr: the pull requests of this project's epics."""

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

import click

from ..core.errors import EXIT_DONE, EXIT_FAILED, EXIT_HUMAN, AutopilotError, UsageError

if TYPE_CHECKING:
    from ..github.approval import Situation
    from ..github.forge import Forge
    from ..github.pulls import Pull, Repository
    from ..project.open import Project
    from ..views.pulls import PullTold


@click.group()
def pr() -> None:
    """The pull requests of this project's epics: how they stand, whether one may be approved, and what is due."""


@pr.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def status(ctx: click.Context, as_json: bool) -> None:
    """How the open pull requests stand: checks, review, threads, and what each waits for."""
    from ..engine.autopilot.finding import PREFIX
    from ..views.pulls import document, render
    from .facts import print_json, terminal

    project, forge = _forge(ctx)
    waits = _waits(project)
    trusted = project.config.github.trusted
    told = [_told(forge, mark.number, waits, trusted) for mark in forge.pulls_of(PREFIX)]
    if as_json:
        print_json(document(told))
    else:
        click.echo("\n".join(render(told, terminal(ctx))))


def _number(ctx: click.Context, param: click.Parameter, value: str) -> int:
    digits = value.removeprefix("#")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10 and int(digits)):
        hint = "bmad pr status shows those that are open"
        raise UsageError(f"{value[:40]!r} is no pull request's number", expected="such as 12", hint=hint)
    return int(digits)


@pr.command()
@click.argument("number", callback=_number)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def gate(ctx: click.Context, number: int, as_json: bool) -> NoReturn:
    """May pull request NUMBER be approved? By the rules of the auto-approve workflow, and nothing is done.

    Exit code 0: yes; 3: not yet; 1: no."""
    from ..github.approval import APPROVE, WAIT, Rules, judge
    from ..views.pulls import gate_document, gate_lines
    from .facts import print_json, terminal

    project, forge = _forge(ctx)
    pull = _pull(forge, number)
    ruling = judge(_as_the_workflow_sees_it(forge.repository(), number), Rules())
    if as_json:
        print_json(gate_document(pull, ruling))
    else:
        click.echo("\n".join([*gate_lines(pull, ruling, time.time(), terminal(ctx)), *_of_its_own(project)]))
    ctx.exit(EXIT_DONE if ruling.word == APPROVE else EXIT_HUMAN if ruling.word == WAIT else EXIT_FAILED)


@pr.command()
@click.option("--json", "as_json", is_flag=True, help="Print events, one JSON object a line.")
@click.pass_context
def sync(ctx: click.Context, as_json: bool) -> NoReturn:
    """Look at every pull request of ours once and do what is due: answer, mend, take the base in, merge, tidy up.
    No epic is begun, and nothing is waited for."""
    from ..engine.autopilot.wishes import Wishes
    from .autopilot import fly

    fly(ctx, Wishes(once=True), as_json=as_json)


def _as_the_workflow_sees_it(repository: "Repository", number: int) -> "Situation":
    """By the gate script's own eyes: which heads are the same content, and which required checks are missing, the
    workflow finds out for itself."""
    from ..github.approval import plain
    from ..github.gate_reading import GateTrouble, Place, look

    os.environ["GH_HOST"] = repository.host  # where gh asks; on GitHub the workflow has it so
    try:
        return look(Place(repository.full_name, number), time.time(), {})
    except GateTrouble as trouble:
        hint = f"gh auth status --hostname {repository.host}"
        raise AutopilotError(f"GitHub: {plain(str(trouble), 300)}", hint=hint) from None


def _of_its_own(project: "Project") -> list[str]:
    """Settings that the workflow does not know of."""
    config = project.config
    other = [f'require_review = "{config.require_review}"'] if config.require_review != "copilot" else []
    other += [] if config.require_checks else ["require_checks = false"]
    return [f"  {one} counts here, and not for the workflow" for one in other]


def _pull(forge: "Forge", number: int) -> "Pull":
    from ..github.forge import ForgeError, Trouble

    try:
        return forge.pull(number)
    except ForgeError as error:
        if error.trouble is not Trouble.MISSING:
            raise
        name = forge.repository().full_name  # says so itself where that is what is missing
        hint = "bmad pr status shows those that are open"
        raise AutopilotError(f"{name} has no pull request #{number}", hint=hint) from None


def _forge(ctx: click.Context) -> "tuple[Project, Forge]":
    from ..engine.policy import with_policy
    from ..github.gh_forge import find_forge
    from ..github.git import Git
    from .facts import the_project

    project = with_policy(the_project(ctx), lambda kind, data, at: None)
    if project.config.delivery == "local":
        hint = 'delivery = "github" in bmad-autopilot.toml'
        raise UsageError("finished epics are merged here: there are no pull requests", hint=hint)
    return project, find_forge(Git(project.root.checkout), project.config.github.remote)


def _waits(project: "Project") -> dict[int, tuple[str, str]]:
    """By the number of a pull request: what our run says it waits for, and the run."""
    from ..engine.autopilot.lanes import held_lanes
    from ..runs.layout import SESSION, runs_folder

    held = held_lanes(runs_folder(project.root.path), SESSION, go_on=False)
    found = {}
    for one in held:
        waits = one.record.delivery.waits or {}
        if one.pull:
            found[one.pull] = str(waits.get("why", "")), os.path.basename(one.folder)
    return found


def _told(forge: "Forge", number: int, waits: dict[int, tuple[str, str]], trusted: Sequence[str]) -> "PullTold":
    from ..github.approval import approvals, ci, objections
    from ..github.approving import check_fact, review_fact
    from ..views.pulls import PullTold

    pull = forge.pull(number)
    reviews = [review_fact(one) for one in pull.reviews]
    checks = [check_fact(one) for one in pull.checks]
    why, run = waits.get(number, ("", ""))
    return PullTold(
        number,
        pull.title,
        pull.head_ref,
        pull.base_ref,
        pull.url,
        ci(checks, pull.pushed, time.time(), 120.0),
        tuple(one.login for one in approvals(reviews, (pull.head,))),
        tuple(one.login for one in objections(reviews, trusted=trusted)),
        sum(not thread.is_resolved for thread in pull.threads),
        pull.is_draft,
        why,
        run,
    )

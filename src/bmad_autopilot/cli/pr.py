"""bmad pr: show pull requests, check the approval gate, and do what is due once."""

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

import click

from ..core.errors import EXIT_DONE, EXIT_FAILED, EXIT_HUMAN, AutopilotError, UsageError

if TYPE_CHECKING:
    from ..github.approval import Situation
    from ..github.forge import Forge, Pull, Repository
    from ..project.project import Project
    from ..views.pulls import PullRow


@click.group()
def pr() -> None:
    """The pull requests of this project's epics: how they stand, whether one may be approved, and what is due."""


@pr.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def status(ctx: click.Context, as_json: bool) -> None:
    """How the open pull requests stand: checks, review, threads, and what each waits for."""
    from ..engine.autopilot.epics import PREFIX
    from ..views.pulls import PullList, render
    from .context import print_json, terminal

    project, forge = _forge(ctx)
    waits = _waiting_reasons(project)
    trusted = project.config.github.trusted
    summaries = tuple(_pull_summary(forge, mark.number, waits, trusted) for mark in forge.pulls_of(PREFIX))
    if as_json:
        print_json("pulls", PullList(summaries))
    else:
        click.echo("\n".join(render(summaries, terminal(ctx))))


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
    from ..views.pulls import gate_lines, pull_gate
    from .context import print_json, terminal

    project, forge = _forge(ctx)
    pull = _pull(forge, number)
    ruling = judge(_gate_situation(forge.repository(), number), Rules())
    if as_json:
        print_json("pull-gate", pull_gate(pull, ruling))
    else:
        click.echo(
            "\n".join(
                [*gate_lines(pull, ruling, time.time(), terminal(ctx)), *_settings_unknown_to_workflow(project)]
            )
        )
    ctx.exit(EXIT_DONE if ruling.word == APPROVE else EXIT_HUMAN if ruling.word == WAIT else EXIT_FAILED)


@pr.command()
@click.option("--json", "as_json", is_flag=True, help="Print events, one JSON object a line.")
@click.pass_context
def sync(ctx: click.Context, as_json: bool) -> NoReturn:
    """Look at every pull request of ours once and do what is due: answer, mend, take the base in, merge, tidy up.
    No epic is begun, and nothing is waited for."""
    from ..engine.autopilot.options import AutopilotOptions
    from .autopilot import run_autopilot

    run_autopilot(ctx, AutopilotOptions(once=True), as_json=as_json)


def _gate_situation(repository: "Repository", number: int) -> "Situation":
    """Read the pull request with the gate script's own reader, which determines equal heads and missing required
    checks as the workflow does."""
    from ..github.approval import plain
    from ..github.gate_reader import GateTrouble, Place, look

    os.environ["GH_HOST"] = repository.host  # gh's host; GitHub sets it in the workflow
    try:
        return look(Place(repository.full_name, number), time.time(), {})
    except GateTrouble as trouble:
        hint = f"gh auth status --hostname {repository.host}"
        raise AutopilotError(f"GitHub: {plain(str(trouble), 300)}", hint=hint) from None


def _settings_unknown_to_workflow(project: "Project") -> list[str]:
    """Notes on settings the auto-approve workflow does not know."""
    config = project.config
    other = [f'require_review = "{config.require_review}"'] if config.require_review != "copilot" else []
    other += [] if config.require_checks else ["require_checks = false"]
    return [f"  {one} counts here, and not for the workflow" for one in other]


def _pull(forge: "Forge", number: int) -> "Pull":
    from ..core.forge_errors import ForgeError, ForgeErrorKind

    try:
        return forge.pull(number)
    except ForgeError as error:
        if error.kind is not ForgeErrorKind.MISSING:
            raise
        name = forge.repository().full_name  # raises if the repository itself is missing
        hint = "bmad pr status shows those that are open"
        raise AutopilotError(f"{name} has no pull request #{number}", hint=hint) from None


def _forge(ctx: click.Context) -> "tuple[Project, Forge]":
    from ..engine.policy import with_base_settings
    from ..git.git import Git
    from ..github.gh_forge import find_forge
    from .context import current_project

    project = with_base_settings(current_project(ctx), lambda kind, data, at: None)
    if project.config.delivery == "local":
        hint = 'delivery = "github" in bmad-autopilot.toml'
        raise UsageError("finished epics are merged here: there are no pull requests", hint=hint)
    return project, find_forge(Git(project.root.checkout), project.config.github.remote)


def _waiting_reasons(project: "Project") -> dict[int, tuple[str, str]]:
    """Pull request number → what its run waits for, and the run id."""
    from ..engine.autopilot.lanes import unfinished_lanes
    from ..runs.layout import SESSION, runs_folder

    lane_states = unfinished_lanes(runs_folder(project.root.path), SESSION, resume_all=False)
    found = {}
    for one in lane_states:
        waits = one.record.delivery.current_wait or {}
        if one.pull:
            found[one.pull] = str(waits.get("why", "")), os.path.basename(one.folder)
    return found


def _pull_summary(
    forge: "Forge", number: int, waits: dict[int, tuple[str, str]], trusted: Sequence[str]
) -> "PullRow":
    from ..github.approval import approvals, ci, objections
    from ..github.auto_approve import check_fact, review_fact
    from ..views.pulls import PullRow

    pull = forge.pull(number)
    reviews = [review_fact(one) for one in pull.reviews]
    checks = [check_fact(one) for one in pull.checks]
    why, run = waits.get(number, ("", ""))
    return PullRow(
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

"""bmad init: a commented bmad-autopilot.toml, our lines in git's exclude file, the agents' commands."""

import os
from collections.abc import Iterator
from itertools import chain

import click

from ..agents.slash_commands import COMMANDS, FOLDERS, SlashCommand, is_ours, path_of, text_of
from ..core.errors import EXIT_DONE, EXIT_FAILED
from ..files import read_bytes
from ..project.bmad import Era
from ..project.commands import detect_commands
from ..project.config import Config
from ..project.config_text import render_config
from ..project.excludes import with_excludes
from ..project.gitdir import find_work_tree
from ..project.open import Project
from ..project.root import Root
from ..project.state_files import ignore_lines
from ..project.traces import CONFIG_NAME
from ..views.terminal import Terminal, clean
from .facts import terminal
from .init_github import auto_approve_needs, auto_approve_outcomes
from .opening import open_in_parts
from .writing import KEPT, REFUSED, UNCHANGED, WRITTEN, Outcome, put

_COLORS = {WRITTEN: "green", UNCHANGED: "dim", KEPT: "yellow", REFUSED: "red"}
_MAX_BACKUPS = 100


@click.command()
@click.option("--force", is_flag=True, help=f"Write {CONFIG_NAME} anew; the old one is kept as .bak.")
@click.option("--github", is_flag=True, help="Also the workflow that approves the autopilot's pull requests.")
@click.option("--dry-run", is_flag=True, help="Only say what would be written.")
@click.pass_context
def init(ctx: click.Context, force: bool, github: bool, dry_run: bool) -> None:
    """Write a commented bmad-autopilot.toml and the agents' commands; keep our state out of git."""
    project, _ = open_in_parts(ctx.obj[0])
    project.bmad.require_supported()
    root, out = project.root, terminal(ctx)
    click.echo(_header(root))
    outcomes = []
    approving = auto_approve_outcomes(root, dry_run=dry_run) if github else ()
    for outcome in chain(_outcomes(project, force=force, dry_run=dry_run), approving):
        outcomes.append(outcome)
        click.echo(_line(root, outcome, out, dry_run=dry_run))
    refused = any(outcome.what == REFUSED for outcome in outcomes)
    again = f"bmad init{' --force' if force else ''}{' --github' if github else ''}"
    if github and not refused:
        click.echo(f"\n{auto_approve_needs()}")
    if refused:
        click.echo(f"\nnext: see to these files, then {again}")
    elif dry_run and any(outcome.what == WRITTEN for outcome in outcomes):
        click.echo(f"\nnext: {again}")
    else:
        click.echo(f"\nnext: {_next(project)}")
    ctx.exit(EXIT_FAILED if refused else EXIT_DONE)


def _header(root: Root) -> str:
    whose = ", the owner of this linked worktree" if root.is_linked else ""
    return f"in {clean(root.path)}{whose}:"


def _line(root: Root, outcome: Outcome, out: Terminal, *, dry_run: bool) -> str:
    what = "would be written" if dry_run and outcome.what == WRITTEN else outcome.what
    width = len("would be written") if dry_run else len(UNCHANGED)
    path = os.path.relpath(outcome.path, root.path)
    shown = outcome.path if path.startswith("..") else path
    why = f"  ({outcome.why})" if outcome.why else ""
    return f"  {out.style(what, _COLORS[outcome.what])}{' ' * (width - len(what))}  {clean(shown + why)}"


def _outcomes(project: Project, *, force: bool, dry_run: bool) -> Iterator[Outcome]:
    root = project.root
    yield from _config(root, force=force, dry_run=dry_run)
    yield from _excludes(root, dry_run=dry_run)
    for agent in _clients(root, project.config):
        yield from (_command(root, command, agent, dry_run=dry_run) for command in COMMANDS)


def _command(root: Root, command: SlashCommand, agent: str, *, dry_run: bool) -> Outcome:
    text = text_of(command, agent).encode()
    path = os.path.join(root.path, path_of(command, agent))
    return put(path, lambda _: text, inside=root.path, ours=is_ours, dry_run=dry_run)


def _config(root: Root, *, force: bool, dry_run: bool) -> Iterator[Outcome]:
    """It is the user's from the moment it is there; --force sets the old one aside first."""
    path = os.path.join(root.path, CONFIG_NAME)
    text = render_config(detect_commands(root.path)).encode()

    def write(*, over: bool, dry: bool) -> Outcome:
        return put(path, lambda _: text, inside=root.path, ours=lambda _: over, dry_run=dry)

    planned = write(over=force, dry=True)
    if planned.what == KEPT:
        yield planned._replace(why="yours; --force writes a new one and keeps this as .bak")
        return
    if planned.what == WRITTEN and os.path.lexists(path):
        backup = _keep(path, root.path, dry_run=dry_run)
        yield backup
        if backup.what == REFUSED:
            return
    yield planned if dry_run else write(over=force, dry=False)


def _keep(path: str, inside: str, *, dry_run: bool) -> Outcome:
    """Copy the old file to the first free `.bak` name."""
    names = (f"{path}.bak{number or ''}" for number in range(_MAX_BACKUPS))
    free = next((name for name in names if not os.path.lexists(name)), None)
    if free is None:
        return Outcome(REFUSED, f"{path}.bak", f"there are {_MAX_BACKUPS} of them already")
    return put(free, lambda _: read_bytes(path), inside=inside, ours=lambda _: False, dry_run=dry_run)


def _excludes(root: Root, *, dry_run: bool) -> Iterator[Outcome]:
    tree = find_work_tree(root.path) if root.common_dir else None
    if tree is None or root.common_dir is None:
        return
    lines = ignore_lines(os.path.relpath(root.path, tree.top))
    path = os.path.join(root.common_dir, "info", "exclude")
    yield put(
        path,
        lambda before: with_excludes(before, lines),
        inside=root.common_dir,
        ours=lambda _: True,
        dry_run=dry_run,
    )


def _clients(root: Root, config: Config) -> list[str]:
    """Those with slash commands that are used here: their folder is there, or a step is theirs."""
    chosen = {config.client_of(agent) for role in config.roles for agent in config.agents_of(role)}
    return [
        agent for agent, folder in FOLDERS.items() if agent in chosen or os.path.isdir(f"{root.path}/{folder}")
    ]


def _next(project: Project) -> str:
    ready = project.bmad.era is not Era.NONE and project.folders.board is not None
    return "bmad status" if ready else "bmad doctor"

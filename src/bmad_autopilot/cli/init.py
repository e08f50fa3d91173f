"""bmad init: write the config template, git exclude lines and slash commands; --github adds auto-approve."""

import os
from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

import click

from ..agents.slash_commands import FOLDERS, SLASH_COMMANDS, SlashCommand, command_path, command_text, is_generated
from ..core.errors import EXIT_DONE, EXIT_FAILED, AutopilotError
from ..core.text import printable
from ..io.files import read_bytes, write_atomic
from ..project.bmad_install import Era
from ..project.commands import detect_commands
from ..project.config import Config
from ..project.config_template import render_config
from ..project.git_excludes import add_excludes, exclude_lines
from ..project.project import Project
from ..project.root import CONFIG_NAME, Root, find_work_tree
from ..views.terminal import Terminal
from .context import open_tolerant, terminal

# Results of installing a file. KEPT: it is the user's own.

WRITTEN = "written"
UNCHANGED = "unchanged"
KEPT = "kept"
REFUSED = "refused"


class FileOutcome(NamedTuple):
    result: str
    path: str
    why: str = ""


def install_file(
    path: str, make: Callable[[bytes], bytes], *, inside: str, may_replace: Callable[[bytes], bool], dry_run: bool
) -> FileOutcome:
    """Write what `make` returns for the current content (b"" if there is no file). An existing file is kept unless
    `may_replace` accepts its content. Links that lead out of `inside` are refused."""
    real = os.path.realpath(path)
    if not real.startswith(os.path.realpath(inside) + os.sep):
        return FileOutcome(REFUSED, path, f"a link leads out of the project, to {real}")
    try:
        there = os.path.lexists(real)
        before = read_bytes(real) if there else b""
        after = make(before)
        if there and before == after:
            return FileOutcome(UNCHANGED, path, "already up to date")
        if there and not may_replace(before):
            return FileOutcome(KEPT, path, "yours")
        if not dry_run:
            os.makedirs(os.path.dirname(real), exist_ok=True)
            write_atomic(real, after)
    except AutopilotError as error:
        return FileOutcome(REFUSED, path, ", found ".join(filter(None, (error.message, error.found))))
    except OSError as error:
        return FileOutcome(REFUSED, path, str(error.strerror))
    return FileOutcome(WRITTEN, path)


# bmad init --github: the auto-approve workflow and its gate script.


def auto_approve_outcomes(root: Root, *, dry_run: bool) -> Iterator[FileOutcome]:
    """Install both files or none: the workflow must never run a foreign script."""
    from ..github.auto_approve import auto_approve_files

    tree = find_work_tree(root.path)
    if tree is None:
        yield FileOutcome(REFUSED, os.path.join(root.path, ".github"), "there is no git repository here")
        return
    texts = {os.path.join(tree.top, file.path): file.text.encode() for file in auto_approve_files()}
    planned = [_install_approval_file(path, text, tree.top, dry_run=True) for path, text in texts.items()]
    in_the_way = [outcome for outcome in planned if outcome.result in (KEPT, REFUSED)]
    if in_the_way or dry_run:
        yield from map(_refuse_kept, in_the_way or planned)
        return
    for path, text in texts.items():
        yield _refuse_kept(_install_approval_file(path, text, tree.top, dry_run=False))


def _install_approval_file(path: str, text: bytes, top: str, *, dry_run: bool) -> FileOutcome:
    from ..github.auto_approve import is_generated

    return install_file(path, lambda _: text, inside=top, may_replace=is_generated, dry_run=dry_run)


def _refuse_kept(outcome: FileOutcome) -> FileOutcome:
    """Report a kept file as refused: the user asked for it explicitly."""
    why = "it is there and not ours: move it away first"
    return outcome._replace(result=REFUSED, why=why) if outcome.result == KEPT else outcome


def auto_approve_notes() -> str:
    from ..github.auto_approve import SETTING

    place, _, switch = SETTING.rpartition(" → ")
    return (
        "it works once both files are on the default branch, with one setting on GitHub:\n"
        f"  {place} →\n    {switch}\n"
        "it approves pull requests from feature/epic-… that are ten minutes old,\n"
        "reviewed by Copilot, without an open thread, and green; never a change to\n"
        "workflows or to itself. With that setting on, anybody who can push a branch can\n"
        "have it approved: let code owners see .github/ where not all of them are trusted"
    )


_COLORS = {WRITTEN: "green", UNCHANGED: "dim", KEPT: "yellow", REFUSED: "red"}
_MAX_BACKUPS = 100


@click.command()
@click.option("--force", is_flag=True, help=f"Write {CONFIG_NAME} anew; the old one is kept as .bak.")
@click.option("--github", is_flag=True, help="Also the workflow that approves the autopilot's pull requests.")
@click.option("--dry-run", is_flag=True, help="Only say what would be written.")
@click.pass_context
def init(ctx: click.Context, force: bool, github: bool, dry_run: bool) -> None:
    """Write a commented bmad-autopilot.toml and the agents' commands; keep our state out of git."""
    project, _ = open_tolerant(ctx.obj[0])
    project.bmad.require_supported()
    root, out = project.root, terminal(ctx)
    click.echo(_header(root))
    outcomes = []
    approving = auto_approve_outcomes(root, dry_run=dry_run) if github else ()
    for outcome in chain(_outcomes(project, force=force, dry_run=dry_run), approving):
        outcomes.append(outcome)
        click.echo(_line(root, outcome, out, dry_run=dry_run))
    refused = any(outcome.result == REFUSED for outcome in outcomes)
    again = f"bmad init{' --force' if force else ''}{' --github' if github else ''}"
    if github and not refused:
        click.echo(f"\n{auto_approve_notes()}")
    if refused:
        click.echo(f"\nnext: see to these files, then {again}")
    elif dry_run and any(outcome.result == WRITTEN for outcome in outcomes):
        click.echo(f"\nnext: {again}")
    else:
        click.echo(f"\nnext: {_next_command(project)}")
    ctx.exit(EXIT_FAILED if refused else EXIT_DONE)


def _header(root: Root) -> str:
    whose = ", the owner of this linked worktree" if root.is_linked else ""
    return f"in {printable(root.path)}{whose}:"


def _line(root: Root, outcome: FileOutcome, out: Terminal, *, dry_run: bool) -> str:
    what = "would be written" if dry_run and outcome.result == WRITTEN else outcome.result
    width = len("would be written") if dry_run else len(UNCHANGED)
    path = os.path.relpath(outcome.path, root.path)
    shown = outcome.path if path.startswith("..") else path
    why = f"  ({outcome.why})" if outcome.why else ""
    return f"  {out.style(what, _COLORS[outcome.result])}{' ' * (width - len(what))}  {printable(shown + why)}"


def _outcomes(project: Project, *, force: bool, dry_run: bool) -> Iterator[FileOutcome]:
    root = project.root
    yield from _config(root, force=force, dry_run=dry_run)
    yield from _excludes(root, dry_run=dry_run)
    for agent in _clients(root, project.config):
        yield from (_command(root, command, agent, dry_run=dry_run) for command in SLASH_COMMANDS)


def _command(root: Root, command: SlashCommand, agent: str, *, dry_run: bool) -> FileOutcome:
    text = command_text(command, agent).encode()
    path = os.path.join(root.path, command_path(command, agent))
    return install_file(path, lambda _: text, inside=root.path, may_replace=is_generated, dry_run=dry_run)


def _config(root: Root, *, force: bool, dry_run: bool) -> Iterator[FileOutcome]:
    """An existing config is the user's; --force backs it up first."""
    path = os.path.join(root.path, CONFIG_NAME)
    text = render_config(detect_commands(root.path)).encode()

    def write(*, over: bool, dry: bool) -> FileOutcome:
        return install_file(path, lambda _: text, inside=root.path, may_replace=lambda _: over, dry_run=dry)

    planned = write(over=force, dry=True)
    if planned.result == KEPT:
        yield planned._replace(why="yours; --force writes a new one and keeps this as .bak")
        return
    if planned.result == WRITTEN and os.path.lexists(path):
        backup = _back_up(path, root.path, dry_run=dry_run)
        yield backup
        if backup.result == REFUSED:
            return
    yield planned if dry_run else write(over=force, dry=False)


def _back_up(path: str, inside: str, *, dry_run: bool) -> FileOutcome:
    """Copy the old file to the first free `.bak` name."""
    names = (f"{path}.bak{number or ''}" for number in range(_MAX_BACKUPS))
    free = next((name for name in names if not os.path.lexists(name)), None)
    if free is None:
        return FileOutcome(REFUSED, f"{path}.bak", f"there are {_MAX_BACKUPS} of them already")
    return install_file(
        free, lambda _: read_bytes(path), inside=inside, may_replace=lambda _: False, dry_run=dry_run
    )


def _excludes(root: Root, *, dry_run: bool) -> Iterator[FileOutcome]:
    tree = find_work_tree(root.path) if root.common_dir else None
    if tree is None or root.common_dir is None:
        return
    lines = exclude_lines(os.path.relpath(root.path, tree.top))
    path = os.path.join(root.common_dir, "info", "exclude")
    yield install_file(
        path,
        lambda before: add_excludes(before, lines),
        inside=root.common_dir,
        may_replace=lambda _: True,
        dry_run=dry_run,
    )


def _clients(root: Root, config: Config) -> list[str]:
    """Clients with slash commands that are used here: their folder exists, or a role uses them."""
    chosen = {config.client_of(agent) for role in config.roles for agent in config.agents_of(role)}
    return [
        agent for agent, folder in FOLDERS.items() if agent in chosen or os.path.isdir(f"{root.path}/{folder}")
    ]


def _next_command(project: Project) -> str:
    ready = project.bmad.era is not Era.NONE and project.folders.board is not None
    return "bmad status" if ready else "bmad doctor"

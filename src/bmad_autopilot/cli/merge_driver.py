"""bmad merge-driver: run a git command with semantic merging of the board and deferred-work.md."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

import click

from ..core.errors import ConflictError, Location, UsageError

if TYPE_CHECKING:
    from ..board.merge_files import MergeKind
    from ..git.git import Git
    from ..git.merge_verification import MergeProblem
    from ..project.project import Project

_DIRECTORY_OPTIONS = ("-C", "--git-dir", "--work-tree", "--bare")
_OPTIONS_WITH_VALUE = ("-c", "--namespace", "--super-prefix", "--config-env", "--exec-path")


@click.group("merge-driver")
def merge_driver() -> None:
    """Merge the board and deferred-work.md by what they mean, in git commands of your own."""


@merge_driver.command(
    short_help="Run a git command that merges.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("words", metavar="git COMMAND…", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def run(ctx: click.Context, words: tuple[str, ...]) -> NoReturn:
    """Run a git command that merges: `bmad merge-driver run -- git merge main`; also rebase, cherry-pick, stash
    pop, pull. Nothing is installed. What it merged is compared with what both sides mean.

    Exit code: git's own; 1 also if the comparison fails."""
    from ..git.git import Git
    from ..git.merge_driver import driver_settings, overridden_files
    from ..git.merge_verification import capture_merge_state, find_merges, parse_merge_tree, verify_merges
    from .context import current_project

    command = _command(words)
    project = current_project(ctx)
    git = Git(project.root.checkout)
    files = _files(project, git)
    before = capture_merge_state(git, command)
    with driver_settings(git, files) as settings:
        for path, other in overridden_files(git, settings, files).items():
            click.echo(f"bmad: {path}: this repository's attributes say merge={other}, which stands", err=True)
        options = [part for setting in settings for part in ("-c", setting)]
        code, output = _run(["git", *options, *words[1:]], ctx.obj[0], captures=command[0] == "merge-tree")
    made = (
        parse_merge_tree(git, command, output)
        if output is not None
        else find_merges(git, before, command, list(files))
    )
    objections = verify_merges(git, made, files)
    if objections:
        raise _error(objections, git)
    ctx.exit(code)


def _command(words: Sequence[str]) -> list[str]:
    """The git command and its arguments. Options that point git to another folder are refused."""
    rest = list(words[1:])
    while rest and rest[0].startswith("-"):
        name = rest.pop(0)
        if name.startswith(_DIRECTORY_OPTIONS):
            raise UsageError(
                f"git {name}: what it merges cannot be checked from here", hint="bmad -C DIR merge-driver"
            )
        if name in _OPTIONS_WITH_VALUE and rest:
            rest.pop(0)
    if words[0] != "git" or not rest:
        expected = "bmad merge-driver run -- git merge BRANCH"
        raise UsageError("is no git command", found=" ".join(words)[:80], expected=expected)
    return rest


def _files(project: "Project", git: "Git") -> "dict[str, MergeKind]":
    """The two files, relative to the top of the work tree; they need not exist yet."""
    from ..board.merge_files import MergeKind
    from ..engine.story_paths import DEFERRED
    from ..project.folders import BoardOrigin
    from ..project.root import BOARD_NAME

    folders = project.folders
    if folders.board_origin is BoardOrigin.SEVERAL:
        project.require_board()
    board = folders.board or os.path.join(folders.implementation, BOARD_NAME)
    deferred = os.path.join(os.path.dirname(board), DEFERRED)
    found = {board: MergeKind.BOARD, deferred: MergeKind.DEFERRED}
    from_top = {os.path.relpath(path, git.top): meaning for path, meaning in found.items()}
    return {path: meaning for path, meaning in from_top.items() if not path.startswith("..")}


def _run(argv: Sequence[str], folder: str, *, captures: bool) -> tuple[int, str | None]:
    """Run in the user's terminal and environment. `captures`: also return standard output."""
    # Ctrl-C reaches git directly. A no-op handler, not SIG_IGN, which the child would inherit.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        done = subprocess.run(argv, cwd=folder, stdout=subprocess.PIPE if captures else None, check=False)
    except OSError as error:
        raise UsageError(f"git cannot be started: {error.strerror}") from None
    finally:
        signal.signal(signal.SIGINT, before)
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    if not captures:
        return code, None
    sys.stdout.buffer.write(done.stdout)
    return code, done.stdout.decode("utf-8", "replace")


def _error(objections: "Sequence[MergeProblem]", git: "Git") -> ConflictError:
    first, *others = objections
    lines = [f"{one.path} in {one.where}: {one.why}" for one in others]
    return ConflictError(
        f"git did not merge this as its sides mean it, in {first.where}",
        location=Location(os.path.join(git.top, first.path)),
        found="\n            ".join([first.why, *lines]),
        hint=f"nothing was changed after git; see it: {first.hint}",
    )

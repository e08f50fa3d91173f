"""bmad merge-driver: a person's own git command, with the board merged by what it means."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

import click

from ..core.errors import ConflictError, Place, UsageError

if TYPE_CHECKING:
    from ..board.meanings import Meaning
    from ..github.git import Git
    from ..github.merge_proof import Objection
    from ..project.open import Project

_ELSEWHERE = ("-C", "--git-dir", "--work-tree", "--bare")
_WITH_A_VALUE = ("-c", "--namespace", "--super-prefix", "--config-env", "--exec-path")


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
    from ..github.git import Git
    from ..github.merge_driver import driver_settings, overruled
    from ..github.merge_proof import object_to
    from ..github.merges_made import merged_tree, merges_made, standing
    from .facts import the_project

    command = _command(words)
    project = the_project(ctx)
    git = Git(project.root.checkout)
    files = _files(project, git)
    before = standing(git, command)
    with driver_settings(git, files) as settings:
        for path, other in overruled(git, settings, files).items():
            click.echo(f"bmad: {path}: this repository's attributes say merge={other}, which stands", err=True)
        options = [part for setting in settings for part in ("-c", setting)]
        code, said = _run(["git", *options, *words[1:]], ctx.obj[0], heard=command[0] == "merge-tree")
    made = merged_tree(git, command, said) if said is not None else merges_made(git, before, command, list(files))
    objections = object_to(git, made, files)
    if objections:
        raise _error(objections, git)
    ctx.exit(code)


def _command(words: Sequence[str]) -> list[str]:
    """git's command and what follows it; what says that git is to work elsewhere is refused."""
    rest = list(words[1:])
    while rest and rest[0].startswith("-"):
        name = rest.pop(0)
        if name.startswith(_ELSEWHERE):
            raise UsageError(
                f"git {name}: what it merges cannot be checked from here", hint="bmad -C DIR merge-driver"
            )
        if name in _WITH_A_VALUE and rest:
            rest.pop(0)
    if words[0] != "git" or not rest:
        expected = "bmad merge-driver run -- git merge BRANCH"
        raise UsageError("is no git command", found=" ".join(words)[:80], expected=expected)
    return rest


def _files(project: "Project", git: "Git") -> "dict[str, Meaning]":
    """The two files, from git's top; a branch may have none of them yet."""
    from ..board.meanings import Meaning
    from ..engine.books import DEFERRED
    from ..project.folders import Found
    from ..project.traces import BOARD_NAME

    folders = project.folders
    if folders.found is Found.SEVERAL:
        project.require_board()
    board = folders.board or os.path.join(folders.implementation, BOARD_NAME)
    deferred = os.path.join(os.path.dirname(board), DEFERRED)
    found = {board: Meaning.BOARD, deferred: Meaning.DEFERRED}
    from_top = {os.path.relpath(path, git.top): meaning for path, meaning in found.items()}
    return {path: meaning for path, meaning in from_top.items() if not path.startswith("..")}


def _run(argv: Sequence[str], folder: str, *, heard: bool) -> tuple[int, str | None]:
    """To its end, in the person's own terminal and environment. `heard`: what it writes is also ours to read."""
    # Ctrl-C is for git, which reaches it too: it ends as it does without us. No SIG_IGN, a child would inherit it.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        done = subprocess.run(argv, cwd=folder, stdout=subprocess.PIPE if heard else None, check=False)
    except OSError as error:
        raise UsageError(f"git cannot be started: {error.strerror}") from None
    finally:
        signal.signal(signal.SIGINT, before)
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    if not heard:
        return code, None
    sys.stdout.buffer.write(done.stdout)
    return code, done.stdout.decode("utf-8", "replace")


def _error(objections: "Sequence[Objection]", git: "Git") -> ConflictError:
    first, *others = objections
    lines = [f"{one.path} in {one.where}: {one.why}" for one in others]
    return ConflictError(
        f"git did not merge this as its sides mean it, in {first.where}",
        place=Place(os.path.join(git.top, first.path)),
        found="\n            ".join([first.why, *lines]),
        hint=f"nothing was changed after git; see it: {first.hint}",
    )

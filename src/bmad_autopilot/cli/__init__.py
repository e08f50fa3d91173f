"""The `bmad` command line. A verb's module is imported only when the verb is used."""

import gc
import io
import os
import signal
import sys
from typing import NoReturn

import click

from .. import __version__
from ..core.errors import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USAGE, AutopilotError
from .lazy_group import LazyGroup

# Verb → (module, summary). The help page is built from this table, without importing the modules.
VERBS = {
    "status": ("status", "Where are we, and what comes next?"),
    "next": ("run", "Do the next thing."),
    "run-story": ("run", "Take one story to done."),
    "run-epic": ("run", "Take one epic to done."),
    "autopilot": ("autopilot", "Take epics to merged pull requests, one after another."),
    "plan": ("plan", "Which epics run when, how long it takes, what it costs."),
    "pr": ("pr", "How the pull requests stand; what is due; may one be approved?"),
    "resume": ("resume", "Go on where the last run stood."),
    "flow": ("flow", "From an idea or an old codebase to a board, or to what is deployed."),
    "workflow": ("workflow", "Run a file of steps of your own."),
    "restart": ("run", "Begin a story anew; its work is saved first."),
    "questions": ("questions", "What waits for a human?"),
    "answer": ("questions", "Answer a question, so that its run goes on."),
    "intervene": ("questions", "Choose how a story that has stopped goes on."),
    "runs": ("runs", "Which runs there are; what one did, and why; the archive."),
    "checkpoint": ("checkpoint", "Keep the place in a workflow that bmad does not drive."),
    "pause": ("control", "Have the run under way stop before its next agent call."),
    "stop": ("control", "Have the run under way end; --now: its agent too."),
    "board": ("board", "Check, set and repair the board."),
    "merge-driver": ("merge_driver", "Run git with the board merged by what it means."),
    "agent": ("agent", "See that an agent works here; follow or stop a call."),
    "demo": ("demo", "Watch an epic being taken to a merged pull request."),
    "simulate": ("simulate", "Rehearse with scripted agents in memory, before it costs anything."),
    "doctor": ("doctor", "Is everything here that is needed? Each line with its fix."),
    "init": ("init", "Write a commented bmad-autopilot.toml and the agents' commands."),
    "completion": ("completion", "Print the shell's completion script."),
}
HIDDEN = {"install": ("npm", ""), "uninstall": ("npm", "")}


class _OutputClosed(Exception):
    """The reader closed the pipe (`bmad status | head`). Not an error, but click would report one."""


class VerbGroup(LazyGroup):
    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise _OutputClosed from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = not args or args[0] in VERBS or args[0] in HIDDEN or args[0].startswith("-")
        if not known and not ctx.resilient_parsing:  # a shell is completing
            from difflib import get_close_matches

            near = get_close_matches(args[0], VERBS, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise click.UsageError(f"There is no command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=VerbGroup, commands_by_name={**VERBS, **HIDDEN}, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option(
    "-C", "--project", default=".", metavar="DIR", help="Work on the project at DIR (any folder inside it)."
)
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colour the output.")
@click.version_option(__version__, prog_name="bmad-autopilot", message="%(prog)s %(version)s")
@click.pass_context
def bmad(ctx: click.Context, project: str, color: str) -> None:
    """From a BMAD backlog to merged pull requests, without losing its place."""
    ctx.obj = (project, color)
    ctx.color = True  # views.terminal alone decides about colour; click must not strip it


def main() -> NoReturn:
    """Entry point. Ends with os._exit: interpreter shutdown would take a tenth of the run time."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _prepare_streams()
    gc.disable()  # short commands create little garbage; long-running verbs enable it again
    code = _run()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:  # the reader has gone
        pass
    except OSError as error:  # a full disk behind `>`
        code = code or _print_error(f"error: {error.strerror}", EXIT_FAILED)
    os._exit(code)


def _prepare_streams() -> None:
    """Replace unencodable characters; redirect a closed stream (`>&-`) to the null device."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _run() -> int:
    try:
        code = bmad.main(standalone_mode=False, prog_name=_name())
        return code if isinstance(code, int) else EXIT_DONE
    except (click.exceptions.Abort, KeyboardInterrupt):
        return _print_error("interrupted", EXIT_INTERRUPTED)
    except click.ClickException as error:
        error.show()
        return EXIT_USAGE
    except AutopilotError as error:
        return _print_error(f"error: {_shorten(str(error))}", error.exit_code)
    except (_OutputClosed, BrokenPipeError):
        return EXIT_DONE
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _print_error(f"error: {_shorten(where)}{error.strerror or error}", EXIT_FAILED)
    except Exception as error:
        if os.environ.get("BMAD_DEBUG"):
            raise
        help_line = "  help:     run again with BMAD_DEBUG=1 for the trace"
        return _print_error(f"internal error: {type(error).__name__}: {error}\n{help_line}", EXIT_FAILED)


def _name() -> str:
    """The program name that was typed: help and completion must use the same one."""
    return "bmad-autopilot" if os.path.basename(sys.argv[0]) == "bmad-autopilot" else "bmad"


def _shorten(text: str) -> str:
    """Make paths below the current folder relative."""
    try:
        return text.replace(os.getcwd() + os.sep, "")
    except OSError:  # the current folder was deleted
        return text


def _print_error(text: str, code: int) -> int:
    from ..core.text import printable

    lines = [printable(line) for line in text.split("\n")]
    sys.stderr.write("bmad: " + "\n".join(lines) + "\n")
    return code

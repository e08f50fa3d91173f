"""The command line. One file per verb; a verb's file is imported when the verb is used."""

import gc
import io
import os
import signal
import sys
from importlib import import_module
from typing import NoReturn

import click

from .. import __version__
from ..core.errors import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USAGE, AutopilotError

# Verb → (module, what it is for). The help page is made from this table, without importing any of them.
VERBS = {
    "status": ("status", "Where are we, and what comes next?"),
    "next": ("next", "Do the next thing."),
    "run-story": ("run_story", "Take one story to done."),
    "run-epic": ("run_epic", "Take one epic to done."),
    "autopilot": ("autopilot", "Take epics to merged pull requests, one after another."),
    "plan": ("plan", "Which epics run when, how long it takes, what it costs."),
    "pr": ("pr", "How the pull requests stand; what is due; may one be approved?"),
    "resume": ("resume", "Go on where the last run stood."),
    "flow": ("flow", "From an idea or an old codebase to a board, or to what is deployed."),
    "workflow": ("workflow", "Run a file of steps of your own."),
    "restart": ("restart", "Begin a story anew; its work is saved first."),
    "questions": ("questions", "What waits for a human?"),
    "answer": ("answer", "Answer a question, so that its run goes on."),
    "intervene": ("intervene", "Choose how a story that has stopped goes on."),
    "runs": ("runs", "Which runs there are; what one did, and why; the archive."),
    "checkpoint": ("checkpoint", "Keep the place in a workflow that bmad does not drive."),
    "pause": ("pause", "Have the run under way stop before its next agent call."),
    "stop": ("stop", "Have the run under way end; --now: its agent too."),
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


class _ReaderGone(Exception):
    """`bmad status | head`: no error, but click would make one of it."""


class Verbs(click.Group):
    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise _ReaderGone from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = VERBS.get(cmd_name) or HIDDEN.get(cmd_name)
        if entry is None:
            return None
        module = import_module(f".{entry[0]}", __name__)
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = not args or args[0] in VERBS or args[0] in HIDDEN or args[0].startswith("-")
        if not known and not ctx.resilient_parsing:  # that is: unless a shell is completing
            from difflib import get_close_matches

            near = get_close_matches(args[0], VERBS, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise click.UsageError(f"There is no command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in VERBS.items()])


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-C", "--project", default=".", metavar="DIR", help="Work on the project at DIR (any folder inside it)."
)
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colour the output.")
@click.version_option(__version__, prog_name="bmad-autopilot", message="%(prog)s %(version)s")
@click.pass_context
def bmad(ctx: click.Context, project: str, color: str) -> None:
    """From a BMAD backlog to merged pull requests, without losing its place."""
    ctx.obj = (project, color)
    ctx.color = True  # whether colour is wanted is decided in one place, views.terminal; click is not to strip it


def main() -> NoReturn:
    """The program. It does not return, and does not take itself apart: that would take a tenth of its time."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _prepare_streams()
    gc.disable()  # a one-shot reader makes no garbage worth collecting; long-running verbs turn it on again
    code = _run()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:  # the reader has gone
        pass
    except OSError as error:  # a full disk behind `>`
        code = code or _say(f"error: {error.strerror}", EXIT_FAILED)
    os._exit(code)


def _prepare_streams() -> None:
    """A terminal that lacks a character gets a question mark; a stream that was closed (`>&-`) gets nothing."""
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
        return _say("interrupted", EXIT_INTERRUPTED)
    except click.ClickException as error:
        error.show()
        return EXIT_USAGE
    except AutopilotError as error:
        return _say(f"error: {_shorten(str(error))}", error.exit_code)
    except (_ReaderGone, BrokenPipeError):
        return EXIT_DONE
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _say(f"error: {_shorten(where)}{error.strerror or error}", EXIT_FAILED)
    except Exception as error:
        if os.environ.get("BMAD_DEBUG"):
            raise
        help_line = "  help:     run again with BMAD_DEBUG=1 for the trace"
        return _say(f"internal error: {type(error).__name__}: {error}\n{help_line}", EXIT_FAILED)


def _name() -> str:
    """The name we were called by: help and completion must name the same program."""
    return "bmad-autopilot" if os.path.basename(sys.argv[0]) == "bmad-autopilot" else "bmad"


def _shorten(text: str) -> str:
    """Paths below the current folder, as one would type them here."""
    try:
        return text.replace(os.getcwd() + os.sep, "")
    except OSError:  # the folder we stand in is gone
        return text


def _say(text: str, code: int) -> int:
    from ..views.terminal import clean

    lines = [clean(line) for line in text.split("\n")]
    sys.stderr.write("bmad: " + "\n".join(lines) + "\n")
    return code

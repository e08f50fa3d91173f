"""bmad runs: which runs there are; what one did, and why; the archive."""

from importlib import import_module

import click

from .runs_reading import print_runs

# What stands below it → (module, what it is for). One is imported when it is used: a list of runs is to be quick.
COMMANDS = {
    "show": ("runs_show", "What a run did: its steps, calls, questions, checkpoints, commits."),
    "why": ("runs_why", "What a decision was made from, and the rule it followed."),
    "diff": ("runs_diff", "What changed between two checkpoints."),
    "clean": ("runs_clean", "Move old runs to the archive; delete what is there."),
    "session": ("runs_session", "The session branches; archive one."),
}


class Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = getattr(import_module(f".{entry[0]}", __package__), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(cls=Commands, invoke_without_command=True)
@click.option("--all", "shows_all", is_flag=True, help="All of them, those in the archive too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def runs(ctx: click.Context, shows_all: bool, as_json: bool) -> None:
    """The runs of this project, the newest first. RUN is a run's name, the beginning of one that only one run has,
    or SESSION/RUN."""
    if ctx.invoked_subcommand is None:
        print_runs(ctx, shows_all=shows_all, as_json=as_json)

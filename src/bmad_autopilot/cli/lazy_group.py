"""A click group whose commands are imported when they are used."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """`commands_by_name`: command → (module of this package, summary). Help imports no module.
    A command without a summary is hidden."""

    def __init__(self, *args: Any, commands_by_name: Mapping[str, tuple[str, str]], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._lazy = commands_by_name

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name, (_, summary) in self._lazy.items() if summary]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self._lazy.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = getattr(import_module(f".{entry[0]}", __package__), cmd_name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._lazy[name][1]) for name in self.list_commands(ctx)])

"""Redirects `bmad install` and `bmad uninstall` to npm's bmad-method, whose program is also called bmad."""

import shlex
from typing import NoReturn

import click

from ..core.errors import UsageError

_AS_TYPED = {"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []}


@click.command(hidden=True, context_settings=_AS_TYPED)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def install(arguments: tuple[str, ...]) -> None:
    _refuse_npm_command("install", arguments)


@click.command(hidden=True, context_settings=_AS_TYPED)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def uninstall(arguments: tuple[str, ...]) -> None:
    _refuse_npm_command("uninstall", arguments)


def _refuse_npm_command(verb: str, arguments: tuple[str, ...]) -> NoReturn:
    raise UsageError(
        f"this bmad is BMAD Autopilot; {verb} is a command of BMAD's installer from npm",
        hint=shlex.join(["npx", "bmad-method", verb, *arguments]),
    )

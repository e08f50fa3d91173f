"""bmad autopilot: epics to merged pull requests."""

import click

from .planning import not_yet


@click.command(hidden=True)
@click.argument("patterns", nargs=-1)
def autopilot(patterns: tuple[str, ...]) -> None:
    """Take epics to merged pull requests."""
    raise not_yet("bmad status, bmad run-epic EPIC --dry-run")

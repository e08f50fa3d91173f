"""bmad workflow: run a file of steps, or see what is in it."""

import click

from .workflow_check import check
from .workflow_run import run


@click.group()
def workflow() -> None:
    """Run a file of steps of your own, or see whether it can be run (docs/workflow-files.md)."""


for _command in (run, check):
    workflow.add_command(_command)

"""bmad checkpoint: for agents inside a workflow that nobody drives, so that it can be gone on with."""

import click

from .checkpoint_close import close
from .checkpoint_save import save
from .checkpoint_update import update


@click.group()
def checkpoint() -> None:
    """Keep the place in a long workflow: save before a step, update after it, close at the end.

    For agents (or people) inside a workflow that bmad does not drive itself. `bmad resume` then says where to go
    on, with the variables and the artefacts so far."""


for _command in (save, update, close):
    checkpoint.add_command(_command)

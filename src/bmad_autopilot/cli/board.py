"""bmad board: check, set and repair the board."""

import click

from .board_check import check
from .board_repair import repair
from .board_set import set_


@click.group()
def board() -> None:
    """Check, set and repair the board."""


for _command in (check, set_, repair):
    board.add_command(_command)

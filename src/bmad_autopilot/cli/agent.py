"""bmad agent: see that an agent works here; follow or stop a call."""

import click

from .agent_attach import attach
from .agent_cancel import cancel
from .agent_list import list_
from .agent_logs import logs
from .agent_test import test_


@click.group()
def agent() -> None:
    """See that an agent works here; follow or stop a call."""


for _command in (list_, test_, logs, attach, cancel):
    agent.add_command(_command)

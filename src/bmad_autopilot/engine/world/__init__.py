"""The real implementation of a lane's ports: files, git, agents, the project's checks, people."""

from typing import TYPE_CHECKING

from .agents import AgentPorts
from .base import BoardPorts, RecordPorts
from .delivery import DeliveryPorts
from .people import PeoplePorts

if TYPE_CHECKING:
    from ..flows.model import FlowStore


class World(RecordPorts, BoardPorts, AgentPorts, DeliveryPorts, PeoplePorts):
    """Implements engine.ports.Ports."""

    def flow_store(self) -> "FlowStore":
        raise AssertionError("only a flow has a desk: flows/world.py")

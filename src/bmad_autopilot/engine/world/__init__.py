"""The real world behind a lane's doors: files, git, agents, the project's checks, people."""

from typing import TYPE_CHECKING

from .agents import AgentDoors
from .board import BoardDoors
from .delivery import DeliveryDoors
from .people import PeopleDoors
from .records import RecordDoors

if TYPE_CHECKING:
    from ..flows.sight import Desk


class World(RecordDoors, BoardDoors, AgentDoors, DeliveryDoors, PeopleDoors):
    """All of them: what engine.doors.Doors asks for."""

    def flow(self) -> "Desk":
        raise AssertionError("only a flow has a desk: flows/world.py")

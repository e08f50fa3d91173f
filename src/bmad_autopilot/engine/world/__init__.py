"""The real world behind a lane's doors: files, git, agents, the project's checks, people."""

from .agents import AgentDoors
from .board import BoardDoors
from .delivery import DeliveryDoors
from .people import PeopleDoors
from .records import RecordDoors


class World(RecordDoors, BoardDoors, AgentDoors, DeliveryDoors, PeopleDoors):
    """All of them: what engine.doors.Doors asks for."""

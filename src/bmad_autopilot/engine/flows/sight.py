"""What is seen of a flow, and the desk it is seen at."""

from typing import NamedTuple, Protocol

from ...core.flow_state import FlowState
from ...workflows.flow_place import Place
from ...workflows.pipelines import Step
from ..doors import CallId


class Sight(NamedTuple):
    """One look at the state file and the folder."""

    state: FlowState | None  # None: there is no such file yet
    place: Place


class Wanted(NamedTuple):
    """What the state file should say, and what of the run is then recorded there."""

    state: FlowState
    recorded: tuple[str, ...] = ()


class FlowLook(NamedTuple):
    sight: Sight
    wanted: Wanted


class Desk(Protocol):
    def look(self) -> Sight:
        """FileError: the state file cannot be read."""

    def keep(self, wanted: FlowState) -> None:
        """Write the state file. What else stands in it stays."""

    def substep(self, call: CallId) -> str:
        """The one that the call's agent said it was at."""

    def can_commit(self) -> bool: ...
    def about(self, step: Step) -> str:
        """What a person should know before they decide about it: what it has left, in a few lines."""

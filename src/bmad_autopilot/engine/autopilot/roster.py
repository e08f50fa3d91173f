"""What became of each epic in one flight: under way, just being begun, over, given up."""

from collections.abc import Callable, Collection
from typing import NamedTuple

from ...core.schedule import Candidate, Stage
from ..driving import RunEnd
from .holding import as_asked, parked
from .lanes import Held, after, placed


class GivenUp(NamedTuple):
    """Why an epic could not be begun, and what helps."""

    why: str
    hint: str = ""


class Roster:
    """`read`: the lanes that are not over, as their records have them now, whatever was given up gone on with."""

    def __init__(self, read: Callable[[], list[Held]]) -> None:
        self._read = read
        self.lanes: list[Held] = []
        self.merged: list[str] = []
        self.over: list[str] = []  # one that was left as it is on its branch is not begun again
        self.begun: dict[str, str] = {}  # epics that are just being begun, with their numbers
        self.given_up: dict[str, GivenUp] = {}  # of those the ones that could not be

    @property
    def is_blocked(self) -> bool:
        return bool(self.given_up) or any(held.stage is Stage.BLOCKED for held in self.lanes)

    def of(self, key: str) -> Held | None:
        return next((held for held in self.lanes if held.lane.key == key), None)

    def idle(self, driven: Collection[str]) -> list[Held]:
        """Those that nobody drives just now."""
        return [held for held in self.lanes if held.lane.key not in driven]

    def begin(self, epic: Candidate) -> None:
        self.begun[epic.key] = epic.number

    def drop(self, key: str) -> None:
        """It was not begun after all, and may be later."""
        self.begun.pop(key, None)

    def took(self, end: RunEnd) -> None:
        """A lane was driven as far as it goes."""
        key = end.lane.key
        self.move([held.folder for held in self.lanes if held.is_held_up])
        self.begun.pop(key, None)
        if end.status not in ("completed", "not-done"):
            self.lanes = placed(self.lanes, after(end))
            return
        self.lanes = [held for held in self.lanes if held.folder != end.folder]
        self.over.append(key)
        if end.record.delivery.merged:
            self.merged.append(key)

    def has_run(self, key: str) -> bool:
        return self._recorded(key) is not None

    def _recorded(self, key: str) -> Held | None:
        return next((one for one in self._read() if one.lane.key == key), None)

    def broke_off(self, key: str, why: str, hint: str = "", *, again: bool) -> None:
        """As its records have it: before that it may have got far, and may have an agent at work."""
        held = self._recorded(key)
        if held is not None:
            stage = held.moved().stage if again else Stage.BLOCKED
            self.lanes = placed(self.lanes, held._replace(stage=stage, why=why))
        elif not again:  # it stays begun: what waits for it does not begin without it
            self.given_up[key] = GivenUp(why, hint)
            return
        self.begun.pop(key, None)

    def hold_up(self, held: Held, why: str, until: float) -> None:
        """It wants a place that another has: looked at again then, and whenever another has been driven."""
        self.lanes = placed(self.lanes, held.held_up(why, until))

    def move(self, folders: Collection[str]) -> None:
        """These can go on."""
        self.lanes = [held.moved() if held.folder in folders else held for held in self.lanes]

    def obey(self, driven: Collection[str]) -> list[str]:
        """What was asked of single lanes at another terminal. Those that are parked by it just now."""
        before = {held.folder for held in self.lanes if held.stage is Stage.HELD}
        self.lanes = as_asked(self.lanes, driven)
        return [held.lane.key for held in self.lanes if held.stage is Stage.HELD and held.folder not in before]

    def park(self, why: str) -> None:
        self.lanes = [parked(held, why) for held in self.lanes]

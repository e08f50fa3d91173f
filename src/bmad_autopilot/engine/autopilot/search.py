"""The look for epics that could be begun: only where there is room, and later where it cannot be done now."""

from collections.abc import Callable, Iterator
from math import inf

from ...core.errors import AutopilotError
from ...core.schedule import Candidate
from ...github.forge import ForgeError
from .epics import Epics
from .fleet import Fleet
from .roster import Roster
from .watching import AWAY, PASSING


class Search:
    """`has_others`: whether somebody is at work, or waits for something that may come."""

    def __init__(
        self,
        epics: Epics,
        roster: Roster,
        fleet: Fleet,
        say: Callable[[str], None],
        clock: Callable[[], float],
        has_others: Callable[[], bool],
    ) -> None:
        self._epics = epics
        self._roster = roster
        self._fleet = fleet
        self._say = say
        self._now = clock
        self._has_others = has_others
        self.again = inf  # when what could not be done is tried again; inf: nothing of the kind
        self._failed = ""  # why, as it was told
        self._found: list[Candidate] = []

    def waited(self) -> None:
        """Until then, perhaps; whether anybody looks now depends on whether there is room."""
        if self._now() >= self.again:
            self.again = inf

    def found(self, key: str) -> Candidate:
        return next(one for one in self._found if one.key == key)

    def look(self) -> Iterator[Candidate]:
        """The next one; whoever asks for it could begin it. Each look costs points of the hour's."""
        if self._now() < self.again < inf and self._has_others():
            return
        self.again = inf
        roster = self._roster
        try:
            self._found = self._epics.found(roster.lanes, roster.over, roster.begun)
        except (AutopilotError, OSError) as error:
            self.later(error)
            return
        self._failed = ""
        chosen = self._fleet.to_begin(self._found, self._epics.graph, self._epics.left)
        if chosen is not None:
            yield chosen

    def later(self, error: AutopilotError | OSError) -> None:
        """Those that wait are watched meanwhile, and those at work go on: a board that cannot be read may be
        mended until then. What is every lane's is not waited for."""
        is_lasting = isinstance(error, ForgeError) and error.trouble not in PASSING
        if is_lasting or not self._has_others():
            raise error
        until = error.until if isinstance(error, ForgeError) else 0.0
        self.again = max(until, self._now() + AWAY)
        why = " ".join(str(error).split())
        if why != self._failed and not isinstance(error, ForgeError):
            self._say(f"no epic can be begun just now, which is tried again: {why}")
        self._failed = why

"""The lanes that wait, watched by one look for all of them; and what else may happen meanwhile."""

from collections.abc import Callable

from ...core.schedule import Stage
from ...github.branches import Branches
from ...github.forge import Forge
from ...project.config import Config
from ..delivery.plan import LOCAL
from ..waiting import Waiting
from .crew import Crew
from .fleet import Fleet
from .holding import Orders, as_asked, request_files
from .lanes import Held, is_answered, question_files
from .watching import moved_here, moved_lanes

# Seconds after which a pending pull request is looked at whole, whatever its mark says: a net, and no more often,
# because a hundred of them cost hundreds of points each time.
RESCAN = 7200.0


class Lookout:
    """`end`: when the command's time is up; None: never."""

    def __init__(
        self,
        config: Config,
        branches: Branches,
        base: str,
        forge: Callable[[], Forge],
        orders: Orders,
        clock: Callable[[], float],
        end: float | None,
    ) -> None:
        self._seconds = float(config.github.check_interval)
        self._is_local = config.delivery == LOCAL
        self._branches = branches
        self._base = base
        self._forge = forge
        self._orders = orders
        self._now = clock
        self._end = end
        self._looks_at = 0.0

    def look_now(self) -> None:
        """Something was done that may have moved others."""
        self._looks_at = 0.0

    def wait(self, idle: list[Held], waiting: Waiting, crew: Crew, fleet: Fleet, again: float) -> set[str]:
        """Looks at what waits, and waits until the next look, or until `again`. Folders of what can go on: it has
        changed, was answered, or has had its time; empty: something else has happened that matters."""
        waits = [held for held in idle if held.stage is Stage.WAITS]
        asks = [held for held in idle if held.stage is Stage.ASKS]
        requests = [self._orders.path, *request_files(idle)]
        files = (*requests, *(path for held in asks for path in question_files(held)))
        rescan = min(self._now() + RESCAN, again)
        while not (waiting.stops or crew.has_news or fleet.has_news() or self._is_ordered(idle)):
            moved = {held.folder for held in asks if is_answered(held)}
            moved |= {held.folder for held in waits if held.lane.key in fleet.turned()}
            if self._now() >= self._looks_at:
                moved |= self._moved(waits, waiting)
                self._looks_at = self._now() + self._interval()
            if self._now() >= rescan:
                return moved | {held.folder for held in waits}
            if moved:
                return moved
            times = [held.until for held in waits if held.until is not None and held.until > self._now()]
            waiting.until(min([self._looks_at, rescan, *times, *([self._end] if self._end else [])]), files)
        return set()

    def _is_ordered(self, idle: list[Held]) -> bool:
        """Somebody at another terminal has asked for something, or a bound of the command is met."""
        return bool(self._orders.stops()) or self._orders.is_held_back() or as_asked(idle, ()) != idle

    def _moved(self, waits: list[Held], waiting: Waiting) -> set[str]:
        if self._is_local:
            return moved_here(waits, self._now(), self._branches.head_of(self._base))
        return moved_lanes(waits, self._now(), self._forge(), waiting.until)

    def _interval(self) -> float:
        return self._seconds if self._is_local else self._forge().pace(self._seconds)

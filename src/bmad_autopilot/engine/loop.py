"""The loop: observe, decide, perform, record.

Each turn looks at how things are and never at what we remember having done; what we know of this run is its
journal. After a crash at any point it begins again with just that."""

from typing import Any

from ..core.decide import WAITS, decide
from ..core.errors import AutopilotError
from ..core.folding import apply, fold
from ..core.records import RunRecord
from .doors import Doors
from .lane import Lane
from .observing import observe
from .performing import perform

PENDING = "pending"
MAX_TURNS = 100_000  # of one run's supervisor: a night has some thousand
MAX_SAME = 50  # the same row of the table in a row, waits apart


class LaneLoop:
    """One lane, looked after until it ends, waits for a person, or is left."""

    def __init__(self, doors: Doors, lane: Lane) -> None:
        self.doors = doors
        self.lane = lane
        self.run: RunRecord = fold(doors.entries())
        self.waited_for = ""
        self._decided: dict[str, Any] = {}  # said with the first entry of a turn: `bmad runs why` shows it

    def note(self, kind: str, /, **data: Any) -> None:
        """On disk first: only what is recorded counts."""
        said, self._decided = self._decided, {}
        at = self.doors.note(kind, {**data, **said})
        apply(self.run, kind, data, at)

    def to_end(self) -> str:
        """How it ended: completed, not-done, failed, left, waiting (for a person), handed-over."""
        last, same = "", 0
        for _ in range(MAX_TURNS):
            look = observe(self.doors, self.lane, self.run)
            rule = decide(look.facts)
            same = same + 1 if rule.name == last and rule.action not in WAITS else 0
            if same > MAX_SAME:
                break
            last = rule.name
            self._decided = {"decided": {"rule": rule.name, "facts": look.facts.told()}}
            ending = perform(self, look, rule)
            if ending == PENDING and rule.wait is None:
                raise AutopilotError(f"{rule.name} waits, and nothing ends that wait", hint="this is a defect")
            if ending is not None:
                return ending
        raise AutopilotError(f"the loop goes round in circles at {last}", hint="bmad status; this is a defect")

"""The loop of one lane: observe, decide, perform, record.

Each tick observes the actual state and keeps no memory besides the run's journal. After a crash at any point it
continues from that."""

from typing import Any

from ..core.decide import WAIT_ACTIONS, decide
from ..core.errors import AutopilotError
from ..core.journal_fold import apply_entry, fold
from ..core.run_ending import RunEnding
from ..core.run_record import RunRecord
from ..core.transitions import Rule
from .lane import Lane
from .observe import observe
from .perform import perform
from .ports import Ports

MAX_TURNS = 100_000  # of one run's supervisor: a night takes a few thousand
MAX_REPEATS = 50  # consecutive ticks with the same rule, not counting waits


class LaneLoop:
    """Runs one lane until it ends, waits for a person, or is left."""

    def __init__(self, ports: Ports, lane: Lane) -> None:
        self.ports = ports
        self.lane = lane
        self.run: RunRecord = fold(ports.records.entries())
        self.awaited_question = ""
        self._decided: dict[str, Any] = {}  # added to a tick's first entry: `bmad runs why` shows it

    def note(self, kind: str, /, **data: Any) -> None:
        """Append to the journal on disk first, then apply the entry to the run record."""
        decision, self._decided = self._decided, {}
        at = self.ports.records.note(kind, {**data, **decision})
        apply_entry(self.run, kind, data, at)

    def run_to_end(self) -> RunEnding:
        """Tick until the lane ends, waits for others, or is left."""
        last: Rule | None = None
        same = 0
        for _ in range(MAX_TURNS):
            observation = observe(self.ports, self.lane, self.run)
            rule = decide(observation.facts)
            same = same + 1 if rule is last and rule.action not in WAIT_ACTIONS else 0
            if same > MAX_REPEATS:
                break
            last = rule
            self._decided = {"decided": {"rule": rule.name, "facts": observation.facts.non_default()}}
            ending = perform(self, observation, rule)
            if ending is RunEnding.PENDING and rule.wait is None:
                raise AutopilotError(f"{rule.name} waits, and nothing ends that wait", hint="this is a defect")
            if ending is not None:
                return ending
        raise AutopilotError(
            f"the loop goes round in circles at {last.name if last else ''}", hint="bmad status; this is a defect"
        )

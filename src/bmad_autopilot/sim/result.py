"""The result of a simulation, as the invariants read it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..engine.lane import Lane
from ..engine.ports import RunEvent
from .effect_log import Effect
from .memory.world import MemoryWorld
from .scenario import Scenario


@dataclass
class LaneSession:
    """One lane's run."""

    run: str
    lane: Lane
    ending: str = ""
    finished_at: float = 0.0  # virtual time
    rows: Mapping[str, str] = field(default_factory=dict)  # the board's statuses at that time


@dataclass
class SimulationResult:
    seed: int
    world: MemoryWorld
    scenario: Scenario
    stories: list[str]
    sessions: list[LaneSession] = field(default_factory=list)
    ending: str = ""  # of the autopilot, in a simulated delivery

    def journal(self, run: str) -> list[RunEvent]:
        return self.world.journals.get(run, [])

    def entries(self, *kinds: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Run and data of every journal entry of these kinds."""
        for run, journal in self.world.journals.items():
            for kind, data, _ in journal:
                if kind in kinds:
                    yield run, data

    def edits(self) -> Iterator[Effect]:
        return self.world.log.select("edit-row")

    def stories_changed_by_people(self) -> set[str]:
        """Stories whose row a person moved, which they took over, gave to another agent or approved against the
        review, or that were in progress when they wrote a file."""
        participants, log = self.scenario.participants, self.world.log
        found = {str(effect.data["key"]) for effect in self.edits()}
        found |= self._stories_with_foreign_files()
        found |= {str(e.data["story"]) for e in log.select("answer") if e.data["answer"] in ("fix", "approve")}
        return found | {
            story for story, habit in participants.habits.items() if habit != participants.initial_habits[story]
        }

    def _stories_with_foreign_files(self) -> set[str]:
        """Stories in progress when a person wrote a file: the file counts as work on them."""
        found: set[str] = set()
        begun = ""
        for effect in self.world.log.select("note", "write-file"):
            if effect.kind == "write-file":
                found |= {begun, str(effect.data["story"])}
            elif effect.data["entry"] == "story":
                begun = str(effect.data["story"])
        return found

    def skipped_stories(self) -> Iterator[str]:
        return (str(e.data["story"]) for e in self.world.log.select("answer") if e.data["answer"] == "skip")

"""A simulation that is over, for the promises to be held against."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..engine.doors import Entry
from ..engine.lane import Lane
from .log import Effect
from .memory import World
from .scenario import Scenario


@dataclass
class Session:
    """One lane's run."""

    run: str
    lane: Lane
    ending: str = ""
    finished: float = 0.0  # when
    rows: Mapping[str, str] = field(default_factory=dict)  # what the board meant then


@dataclass
class Played:
    seed: int
    world: World
    scenario: Scenario
    stories: list[str]
    sessions: list[Session] = field(default_factory=list)
    ending: str = ""  # of the autopilot over all of them, where they were delivered

    def journal(self, run: str) -> list[Entry]:
        return self.world.journals.get(run, [])

    def entries(self, *kinds: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Run and data of all entries of these kinds."""
        for run, journal in self.world.journals.items():
            for kind, data, _ in journal:
                if kind in kinds:
                    yield run, data

    def edits(self) -> Iterator[Effect]:
        return self.world.log.of("edit-row")

    def touched_by_people(self) -> set[str]:
        """Stories whose row they moved, beside whose work they wrote, which they took over, gave to another agent,
        or approved against the review."""
        cast, log = self.scenario.cast, self.world.log
        found = {str(effect.data["key"]) for effect in self.edits()}
        found |= self._written_beside()
        found |= {str(e.data["story"]) for e in log.of("answer") if e.data["answer"] in ("fix", "approve")}
        return found | {story for story, habit in cast.habits.items() if habit != cast.first[story]}

    def _written_beside(self) -> set[str]:
        """Stories that were begun and not over when a person wrote a file: it counts as work on them."""
        found: set[str] = set()
        begun = ""
        for effect in self.world.log.of("note", "write-file"):
            if effect.kind == "write-file":
                found |= {begun, str(effect.data["story"])}
            elif effect.data["entry"] == "story":
                begun = str(effect.data["story"])
        return found

    def skipped(self) -> Iterator[str]:
        return (str(e.data["story"]) for e in self.world.log.of("answer") if e.data["answer"] == "skip")

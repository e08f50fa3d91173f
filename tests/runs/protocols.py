"""Runs as agents keep them with `bmad checkpoint`."""

from pathlib import Path
from typing import Any

from bmad_autopilot.runs.finding import Run
from bmad_autopilot.runs.protocol import Keeper, Kept, Saving, Surroundings, Update
from bmad_autopilot.runs.state import Status

BEGAN = 1_800_000_000.0
AROUND = Surroundings("a" * 40, "main", "b" * 40, "refs/autopilot/checkpoints/x/1", {"1-1-sign-up": "done"})


class Agent:
    """One process after another: each call begins anew."""

    def __init__(self, runs: Path, workflow: str = "create-prd", session: str = "main") -> None:
        self.runs, self.workflow, self.session = runs, workflow, session

    @property
    def keeper(self) -> Keeper:
        return Keeper(str(self.runs), lambda value: value, BEGAN)

    @property
    def run(self) -> Run:
        found = self.keeper.find(None, self.session)
        assert found is not None
        return found

    @property
    def folder(self) -> Path:
        return Path(self.run.folder)

    def save(self, step: int, **more: Any) -> Kept:
        saving = Saving(self.workflow, step, self.session, **more)
        return self.keeper.save(self.keeper.open(None, saving), saving, AROUND)

    def update(self, step: int, **more: Any) -> Kept:
        return self.keeper.update(self.run, Update(step, **more), AROUND)

    def close(self, status: str = "completed", summary: str = "") -> Kept:
        return self.keeper.close(self.run, Status(status), summary)

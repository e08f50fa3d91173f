"""Runs that an agent records with `bmad checkpoint`."""

from pathlib import Path
from typing import Any

from bmad_autopilot.runs.checkpoint_protocol import (
    CheckpointContext,
    CheckpointProtocol,
    ProtocolResult,
    SaveRequest,
    UpdateRequest,
)
from bmad_autopilot.runs.index import Run
from bmad_autopilot.runs.state_file import RunStatus

STARTED_AT = 1_800_000_000.0
SURROUNDINGS = CheckpointContext(
    "a" * 40, "main", "b" * 40, "refs/autopilot/checkpoints/x/1", {"1-1-sign-up": "done"}
)


class CheckpointingAgent:
    """An agent that runs `bmad checkpoint`: every call is a new process without memory."""

    def __init__(self, runs: Path, workflow: str = "create-prd", session: str = "main") -> None:
        self.runs, self.workflow, self.session = runs, workflow, session

    @property
    def keeper(self) -> CheckpointProtocol:
        return CheckpointProtocol(str(self.runs), lambda value: value, STARTED_AT)

    @property
    def run(self) -> Run:
        found = self.keeper.find(None, self.session)
        assert found is not None
        return found

    @property
    def folder(self) -> Path:
        return Path(self.run.folder)

    def save(self, step: int, **more: Any) -> ProtocolResult:
        saving = SaveRequest(self.workflow, step, self.session, **more)
        return self.keeper.save(self.keeper.open(None, saving), saving, SURROUNDINGS)

    def update(self, step: int, **more: Any) -> ProtocolResult:
        return self.keeper.update(self.run, UpdateRequest(step, **more), SURROUNDINGS)

    def close(self, status: str = "completed", summary: str = "") -> ProtocolResult:
        return self.keeper.close(self.run, RunStatus(status), summary)

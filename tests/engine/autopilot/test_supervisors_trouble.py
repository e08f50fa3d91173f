"""What goes wrong in the supervisor's own thread, while lanes are at work beside it: they go on."""

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.engine.autopilot import epics
from bmad_autopilot.engine.autopilot.epics import Epics
from bmad_autopilot.engine.autopilot.monitor import LaneMonitor
from bmad_autopilot.engine.autopilot.reporter import OwnedRuns
from bmad_autopilot.git.git import GitError
from bmad_autopilot.git.worktrees import site
from bmad_autopilot.runs.supervisor_lock import SupervisorLock, hold_supervisor_lock, lock_owner
from bmad_autopilot.sim.sample import BOARD
from tests.support.parallel_runs import check_merged, first_entry, lane_worktrees, parallel_project

TOLD = "no epic can be begun just now"


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """On that GitHub time goes by from look to look."""
    monkeypatch.setattr(LaneMonitor, "_interval", lambda self: 0.2)
    monkeypatch.setattr(epics, "AWAY", 0.3)


@pytest.mark.real
def test_a_board_that_cannot_be_read_is_looked_at_again_until_somebody_mends_it(tmp_path: Path) -> None:
    pilot = parallel_project(tmp_path / "p")
    refs, first = pilot.refs, first_entry("call", lane="epic-2")
    good = refs.read(refs.head_of("main"), BOARD)
    assert good is not None

    def push(text: bytes) -> None:
        pilot.model.push("main", refs.commit(refs.head_of("main"), {BOARD: text}, "The board", "Maria"))

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if first(kind, data):
            push(good + b"  : [broken\n")
        if kind == "notice" and data["text"].startswith(TOLD):
            push(good)

    flight = pilot.run(heard, parallel=2)
    assert flight.end.exit_code == 0, flight.end
    check_merged(pilot, flight, "epic-1", "epic-2", "epic-3")
    told = [one["text"] for one in flight.entries("notice") if one["text"].startswith(TOLD)]
    assert len(told) == 1
    assert BOARD in told[0]


@pytest.mark.real
def test_what_stays_so_is_raised_once_nobody_is_at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pilot = parallel_project(tmp_path / "p", epics=2)
    found, looks = Epics.find_candidates, []

    def broken(self: Epics, *arguments: Any) -> Any:
        looks.append(1)
        if len(looks) > 1:
            raise GitError("git is not well")
        return found(self, *arguments)

    monkeypatch.setattr(Epics, "find_candidates", broken)
    told: list[str] = []

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if kind in ("notice", "merged"):
            told.append(data.get("text", "merged"))

    with pytest.raises(GitError):
        pilot.run(heard, parallel=2)
    assert [text.startswith(TOLD) for text in told if text.startswith(TOLD)] == [True]
    assert told[-1] == "merged"


@pytest.mark.real
def test_a_worktree_that_cannot_be_removed_stays_and_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pilot = parallel_project(tmp_path / "p", epics=2)
    set_aside = site.set_aside

    def busy(folder: str) -> str:
        if folder.endswith("epic-1"):
            raise OSError(errno.EBUSY, "Device or resource busy", folder)
        return set_aside(folder)

    monkeypatch.setattr(site, "set_aside", busy)
    flight = pilot.run(parallel=1)
    check_merged(pilot, flight, "epic-1", "epic-2")
    assert lane_worktrees(pilot) == ["epic-1"]
    told = [one["text"] for one in flight.entries("notice") if "stays" in one["text"]]
    assert len(told) == 1
    assert "Device or resource busy" in told[0]
    again = pilot.run(parallel=1)
    assert again.end.exit_code == 0, "nor does it hold up the next command"


def test_whom_it_looks_after_cannot_be_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hold_supervisor_lock(str(tmp_path), "autopilot") as supervision:
        charges = OwnedRuns(supervision)

        def full(self: SupervisorLock, *arguments: Any) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patch:
            patch.setattr(SupervisorLock, "_write", full)
            charges.add("runs/epic-1-x")
        charges.add("runs/epic-2-x")
        found = lock_owner(str(tmp_path))
    assert found is not None
    assert found.runs == ("epic-1-x", "epic-2-x")

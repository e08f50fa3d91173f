"""What goes wrong in the supervisor's own thread, while lanes are at work beside it: they go on."""

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.engine.autopilot import search
from bmad_autopilot.engine.autopilot.charges import Charges
from bmad_autopilot.engine.autopilot.epics import Epics
from bmad_autopilot.engine.autopilot.lookout import Lookout
from bmad_autopilot.github.git import GitError
from bmad_autopilot.github.worktrees import trash
from bmad_autopilot.runs.supervisor import Supervision, hold, owner
from bmad_autopilot.sim.sample import BOARD
from tests.engine.autopilot.flights import checked, once, side_by_side, worktrees

TOLD = "no epic can be begun just now"


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """On that GitHub time goes by from look to look."""
    monkeypatch.setattr(Lookout, "_interval", lambda self: 0.2)
    monkeypatch.setattr(search, "AWAY", 0.3)


@pytest.mark.real
def test_a_board_that_cannot_be_read_is_looked_at_again_until_somebody_mends_it(tmp_path: Path) -> None:
    pilot = side_by_side(tmp_path / "p")
    refs, first = pilot.refs, once("call", lane="epic-2")
    good = refs.read(refs.head_of("main"), BOARD)
    assert good is not None

    def push(text: bytes) -> None:
        pilot.model.push("main", refs.commit(refs.head_of("main"), {BOARD: text}, "The board", "Maria"))

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if first(kind, data):
            push(good + b"  : [broken\n")
        if kind == "notice" and data["text"].startswith(TOLD):
            push(good)

    flight = pilot.fly(heard, parallel=2)
    assert flight.end.exit_code == 0, flight.end
    checked(pilot, flight, "epic-1", "epic-2", "epic-3")
    told = [one["text"] for one in flight.entries("notice") if one["text"].startswith(TOLD)]
    assert len(told) == 1
    assert BOARD in told[0]


@pytest.mark.real
def test_what_stays_so_is_raised_once_nobody_is_at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pilot = side_by_side(tmp_path / "p", epics=2)
    found, looks = Epics.found, []

    def broken(self: Epics, *arguments: Any) -> Any:
        looks.append(1)
        if len(looks) > 1:
            raise GitError("git is not well")
        return found(self, *arguments)

    monkeypatch.setattr(Epics, "found", broken)
    told: list[str] = []

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if kind in ("notice", "merged"):
            told.append(data.get("text", "merged"))

    with pytest.raises(GitError):
        pilot.fly(heard, parallel=2)
    assert [text.startswith(TOLD) for text in told if text.startswith(TOLD)] == [True]
    assert told[-1] == "merged"


@pytest.mark.real
def test_a_worktree_that_cannot_be_removed_stays_and_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pilot = side_by_side(tmp_path / "p", epics=2)
    set_aside = trash.set_aside

    def busy(folder: str) -> str:
        if folder.endswith("epic-1"):
            raise OSError(errno.EBUSY, "Device or resource busy", folder)
        return set_aside(folder)

    monkeypatch.setattr(trash, "set_aside", busy)
    flight = pilot.fly(parallel=1)
    checked(pilot, flight, "epic-1", "epic-2")
    assert worktrees(pilot) == ["epic-1"]
    told = [one["text"] for one in flight.entries("notice") if "stays" in one["text"]]
    assert len(told) == 1
    assert "Device or resource busy" in told[0]
    again = pilot.fly(parallel=1)
    assert again.end.exit_code == 0, "nor does it hold up the next command"


def test_whom_it_looks_after_cannot_be_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hold(str(tmp_path), "autopilot") as supervision:
        charges = Charges(supervision)

        def full(self: Supervision, *arguments: Any) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patch:
            patch.setattr(Supervision, "_write", full)
            charges.add("runs/epic-1-x")
        charges.add("runs/epic-2-x")
        found = owner(str(tmp_path))
    assert found is not None
    assert found.runs == ("epic-1-x", "epic-2-x")

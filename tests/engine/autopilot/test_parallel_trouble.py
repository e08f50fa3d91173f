"""Lanes beside each other, one of them in trouble: the others go on, and it is said why that one did not."""

import errno
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.agents.attempts import State, state_of
from bmad_autopilot.engine.autopilot import fleet
from bmad_autopilot.engine.autopilot.crew import Crew
from bmad_autopilot.engine.autopilot.fleet import MAX_CRASHES
from bmad_autopilot.engine.autopilot.lookout import Lookout
from bmad_autopilot.runs.layout import runs_folder
from bmad_autopilot.sim.sample import scripted
from tests.agents.stubs import until
from tests.engine.autopilot.flights import checked, lane_threads, once, runs_of, side_by_side
from tests.engine.autopilot.piloting import Flight, Pilot
from tests.support import git

pytestmark = pytest.mark.real


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """On that GitHub time goes by from look to look."""
    monkeypatch.setattr(Lookout, "_interval", lambda self: 0.2)
    monkeypatch.setattr(fleet, "PAUSE", 0.1)


def log_of(pilot: Pilot) -> str:
    return (pilot.work / ".autopilot" / "autopilot.log").read_text()


def attempts_of(pilot: Pilot) -> list[str]:
    """The folders of all calls."""
    return [str(path) for path in Path(runs_folder(str(pilot.work))).glob("*/*/steps/*/attempt-*")]


def parked(flight: Flight, key: str, why: str) -> None:
    """Tried a few times, and then told so, with the reason; and nobody is told that all is well."""
    assert flight.end.exit_code == 1, flight.end
    told = [one["text"] for one in flight.entries("notice") if one["text"].startswith(f"{key} broke off")]
    assert len(told) == MAX_CRASHES, told
    assert "parked: bmad autopilot --continue" in told[-1]
    assert why in told[-1]
    held = "".join(one.why for one in flight.end.lanes if one.lane.key == key)
    assert why in f"{flight.end.why}{held}"


def test_lanes_without_a_place_to_work(tmp_path: Path) -> None:
    """Where epic 2 belongs stands something else, epic 3's branch is checked out elsewhere, and what has to be run
    for epic 4 fails."""
    command = """sh -c "case $PWD in *epic-4) exit 7;; esac" """
    pilot = side_by_side(tmp_path / "p", epics=4, settings=f"[worktrees]\npost_create = ['{command}']\n")
    place = pilot.folder / "work.worktrees" / "epic-2"
    place.mkdir(parents=True)
    (place / "mine.txt").write_text("mine\n")
    git(pilot.work, "worktree", "add", "--quiet", "-b", "feature/epic-3", str(pilot.folder / "elsewhere"))
    flight = pilot.fly(parallel=4)
    checked(pilot, flight, "epic-1")
    parked(flight, "epic-2", "stands where the worktree of epic-2 belongs")
    parked(flight, "epic-3", "is checked out")
    parked(flight, "epic-4", "exit")
    assert (place / "mine.txt").read_text() == "mine\n"


def test_lanes_that_break_off_every_time_are_parked_with_the_reason(tmp_path: Path) -> None:
    pilot = side_by_side(tmp_path / "p")
    problems = {
        "epic-2": RuntimeError("a wheel came off"),
        "epic-3": OSError(errno.ENOSPC, "No space left on device"),
    }

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if data.get("lane") in problems and kind in ("call", "ended", "resumed"):
            raise problems[data["lane"]]

    flight = pilot.fly(heard, parallel=3)
    checked(pilot, flight, "epic-1")
    for key, problem in problems.items():
        parked(flight, key, str(problem))
    assert "in heard raise problem" in log_of(pilot)
    again = pilot.fly(parallel=3, go_on=True)
    assert again.end.exit_code == 0
    assert sorted(again.end.merged) == ["epic-2", "epic-3"]
    assert all(len(runs_of(pilot, key)) == 1 for key in ("epic-1", *problems))


def test_a_lane_that_breaks_off_once_goes_on_with_the_same_run(tmp_path: Path) -> None:
    """Its agent is at work meanwhile: what it does counts, and is not done again."""
    pilot = side_by_side(tmp_path / "p", epics=2)
    first = once("call", lane="epic-2")

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if first(kind, data):
            raise RuntimeError("a wheel came off")

    flight = pilot.fly(heard, parallel=2)
    assert flight.end.exit_code == 0
    checked(pilot, flight, "epic-1", "epic-2")
    assert len(runs_of(pilot, "epic-2")) == 1
    assert len(attempts_of(pilot)) == 6


def test_what_waits_for_one_that_could_not_be_begun_is_not_begun(tmp_path: Path) -> None:
    depends = '[depends]\n"3" = ["2"]\n'
    pilot = side_by_side(tmp_path / "p", epics=3, dependencies="declared", settings=depends)
    git(pilot.work, "worktree", "add", "--quiet", "-b", "feature/epic-2", str(pilot.folder / "elsewhere"))
    flight = pilot.fly(parallel=2)
    assert flight.end.exit_code == 1
    checked(pilot, flight, "epic-1")
    assert runs_of(pilot, "epic-3") == []


@pytest.mark.parametrize(("number", "times"), [(signal.SIGINT, 1), (signal.SIGINT, 2), (signal.SIGTERM, 2)])
def test_stopped_with_three_agents_at_work(tmp_path: Path, number: int, times: int) -> None:
    """Once: they go on, and the next command takes them up. Twice: they are ended."""
    pilot = side_by_side(tmp_path / "p", agent=scripted("honest", 2.0 if times == 1 else 90.0))
    calls: list[str] = []

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if kind == "call":
            calls.append(data["lane"])
        if (kind == "call" and len(calls) == 3) or (kind == "stopping" and data["times"] < times):
            signal.raise_signal(number)

    flight = pilot.fly(heard, parallel=3)
    assert (flight.end.exit_code, flight.end.why) == (130, "stopped")
    assert lane_threads() == []
    assert {held.lane.key for held in flight.end.lanes} == {"epic-1", "epic-2", "epic-3"}
    if times > 1:
        until(lambda: {state_of(one) for one in attempts_of(pilot)} == {State.FINISHED}, "their end")
        return
    second = pilot.fly(parallel=3)
    assert second.end.exit_code == 0, second.end
    checked(pilot, second, "epic-1", "epic-2", "epic-3")
    assert len(attempts_of(pilot)) == 9


def test_a_trouble_of_the_supervisors_own_leaves_no_lane_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pilot = side_by_side(tmp_path / "p", epics=2)
    wait = Lookout.wait

    def broken(self: Lookout, idle: Any, waiting: Any, crew: Crew, *others: Any) -> set[str]:
        if crew.at_work:
            raise RuntimeError("a wheel came off")
        return wait(self, idle, waiting, crew, *others)

    monkeypatch.setattr(Lookout, "wait", broken)
    with pytest.raises(RuntimeError):
        pilot.fly(parallel=2)
    assert lane_threads() == []
    monkeypatch.undo()
    monkeypatch.setattr(Lookout, "_interval", lambda self: 0.2)
    flight = pilot.fly(parallel=2)
    checked(pilot, flight, "epic-1", "epic-2")

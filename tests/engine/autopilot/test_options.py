"""What one command may spend, in all its lanes together."""

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.engine.autopilot.options import UNPRICED, Bounds, Budgets
from bmad_autopilot.runs.index import unfinished_runs
from bmad_autopilot.runs.layout import runs_folder
from bmad_autopilot.runs.state_file import RunStatus
from bmad_autopilot.runs.supervisor_lock import ControlRequest, read_request, write_request
from tests.support.autopilot_runs import AutopilotProject
from tests.support.bmad_project import git

ENDED = {"dollars": 0.5, "tokens": 100}
HERE = 'delivery = "local"\ndependencies = "none"\n'  # nobody is waited for


def test_each_bound_is_met_by_its_own_measure() -> None:
    now = [10.0]
    for bounds, words in (
        (Bounds(dollars=1.0), "--max-cost 1 is reached: $1.00 in this command"),
        (Bounds(tokens=200), "--max-tokens 200 is reached: 200 in this command"),
    ):
        budgets = Budgets(bounds, lambda: now[0])
        budgets.on_event("ended", ENDED)
        budgets.on_event("call", ENDED)  # has cost nothing yet
        assert budgets.reached() == ""
        budgets.on_event("ended", ENDED)
        assert budgets.reached() == words
    until = Budgets(Bounds(until=11.0, clock="--until 07:00"), lambda: now[0])
    assert until.reached() == ""
    now[0] = 11.0
    assert until.reached() == "--until 07:00 is reached"
    assert Budgets(Bounds()).reached() == ""


def test_lanes_that_end_at_once_are_all_counted() -> None:
    budgets = Budgets(Bounds(tokens=100 * 8 * 200))

    def lane() -> None:
        for _ in range(200):
            budgets.on_event("ended", ENDED)

    lanes = [threading.Thread(target=lane) for _ in range(8)]
    for one in lanes:
        one.start()
    for one in lanes:
        one.join()
    assert budgets.reached()


def test_a_call_without_a_price_is_told_once_where_money_is_bounded() -> None:
    budgets = Budgets(Bounds(dollars=1.0))
    assert [budgets.on_event("ended", {"dollars": None, "tokens": None}) for _ in range(2)] == [UNPRICED, ""]
    assert Budgets(Bounds(tokens=1)).on_event("ended", {"dollars": None}) == ""


@pytest.fixture
def pilot(tmp_path: Path) -> AutopilotProject:
    return settled(AutopilotProject(tmp_path / "p", epics=2, stories=1), HERE)


def settled(pilot: AutopilotProject, settings: str) -> AutopilotProject:
    file = pilot.work / "bmad-autopilot.toml"
    file.write_text(settings + file.read_text())
    git(pilot.work, "commit", "--quiet", "--all", "--message", "More settings")
    return pilot


@pytest.mark.real
@pytest.mark.parametrize("parallel", [0, 2])
def test_a_bound_that_is_met_parks_every_lane_and_kills_no_call(pilot: AutopilotProject, parallel: int) -> None:
    flight = pilot.run(parallel=parallel, bounds=Bounds(dollars=0.1))
    end = flight.end
    assert (end.exit_code, end.merged) == (3, ())
    assert end.limit_reached.startswith("--max-cost 0.1 is reached: $")
    assert {(held.stage.value, held.why) for held in end.lanes} == {("held", "--max-cost 0.1 is reached")}
    calls, ends = flight.entries("call"), flight.entries("ended")
    assert len(calls) == len(ends) <= max(1, parallel)
    assert all(entry["finding"] == "good" for entry in ends)
    runs = unfinished_runs(runs_folder(str(pilot.work)))
    assert {run.state.status for run in runs} == {RunStatus.PAUSED}
    again = pilot.run(parallel=parallel)
    assert (again.end.exit_code, sorted(again.end.merged), again.end.limit_reached) == (
        0,
        ["epic-1", "epic-2"],
        "",
    )


@pytest.mark.real
def test_one_lane_is_paused_and_goes_on_beside_the_others(pilot: AutopilotProject) -> None:
    """Asked for while its agent works: that call is taken in; it goes on once the others are far enough."""
    parked: list[str] = []
    order: list[tuple[str, str]] = []

    def folder_of(key: str) -> str:
        return next(run.folder for run in unfinished_runs(runs_folder(str(pilot.work))) if run.target == key)

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        lane = str(data.get("lane", ""))
        order.append((kind, lane))
        if kind == "call" and lane == "epic-1" and not parked:
            parked.append(folder_of("epic-1"))
            write_request(parked[0], ControlRequest.PAUSE)
        if kind == "merged" and lane == "epic-2":
            assert read_request(parked[0]) is ControlRequest.PAUSE
            (parked_at,) = [at for at, one in enumerate(order) if one == ("left", "epic-1")]
            assert [one for one in order[parked_at:] if one == ("call", "epic-1")] == []
            Path(parked[0], "request.json").unlink()

    flight = pilot.run(heard, parallel=2)
    assert (flight.end.exit_code, flight.end.merged) == (0, ("epic-2", "epic-1"))
    assert order.count(("left", "epic-1")) == 1


@pytest.mark.real
@pytest.mark.parametrize(("ask", "code"), [(ControlRequest.PAUSE, 3), (ControlRequest.STOP, 130)])
def test_one_at_a_time_no_further_call_is_made_whatever_is_asked_of_all(
    pilot: AutopilotProject, ask: ControlRequest, code: int
) -> None:
    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if kind == "call":
            write_request(str(pilot.work / ".git" / "bmad-autopilot"), ask)

    flight = pilot.run(heard)
    assert (flight.end.exit_code, len(flight.entries("call")), len(flight.entries("ended"))) == (code, 1, 1)


@pytest.mark.real
@pytest.mark.parametrize(("ask", "code"), [(ControlRequest.PAUSE, 3), (ControlRequest.STOP_NOW, 130)])
def test_what_is_asked_of_the_autopilot_is_asked_of_every_lane(
    pilot: AutopilotProject, ask: ControlRequest, code: int
) -> None:
    state = str(pilot.work / ".git" / "bmad-autopilot")
    begun: list[str] = []

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if kind == "call":
            begun.append(str(data["lane"]))
            if len(begun) == 2:
                write_request(state, ask)

    flight = pilot.run(heard, parallel=2)
    assert (flight.end.exit_code, sorted(begun)) == (code, ["epic-1", "epic-2"])
    assert len(flight.end.lanes) == 2
    ended = [one["finding"] for one in flight.entries("ended")]
    assert ended == (["good", "good"] if ask is ControlRequest.PAUSE else ended)
    if ask is ControlRequest.PAUSE:
        again = pilot.run(parallel=2)
        assert sorted(again.end.merged) == ["epic-1", "epic-2"], "the request was of the command before"


@pytest.mark.real
def test_whoever_only_waits_ends_at_its_time(tmp_path: Path) -> None:
    pilot = settled(AutopilotProject(tmp_path / "p"), f'merge = "manual"\n{HERE}')

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if kind == "pending":
            write_request(str(pilot.work / ".git" / "bmad-autopilot"), ControlRequest.PAUSE)

    assert pilot.run(heard).end.exit_code == 3
    end = pilot.run(bounds=Bounds(until=time.time() + 1.0, clock="--max-hours 0.1")).end
    assert (end.exit_code, end.limit_reached) == (3, "--max-hours 0.1 is reached")
    assert [held.lane.key for held in end.lanes] == ["epic-1"]

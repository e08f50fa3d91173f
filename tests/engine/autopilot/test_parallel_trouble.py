"""Lanes beside each other, one of them in trouble: the others go on, and it is said why that one did not."""

import errno
import shutil
import signal
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.agents.attempt import AttemptState, attempt_state
from bmad_autopilot.core.errors import AutopilotError, UsageError
from bmad_autopilot.core.forge_errors import ForgeError, ForgeErrorKind
from bmad_autopilot.core.scheduling import EpicCandidate
from bmad_autopilot.core.transitions import EpicPhase
from bmad_autopilot.engine.autopilot import epics, scheduler
from bmad_autopilot.engine.autopilot.epics import Epics, EpicStart
from bmad_autopilot.engine.autopilot.lanes import LaneState
from bmad_autopilot.engine.autopilot.monitor import LaneMonitor
from bmad_autopilot.engine.autopilot.scheduler import MAX_CRASHES, LaneScheduler
from bmad_autopilot.engine.autopilot.workers import Workers
from bmad_autopilot.git.git import GitError
from bmad_autopilot.runs.layout import runs_folder
from bmad_autopilot.sim.sample import scripted_agent_command
from tests.support.agent_stubs import wait_until
from tests.support.autopilot_runs import AutopilotProject, AutopilotRun
from tests.support.bmad_project import git
from tests.support.parallel_runs import check_merged, first_entry, lane_threads, parallel_project, runs_of

pytestmark = pytest.mark.real


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """On that GitHub time goes by from look to look."""
    monkeypatch.setattr(LaneMonitor, "_interval", lambda self: 0.2)
    monkeypatch.setattr(scheduler, "PAUSE", 0.1)


def log_of(pilot: AutopilotProject) -> str:
    return (pilot.work / ".autopilot" / "autopilot.log").read_text()


def attempts_of(pilot: AutopilotProject) -> list[str]:
    """The folders of all calls."""
    return [str(path) for path in Path(runs_folder(str(pilot.work))).glob("*/*/steps/*/attempt-*")]


def parked(flight: AutopilotRun, key: str, why: str, hint: str = "", *, tries: int = MAX_CRASHES) -> None:
    """Tried a few times, and then told so, with the reason; and nobody is told that all is well."""
    assert flight.end.exit_code == 1, flight.end
    notices = [one["text"] for one in flight.entries("notice") if one["text"].startswith(key)]
    told = [text for text in notices if text.startswith(f"{key} broke off")]
    assert len(told) == tries, told
    assert told[-1].startswith(f"{key} broke off, and is parked: ")
    assert why in told[-1]
    assert "help:" not in told[-1]
    after = notices[notices.index(told[-1]) + 1]
    assert hint in after
    assert after.endswith("the next bmad autopilot tries it again")
    held = [one.why for one in flight.end.lanes if one.lane.key == key]
    unbegun = [one.why for name, one in flight.end.failed_starts if name == key]
    (told_at_the_end,) = (*held, *unbegun)
    assert why in told_at_the_end


def test_lanes_without_a_place_to_work(tmp_path: Path) -> None:
    """Where epic 2 belongs stands something else, epic 3's branch is checked out elsewhere, and what has to be run
    for epic 4 fails."""
    command = """sh -c "case $PWD in *epic-4) exit 7;; esac" """
    pilot = parallel_project(tmp_path / "p", epics=4, settings=f"[worktrees]\npost_create = ['{command}']\n")
    place = pilot.folder / "work.worktrees" / "epic-2"
    place.mkdir(parents=True)
    (place / "mine.txt").write_text("mine\n")
    git(pilot.work, "worktree", "add", "--quiet", "-b", "feature/epic-3", str(pilot.folder / "elsewhere"))
    flight = pilot.run(parallel=4)
    check_merged(pilot, flight, "epic-1")
    parked(flight, "epic-2", "stands where the worktree of epic-2 belongs", "move it away", tries=1)
    parked(flight, "epic-3", "is checked out", "git switch --detach", tries=1)
    parked(flight, "epic-4", "exit", "`[worktrees] post_create`, then bmad autopilot")
    assert (place / "mine.txt").read_text() == "mine\n"
    shutil.rmtree(place)
    git(pilot.folder / "elsewhere", "switch", "--quiet", "--detach")
    again = pilot.run(parallel=4)
    assert set(again.end.merged) == {"epic-2", "epic-3"}, "as it was said"


def test_lanes_that_break_off_every_time_are_parked_with_the_reason(tmp_path: Path) -> None:
    pilot = parallel_project(tmp_path / "p")
    problems = {
        "epic-2": RuntimeError("a wheel came off"),
        "epic-3": OSError(errno.ENOSPC, "No space left on device"),
    }

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if data.get("lane") in problems and kind in ("call", "ended", "resumed"):
            raise problems[data["lane"]]

    flight = pilot.run(heard, parallel=3)
    check_merged(pilot, flight, "epic-1")
    for key, problem in problems.items():
        parked(flight, key, str(problem))
    assert "in heard raise problem" in log_of(pilot)
    again = pilot.run(parallel=3)
    assert again.end.exit_code == 0
    assert sorted(again.end.merged) == ["epic-2", "epic-3"]
    assert all(len(runs_of(pilot, key)) == 1 for key in ("epic-1", *problems))


def test_a_lane_that_breaks_off_once_goes_on_with_the_same_run(tmp_path: Path) -> None:
    """Its agent is at work meanwhile: what it does counts, and is not done again."""
    pilot = parallel_project(tmp_path / "p", epics=2)
    first = first_entry("call", lane="epic-2")

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if first(kind, data):
            raise RuntimeError("a wheel came off")

    flight = pilot.run(heard, parallel=2)
    assert flight.end.exit_code == 0
    check_merged(pilot, flight, "epic-1", "epic-2")
    assert len(runs_of(pilot, "epic-2")) == 1
    assert len(attempts_of(pilot)) == 6


def test_it_comes_back_after_a_pause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "PAUSE", 1.5)
    pilot = parallel_project(tmp_path / "p", epics=1)
    first = first_entry("call")
    times: dict[str, float] = {}

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if kind in ("notice", "did", "ended", "call"):
            times.setdefault(kind if kind == "notice" or "notice" not in times else "again", time.monotonic())
        if first(kind, data):
            raise RuntimeError("a wheel came off")

    check_merged(pilot, pilot.run(heard, parallel=1), "epic-1")
    assert times["again"] - times["notice"] >= 1.4


def test_a_lost_login_of_one_is_every_lanes(tmp_path: Path) -> None:
    pilot = parallel_project(tmp_path / "p", epics=2)
    first = first_entry("call", lane="epic-2")

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if first(kind, data):
            raise ForgeError(ForgeErrorKind.LOGIN, "not logged in")

    with pytest.raises(ForgeError, match="not logged in"):
        pilot.run(heard, parallel=2)
    assert lane_threads() == []


@pytest.mark.parametrize(
    ("error", "merged"),
    [
        (ForgeError(ForgeErrorKind.LOGIN, "not logged in"), None),
        (GitError("git is not well"), ("epic-1", "epic-2")),
        (UsageError("feature/epic-2 is there already"), ("epic-1",)),
    ],
    ids=["login", "git", "in the way"],
)
def test_where_it_begins_cannot_be_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: AutopilotError, merged: tuple[str, ...] | None
) -> None:
    """A lost login is every lane's; what a moment may mend is tried again; what stands in the way is parked."""
    pilot = parallel_project(tmp_path / "p", epics=2)
    start, tries = Epics.start, list[str]()

    def broken(self: Epics, epic: EpicCandidate, lanes: list[LaneState]) -> EpicStart:
        tries.append(epic.key)
        if epic.key == "epic-2" and tries.count("epic-2") == 1:
            raise error
        return start(self, epic, lanes)

    monkeypatch.setattr(Epics, "start", broken)
    if merged is None:
        with pytest.raises(ForgeError):
            pilot.run(parallel=2)
        return
    flight = pilot.run(parallel=2)
    check_merged(pilot, flight, *merged)
    assert flight.end.exit_code == (0 if len(merged) == 2 else 1)
    assert tries.count("epic-2") == len(merged)


def test_who_comes_back_is_looked_at_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the pace of looks is: nothing is known yet of what it waits for."""
    looks: list[float] = []
    moved = LaneMonitor._find_ready

    def looked(self: LaneMonitor, waits: list[LaneState], *arguments: Any) -> set[str]:
        if waits:
            looks.append(time.monotonic())
        return moved(self, waits, *arguments)

    monkeypatch.setattr(LaneMonitor, "_find_ready", looked)
    monkeypatch.setattr(LaneMonitor, "_interval", lambda self: 0.2 if looks else 40.0)
    pilot = parallel_project(tmp_path / "p", epics=1)
    at: dict[str, float] = {}

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        at.setdefault(kind, time.monotonic())

    check_merged(pilot, pilot.run(heard, parallel=1), "epic-1")
    assert looks[0] - at["pending"] < 10.0


def test_a_look_that_is_due_and_cannot_be_made_keeps_nobody_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The forge is away when epics are looked for; when it is time again there is no room for one."""
    monkeypatch.setattr(epics, "AWAY", 0.2)
    monkeypatch.setattr(LaneMonitor, "_interval", lambda self: 5.0)
    pilot = parallel_project(tmp_path / "p", epics=1, agent=scripted_agent_command("honest", 1.0))
    found, has_room, wait = Epics.find_candidates, LaneScheduler.has_room, LaneMonitor.wait
    looks, waits, full = list[int](), list[int](), list[bool]()

    def away(self: Epics, *arguments: Any) -> Any:
        looks.append(1)
        if len(looks) == 2:
            full.append(True)
            raise ForgeError(ForgeErrorKind.UNAVAILABLE, "the forge is away")
        return found(self, *arguments)

    def counted(self: LaneMonitor, *arguments: Any) -> set[str]:
        waits.append(1)
        return wait(self, *arguments)

    monkeypatch.setattr(Epics, "find_candidates", away)
    monkeypatch.setattr(LaneScheduler, "has_room", lambda self: not full and has_room(self))
    monkeypatch.setattr(LaneMonitor, "wait", counted)
    flight = pilot.run(lambda kind, data: full.clear() if kind == "delivering" else None, parallel=2)
    check_merged(pilot, flight, "epic-1")
    assert len(waits) < 30


def test_what_waits_for_one_that_could_not_be_begun_is_not_begun(tmp_path: Path) -> None:
    depends = '[depends]\n"3" = ["2"]\n'
    pilot = parallel_project(tmp_path / "p", epics=3, dependencies="declared", settings=depends)
    git(pilot.work, "worktree", "add", "--quiet", "-b", "feature/epic-2", str(pilot.folder / "elsewhere"))
    flight = pilot.run(parallel=2)
    assert flight.end.exit_code == 1
    check_merged(pilot, flight, "epic-1")
    assert runs_of(pilot, "epic-3") == []


@pytest.mark.parametrize(("number", "times"), [(signal.SIGINT, 1), (signal.SIGINT, 2), (signal.SIGTERM, 2)])
def test_stopped_with_three_agents_at_work(tmp_path: Path, number: int, times: int) -> None:
    """Once: they go on, and the next command takes them up. Twice: they are ended."""
    pilot = parallel_project(tmp_path / "p", agent=scripted_agent_command("honest", 2.0 if times == 1 else 90.0))
    calls: list[str] = []

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if kind == "call":
            calls.append(data["lane"])
        if (kind == "call" and len(calls) == 3) or (kind == "stopping" and data["times"] < times):
            signal.raise_signal(number)

    flight = pilot.run(heard, parallel=3)
    assert (flight.end.exit_code, flight.end.why) == (130, "stopped")
    assert [one["idle"] for one in flight.entries("stopping")] == [False] * times
    assert lane_threads() == []
    assert {held.lane.key for held in flight.end.lanes} == {"epic-1", "epic-2", "epic-3"}
    if times > 1:
        wait_until(
            lambda: {attempt_state(one) for one in attempts_of(pilot)} == {AttemptState.FINISHED}, "their end"
        )
        return
    second = pilot.run(parallel=3)
    assert second.end.exit_code == 0, second.end
    check_merged(pilot, second, "epic-1", "epic-2", "epic-3")
    assert len(attempts_of(pilot)) == 9


@pytest.mark.parametrize("times", [1, 2])
def test_stopped_while_a_worktree_is_made_ready(tmp_path: Path, times: int) -> None:
    """Once: it is said what is waited for. Twice: it is ended, with what it has started."""
    begun, long = tmp_path / "begun", 3 if times == 1 else 300
    command = f"sh -c 'echo $$ > {begun}.new && mv {begun}.new {begun}; sleep {long}; true'"
    pilot = parallel_project(tmp_path / "p", epics=1, settings=f'[worktrees]\npost_create = ["{command}"]\n')
    told: list[str] = []

    def stop() -> None:
        wait_until(begun.exists, "its begin")
        signal.raise_signal(signal.SIGINT)

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if kind == "phase" and data["phase"] == EpicPhase.FIND_EPIC:
            threading.Thread(target=stop).start()
        if kind == "notice":
            told.append(data["text"])
            if len(told) < times:
                signal.raise_signal(signal.SIGINT)

    began = time.monotonic()
    flight = pilot.run(heard, parallel=1)
    assert flight.end.exit_code == 130
    assert "is waited for; Ctrl-C again" in told[0]
    assert f"sleep {long}" in told[0]
    assert lane_threads() == []
    assert time.monotonic() - began < 60.0
    wait_until(lambda: not Path(f"/proc/{begun.read_text().strip()}").exists(), "its end")


def test_a_trouble_of_the_supervisors_own_leaves_no_lane_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pilot = parallel_project(tmp_path / "p", epics=2)
    wait = LaneMonitor.wait

    def broken(self: LaneMonitor, idle: Any, waiting: Any, crew: Workers, *others: Any) -> set[str]:
        if crew.active_lanes:
            raise RuntimeError("a wheel came off")
        return wait(self, idle, waiting, crew, *others)

    monkeypatch.setattr(LaneMonitor, "wait", broken)
    with pytest.raises(RuntimeError):
        pilot.run(parallel=2)
    assert lane_threads() == []
    monkeypatch.undo()
    monkeypatch.setattr(LaneMonitor, "_interval", lambda self: 0.2)
    flight = pilot.run(parallel=2)
    check_merged(pilot, flight, "epic-1", "epic-2")

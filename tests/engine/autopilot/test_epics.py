"""Which epics can be begun, and on which branch: those that others have begun are found under their names."""

import os
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from bmad_autopilot.board.epics_file import EpicsFile
from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.core.lane_scope import LaneScope
from bmad_autopilot.core.run_record import DeliveryRecord, RunRecord
from bmad_autopilot.core.scheduling import EpicCandidate, LaneStage
from bmad_autopilot.engine.autopilot import epics
from bmad_autopilot.engine.autopilot.epics import Epics, branch_for, branch_names, number_from_branch
from bmad_autopilot.engine.autopilot.lanes import LaneState
from bmad_autopilot.engine.autopilot.options import AutopilotOptions
from bmad_autopilot.engine.autopilot.reporter import EventReporter, LogFiles
from bmad_autopilot.engine.autopilot.supervisor import build_ports
from bmad_autopilot.engine.lane import DeliveryPlan, Lane
from bmad_autopilot.github.forge import NewPull
from bmad_autopilot.project.project import open_project
from bmad_autopilot.runs.supervisor_lock import hold_supervisor_lock
from bmad_autopilot.sim.sample import PLANNING, make_sample
from bmad_autopilot.workflows.workflow import PIPELINES
from tests.support.autopilot_runs import AutopilotProject, FastForge
from tests.support.bmad_project import git

BOARD = "_bmad-output/implementation-artifacts/sprint-status.yaml"


@pytest.mark.parametrize(
    ("key", "number", "names"),
    [
        ("epic-1", "1", ["feature/epic-1"]),
        ("epic-7A", "7a", ["feature/epic-7a", "feature/epic-7A"]),
        ("epic-7a", "7a", ["feature/epic-7a", "feature/epic-7A"]),
        ("epic-0-5", "0.5", ["feature/epic-0.5", "feature/epic-0-5"]),
        ("epic-0..5", "0.5", ["feature/epic-0.5"]),  # no branch can be called so
        ("epic-2.5b", "2.5b", ["feature/epic-2.5b", "feature/epic-2.5B"]),
    ],
)
def test_the_names_of_an_epics_branch_ours_first(key: str, number: str, names: list[str]) -> None:
    assert branch_names(EpicCandidate(key, number, "")) == names
    assert branch_for(number) == names[0]
    assert {number_from_branch(name) for name in names} == {number}


@pytest.mark.parametrize("branch", ["main", "feature/epic-", "feature/epic-a b", "feature/auth", "epic-1"])
def test_any_other_branch_is_no_epics(branch: str) -> None:
    assert number_from_branch(branch) == ""


@pytest.mark.parametrize("number", ["a..b", "1.lock", "-x", "1 2", "x" * 80])
def test_a_number_that_no_branch_can_be_called_by(number: str) -> None:
    with pytest.raises(AutopilotError):
        branch_for(number)


@pytest.fixture(scope="module")
def lettered(tmp_path_factory: pytest.TempPathFactory) -> AutopilotProject:
    """A board with an epic 7A alone."""
    pilot = AutopilotProject(tmp_path_factory.mktemp("epics") / "p")
    board = pilot.work / BOARD
    board.write_text(board.read_text().replace("epic-1", "epic-7A").replace("1-1-", "7A-1-"))
    git(pilot.work, "commit", "--quiet", "--all", "--message", "Epic 7A")
    git(pilot.work, "push", "--quiet", "origin", "main")
    pilot.save_copy()
    return pilot


def begun(pilot: AutopilotProject, branch: str, *, pull: bool) -> tuple[Epics, list[EpicCandidate]]:
    """By somebody else, on this branch, as far as a pull request where that is said."""
    pilot.restore_copy()
    head = pilot.refs.commit(pilot.refs.head_of("main"), {"theirs.txt": b"x\n"}, "Theirs", "maria")
    pilot.refs.set(branch, head)
    if pull:
        pilot.model.open_pull(NewPull(branch, "main", "Epic 7A", "..."))
    epics = epics_of(pilot, AutopilotOptions(resume_all=True))
    return epics, epics.find_candidates([], [])


def epics_of(pilot: AutopilotProject, options: AutopilotOptions) -> Epics:
    project = open_project(str(pilot.work))
    reporter = EventReporter(LogFiles(str(pilot.work)), lambda *_: None, time.time)
    with hold_supervisor_lock(project.state_folder, "autopilot") as lock:
        forge = FastForge(pilot.model)
        ports = build_ports(project, options, reporter, lock, lambda *_: forge, time.time)
    ports.waiter.close()
    return Epics(ports, project.config, options, "main", print)


@pytest.mark.parametrize(
    ("branch", "pull"), [("feature/epic-7A", True), ("feature/epic-7a", True), ("feature/epic-7A", False)]
)
def test_what_the_bash_autopilot_began_is_found_under_its_name(
    lettered: AutopilotProject, branch: str, pull: bool
) -> None:
    epics, found = begun(lettered, branch, pull=pull)
    assert [(one.key, one.number) for one in found] == [("epic-7A", "7a")]
    start = epics.start(found[0], [])
    assert (start.branch, start.commit) == (branch, lettered.refs.head_of(branch))


@pytest.mark.parametrize("is_here", [True, False], ids=["here", "only on the remote"])
def test_the_next_epic_stands_on_the_branch_of_the_one_before(tmp_path: Path, is_here: bool) -> None:
    epics, lanes, pilot = _after_epic_1(tmp_path)
    head = pilot.refs.commit(pilot.refs.head_of("main"), {"one.txt": b"1\n"}, "One", "us")
    pilot.refs.set("feature/epic-1", head)
    if is_here:
        git(pilot.work, "fetch", "--quiet", "origin", "feature/epic-1:feature/epic-1")
    (found,) = epics.find_candidates(lanes, [])
    assert epics.start(found, lanes)[:] == ("feature/epic-2", head, "feature/epic-1")


def test_on_the_base_where_that_was_merged_and_cleared_away_meanwhile(tmp_path: Path) -> None:
    """Whoever drives it does so beside us: what we know of it is from before."""
    epics, lanes, pilot = _after_epic_1(tmp_path)
    (found,) = epics.find_candidates(lanes, [])
    assert epics.start(found, lanes)[:] == ("feature/epic-2", pilot.refs.head_of("main"), "")


def _after_epic_1(folder: Path) -> tuple[Epics, list[LaneState], AutopilotProject]:
    """In order, with the first of two delivered."""
    pilot = AutopilotProject(folder / "p", epics=2, top='dependencies = "order"\n')
    epics = epics_of(pilot, AutopilotOptions())
    lane = Lane(LaneScope.EPIC, "epic-1", "1", PIPELINES["lean"], delivery=DeliveryPlan(), branch="feature/epic-1")
    record = RunRecord(delivery=DeliveryRecord(started_at=1.0, pull=1))
    return epics, [LaneState("run-1", lane, record, LaneStage.WAITS)], pilot


# The titles of epics, asked for again and again.


def test_titles_are_read_again_only_when_an_epics_file_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_sample(str(tmp_path), 2, 1)
    project = open_project(str(tmp_path))
    reads = 0
    read = vars(epics)["read_all_epics"]

    def counted(paths: Iterable[str]) -> EpicsFile:
        nonlocal reads
        reads += 1
        found: EpicsFile = read(paths)
        return found

    monkeypatch.setattr(epics, "read_all_epics", counted)
    assert epics.epic_titles(project) == {"1": "Accounts", "2": "Payments"}
    assert epics.epic_titles(project)["1"] == "Accounts"
    assert reads == 1
    path = tmp_path / PLANNING / "epics.md"
    kept = path.stat()
    path.write_text(path.read_text().replace("Payments", "Expenses"))
    os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns + 1))  # of the same length, a moment later
    assert epics.epic_titles(project)["2"] == "Expenses"
    path.unlink()
    assert epics.epic_titles(project) == {}

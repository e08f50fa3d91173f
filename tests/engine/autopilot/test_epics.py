"""Which epics can be begun, and on which branch: those that others have begun are found under their names."""

from pathlib import Path

import pytest

from bmad_autopilot.core.delivery import DeliveryRecord
from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.core.records import RunRecord
from bmad_autopilot.core.schedule import Candidate, Stage
from bmad_autopilot.engine.autopilot.epics import Epics
from bmad_autopilot.engine.autopilot.finding import branch_for, branch_names, number_of
from bmad_autopilot.engine.autopilot.lanes import Held
from bmad_autopilot.engine.autopilot.sizes import sizes_of
from bmad_autopilot.engine.autopilot.wishes import Wishes
from bmad_autopilot.engine.delivery.plan import Plan
from bmad_autopilot.engine.lane import Lane
from bmad_autopilot.github.branches import Branches
from bmad_autopilot.github.git import Git
from bmad_autopilot.github.pulls import PullOrder
from bmad_autopilot.project.open import open_project
from bmad_autopilot.workflows.pipelines import PIPELINES
from tests.engine.autopilot.piloting import Hurried, Pilot
from tests.support import git

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
    assert branch_names(Candidate(key, number, "")) == names
    assert branch_for(number) == names[0]
    assert {number_of(name) for name in names} == {number}


@pytest.mark.parametrize("branch", ["main", "feature/epic-", "feature/epic-a b", "feature/auth", "epic-1"])
def test_any_other_branch_is_no_epics(branch: str) -> None:
    assert number_of(branch) == ""


@pytest.mark.parametrize("number", ["a..b", "1.lock", "-x", "1 2", "x" * 80])
def test_a_number_that_no_branch_can_be_called_by(number: str) -> None:
    with pytest.raises(AutopilotError):
        branch_for(number)


@pytest.fixture(scope="module")
def lettered(tmp_path_factory: pytest.TempPathFactory) -> Pilot:
    """A board with an epic 7A alone."""
    pilot = Pilot(tmp_path_factory.mktemp("epics") / "p")
    board = pilot.work / BOARD
    board.write_text(board.read_text().replace("epic-1", "epic-7A").replace("1-1-", "7A-1-"))
    git(pilot.work, "commit", "--quiet", "--all", "--message", "Epic 7A")
    git(pilot.work, "push", "--quiet", "origin", "main")
    pilot.keep()
    return pilot


def begun(pilot: Pilot, branch: str, *, pull: bool) -> tuple[Epics, list[Candidate]]:
    """By somebody else, on this branch, as far as a pull request where that is said."""
    pilot.put_back()
    head = pilot.refs.commit(pilot.refs.head_of("main"), {"theirs.txt": b"x\n"}, "Theirs", "maria")
    pilot.refs.set(branch, head)
    if pull:
        pilot.model.open_pull(PullOrder(branch, "main", "Epic 7A", "..."))
    project = open_project(str(pilot.work))
    forge, branches = Hurried(pilot.model), Branches(Git(project.root.checkout))
    epics = Epics(project, Wishes(go_on=True), branches, "main", lambda: forge, print, sizes_of(project))
    return epics, epics.found([], [])


@pytest.mark.parametrize(
    ("branch", "pull"), [("feature/epic-7A", True), ("feature/epic-7a", True), ("feature/epic-7A", False)]
)
def test_what_the_bash_autopilot_began_is_found_under_its_name(lettered: Pilot, branch: str, pull: bool) -> None:
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
    (found,) = epics.found(lanes, [])
    assert epics.start(found, lanes)[:] == ("feature/epic-2", head, "feature/epic-1")


def test_on_the_base_where_that_was_merged_and_cleared_away_meanwhile(tmp_path: Path) -> None:
    """Whoever drives it does so beside us: what we know of it is from before."""
    epics, lanes, pilot = _after_epic_1(tmp_path)
    (found,) = epics.found(lanes, [])
    assert epics.start(found, lanes)[:] == ("feature/epic-2", pilot.refs.head_of("main"), "")


def _after_epic_1(folder: Path) -> tuple[Epics, list[Held], Pilot]:
    """In order, with the first of two delivered."""
    pilot = Pilot(folder / "p", epics=2, top='dependencies = "order"\n')
    project = open_project(str(pilot.work))
    forge = Hurried(pilot.model)
    epics = Epics(
        project, Wishes(), Branches(Git(project.root.checkout)), "main", lambda: forge, print, sizes_of(project)
    )
    lane = Lane("epic", "epic-1", "1", PIPELINES["lean"], delivery=Plan(), branch="feature/epic-1")
    record = RunRecord(delivery=DeliveryRecord(began=1.0, pull=1))
    return epics, [Held("run-1", lane, record, Stage.WAITS)], pilot

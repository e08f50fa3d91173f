"""Which epics can be begun, and on which branch: those that others have begun are found under their names."""

import pytest

from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.core.schedule import Candidate
from bmad_autopilot.engine.autopilot.epics import Epics
from bmad_autopilot.engine.autopilot.finding import branch_for, branch_names, number_of
from bmad_autopilot.engine.autopilot.wishes import Wishes
from bmad_autopilot.github.branches import Branches
from bmad_autopilot.github.git import Git
from bmad_autopilot.github.pulls import PullOrder
from bmad_autopilot.project.open import open_project
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
    epics = Epics(project, Wishes(go_on=True), branches, "main", lambda: forge, print)
    return epics, epics.found([], [])


@pytest.mark.parametrize(
    ("branch", "pull"), [("feature/epic-7A", True), ("feature/epic-7a", True), ("feature/epic-7A", False)]
)
def test_what_the_bash_autopilot_began_is_found_under_its_name(lettered: Pilot, branch: str, pull: bool) -> None:
    epics, found = begun(lettered, branch, pull=pull)
    assert [(one.key, one.number) for one in found] == [("epic-7A", "7a")]
    start = epics.start(found[0], [])
    assert (start.branch, start.commit) == (branch, lettered.refs.head_of(branch))

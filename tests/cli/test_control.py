"""bmad pause, stop and resume beside a supervisor that looks after several runs: of one of them, and of all."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from bmad_autopilot.cli.control import send_request, unpause
from bmad_autopilot.core.errors import ConflictError, UsageError
from bmad_autopilot.engine.lane import DeliveryPlan
from bmad_autopilot.project.project import Project, open_project
from bmad_autopilot.runs.state_file import RunStatus
from bmad_autopilot.runs.supervisor_lock import (
    AUTOPILOT,
    ControlRequest,
    SupervisorLock,
    clear_request,
    hold_supervisor_lock,
    read_request,
    workflow_lock_name,
)
from tests.cli.unfinished_runs import unfinished_run
from tests.support.bmad_project import ProjectMaker


@pytest.fixture
def shop(project: ProjectMaker) -> Project:
    return open_project(str(project().root))


@pytest.fixture
def runs(shop: Project, project: ProjectMaker) -> list[Path]:
    sample = project()
    return [
        unfinished_run(
            sample, "1-1-a", status=RunStatus.RUNNING, after=60.0 * place, delivery=DeliveryPlan(), epic=epic
        )
        for place, epic in enumerate(("1", "2", "12"))
    ]


@pytest.fixture
def supervision(shop: Project, runs: list[Path]) -> Iterator[SupervisorLock]:
    with hold_supervisor_lock(shop.state_folder, AUTOPILOT) as held:
        held.set_runs([run.name for run in runs], runs[0].name)
        yield held


def tell(shop: Project, wanted: str | None, ask: ControlRequest) -> None:
    send_request(click.Context(click.Command("x"), obj=(shop.root.path, "never")), wanted, ask)


def asked(shop: Project, runs: list[Path]) -> list[str]:
    """Of the autopilot, then of each run."""
    found = (read_request(str(folder)) for folder in (shop.state_folder, *runs))
    return [ask.value if ask else "" for ask in found]


@pytest.mark.usefixtures("supervision")
@pytest.mark.parametrize("ask", list(ControlRequest))
def test_without_a_name_all_are_meant(
    shop: Project, runs: list[Path], ask: ControlRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    tell(shop, None, ask)
    assert asked(shop, runs) == [ask.value] * 4
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("autopilot (pid ")
    assert said[1] == "bmad autopilot  goes on with all of them"


@pytest.mark.usefixtures("supervision")
def test_one_is_meant_by_its_name_or_by_its_epic(
    shop: Project, runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for wanted, place in ((runs[0].name, 0), ("epic-2", 1), ("2", 1), ("12", 2), ("epic-1", 0)):
        tell(shop, wanted, ControlRequest.PAUSE)
        assert asked(shop, runs) == ["", *("pause" if at == place else "" for at in range(3))]
        clear_request(str(runs[place]))
        said = capsys.readouterr().out.splitlines()
        assert said[0].startswith(f"run {runs[place].name} of epic-")
        assert "pauses before its next agent call; the others go on: autopilot (pid " in said[0]
        assert said[1] == f"bmad resume --run {runs[place].name}  goes on with it"


@pytest.mark.usefixtures("supervision")
def test_what_names_none_or_several_asks_nothing_of_anybody(shop: Project, runs: list[Path]) -> None:
    with pytest.raises(UsageError, match="no run called epic-9 is under way"):
        tell(shop, "epic-9", ControlRequest.STOP)
    with pytest.raises(UsageError, match="several runs are under way"):
        tell(shop, "epic-", ControlRequest.STOP)
    assert asked(shop, runs) == [""] * 4


@pytest.mark.usefixtures("supervision")
def test_beside_a_workflow_of_its_own_the_autopilot_is_named(shop: Project, runs: list[Path]) -> None:
    with hold_supervisor_lock(shop.state_folder, "workflow run", "notes-1", workflow_lock_name("main", "notes")):
        with pytest.raises(UsageError, match=f"--run {AUTOPILOT}"):
            tell(shop, None, ControlRequest.STOP)
        tell(shop, AUTOPILOT, ControlRequest.STOP)
    assert asked(shop, runs) == ["stop"] * 4


def test_one_that_has_no_run_yet_can_be_stopped_too(shop: Project, capsys: pytest.CaptureFixture[str]) -> None:
    with hold_supervisor_lock(shop.state_folder, AUTOPILOT):
        tell(shop, None, ControlRequest.STOP)
        assert read_request(shop.state_folder) is ControlRequest.STOP
    assert "stops; agents at work go on" in capsys.readouterr().out


@pytest.mark.usefixtures("supervision")
def test_what_is_parked_is_let_go_on_beside_the_supervisor(
    shop: Project, runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert not unpause(shop, None), "none is parked"
    for wanted in ("epic-2", "12"):
        tell(shop, wanted, ControlRequest.PAUSE)
    capsys.readouterr()
    assert not unpause(shop, "epic-1"), "it is not parked"
    assert unpause(shop, "epic-2")
    assert asked(shop, runs) == ["", "", "", "pause"]
    assert unpause(shop, None)
    assert asked(shop, runs) == [""] * 4
    said = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[0] for line in said] == [
        f"run {run.name} of epic-{epic} goes on" for run, epic in ((runs[1], "2"), (runs[2], "12"))
    ]


def test_without_a_supervisor_it_is_resumed_as_ever(shop: Project, runs: list[Path]) -> None:
    with hold_supervisor_lock(shop.state_folder, AUTOPILOT) as held:
        held.set_runs([run.name for run in runs], "")
        tell(shop, "epic-2", ControlRequest.PAUSE)
        tell(shop, None, ControlRequest.PAUSE)
        assert not unpause(shop, "epic-2"), "all of them are about to end"
    assert not unpause(shop, "epic-2")
    with hold_supervisor_lock(shop.state_folder, "run-epic 1", runs[0].name):
        assert not unpause(shop, "epic-1")


def test_nobody_is_there(shop: Project) -> None:
    with pytest.raises(ConflictError, match="no run is under way"):
        tell(shop, None, ControlRequest.PAUSE)

"""What `bmad autopilot` says before it begins, what to type after it, and a pull request that is not there."""

from types import SimpleNamespace
from typing import cast

import pytest

from bmad_autopilot.board.overview import overview
from bmad_autopilot.board.sprint import read_board
from bmad_autopilot.cli.autopilot import _next, _outset
from bmad_autopilot.cli.pr import _pull
from bmad_autopilot.core.delivery import DeliveryRecord
from bmad_autopilot.core.errors import AutopilotError, UsageError
from bmad_autopilot.core.records import RunRecord
from bmad_autopilot.core.schedule import Stage
from bmad_autopilot.engine.autopilot import lanes
from bmad_autopilot.engine.autopilot.lanes import Held
from bmad_autopilot.engine.autopilot.wishes import Wishes
from bmad_autopilot.engine.delivery.plan import Plan
from bmad_autopilot.engine.lane import Lane
from bmad_autopilot.github.forge import Forge, ForgeError, Trouble
from bmad_autopilot.github.pulls import Pull
from bmad_autopilot.project.open import open_project
from bmad_autopilot.views.autopilot import Outset
from bmad_autopilot.workflows.pipelines import PIPELINES
from tests.cli.projects import mixed
from tests.support import ProjectMaker, SampleProject


def outset(sample: SampleProject, *patterns: str) -> Outset:
    project = open_project(str(sample.root))
    return _outset(project, overview(read_board(project.require_board())), Wishes(patterns))


def held(epic: str, stage: Stage, pull: int) -> Held:
    lane = Lane("epic", f"epic-{epic}", epic, PIPELINES["lean"], delivery=Plan())
    return Held(f"run-{epic}", lane, RunRecord(delivery=DeliveryRecord(began=1.0, pull=pull)), stage)


def test_a_pattern_that_no_epic_has_is_told_from_one_whose_epic_is_done(project: ProjectMaker) -> None:
    sample = mixed(project)
    found = outset(sample, "1", "zzz")
    assert (found.epics, found.unmatched) == ((), ("zzz",))
    with pytest.raises(UsageError, match="PATTERN is no regular expression"):
        outset(sample, "[")


def test_without_a_forge_nobody_is_said_to_approve(project: ProjectMaker) -> None:
    sample = mixed(project)
    assert "approved" in outset(sample).merges
    sample.write("bmad-autopilot.toml", 'delivery = "local"\n')
    assert outset(sample).merges == "once the checks pass here"
    sample.write("bmad-autopilot.toml", 'delivery = "local"\nmerge = "manual"\n')
    assert outset(sample).merges == "by a person"


def test_pull_requests_of_earlier_commands_are_in_the_plan(
    project: ProjectMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [held("1", Stage.MOVED, 7), held("3", Stage.BLOCKED, 8)]
    monkeypatch.setattr(lanes, "held_lanes", lambda runs, session, *, go_on: left)
    planned = [(one.key, one.told) for one in outset(mixed(project), "zzz").epics]
    assert planned == [
        ("epic-1", "pull request #7, gone on with"),
        ("epic-3", "pull request #8, given up: --continue"),
    ]


def test_going_on_takes_up_the_same_epics_and_no_others() -> None:
    waits = (held("1", Stage.WAITS, 7),)
    assert [command for command, _ in _next(waits, ("7A", "auth|login"))] == [
        "bmad autopilot 7A 'auth|login'",
        "bmad pr status",
    ]
    assert [command for command, _ in _next((held("1", Stage.BLOCKED, 0),), ())] == ["bmad autopilot --continue"]


class Hub:
    """Has no pull request at all."""

    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble

    def pull(self, number: int) -> Pull:
        raise ForgeError(self._trouble, "Could not resolve (AutopilotPull, repository.pullRequest)")

    def repository(self) -> SimpleNamespace:
        return SimpleNamespace(full_name="acme/widgets")


def test_a_pull_request_that_is_not_there_is_said_in_plain_words() -> None:
    with pytest.raises(AutopilotError) as found:
        _pull(cast(Forge, Hub(Trouble.MISSING)), 99)
    assert found.value.message == "acme/widgets has no pull request #99"
    with pytest.raises(ForgeError, match="Could not resolve"):
        _pull(cast(Forge, Hub(Trouble.AWAY)), 99)

"""Where a lane is worked on: in the checkout, or in a worktree of its own."""

from pathlib import Path
from typing import cast

import pytest

from bmad_autopilot.engine.autopilot.lanes import Held
from bmad_autopilot.engine.autopilot.places import Places
from bmad_autopilot.github.branches import Branches
from bmad_autopilot.github.git import Git
from bmad_autopilot.project.open import open_project
from bmad_autopilot.sim.sample import make_sample
from tests.engine.autopilot.piloting import run_git
from tests.support import git


class StandingLane:
    key, branch = "epic-1", "feature/epic-1"


class StandingDelivery:
    head = ""


class StandingRecord:
    delivery = StandingDelivery()


class StandingHeld:
    lane, record, is_at_work = StandingLane(), StandingRecord(), True


HELD = cast(Held, StandingHeld())


@pytest.fixture
def work(tmp_path: Path) -> Path:
    make_sample(str(tmp_path / "work"), 1, 1)
    return tmp_path / "work"


def places(work: Path, said: list[str], *, apart: bool) -> Places:
    project = open_project(str(work))
    return Places(project, Branches(Git(str(work)), "origin"), said.append, apart=apart)


def branch_in(folder: str | Path) -> str:
    return run_git(Path(folder), "branch", "--show-current")


def test_one_at_a_time_the_checkout_goes_to_its_branch(work: Path) -> None:
    found = places(work, [], apart=False).begin("epic-1", "feature/epic-1", "main")
    assert found.root.checkout == str(work)
    assert branch_in(work) == "feature/epic-1"


def test_apart_the_checkout_stays_and_the_lane_is_gone_on_with_where_it_is(work: Path) -> None:
    here = places(work, [], apart=True)
    found = here.begin("epic-1", "feature/epic-1", run_git(work, "rev-parse", "main"))
    lane = work.parent / "work.worktrees" / "epic-1"
    assert found.root.checkout == str(lane)
    assert (branch_in(work), branch_in(lane)) == ("main", "feature/epic-1")
    assert found.root.path == str(work), "records stay with their owner"
    for apart in (True, False):
        assert places(work, [], apart=apart).go_on(HELD).root.checkout == str(lane)


def test_a_finished_one_is_cleared_away_and_what_would_be_lost_stays(work: Path) -> None:
    said: list[str] = []
    here = places(work, said, apart=True)
    lane = Path(here.begin("epic-1", "feature/epic-1", run_git(work, "rev-parse", "main")).root.checkout)
    (lane / "mine.txt").write_text("mine\n")
    here.clear("epic-1")
    assert lane.is_dir()
    assert ["the worktree of epic-1 stays" in text for text in said] == [True]
    (lane / "mine.txt").unlink()
    here.clear("epic-1")
    assert not lane.exists()
    here.clear("epic-1")


def test_what_earlier_commands_left_goes_unless_a_lane_needs_it(work: Path) -> None:
    here = places(work, [], apart=True)
    lane = Path(here.begin("epic-1", "feature/epic-1", run_git(work, "rev-parse", "main")).root.checkout)
    here.tidy({"epic-1"})
    assert lane.is_dir()
    here.tidy(set())
    assert not lane.exists()


def test_in_the_checkout_that_has_its_branch_it_goes_on_there(work: Path) -> None:
    git(work, "switch", "--quiet", "--create", "feature/epic-1")
    assert places(work, [], apart=True).go_on(HELD).root.checkout == str(work)

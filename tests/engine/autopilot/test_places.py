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
    key, branch, dirty = "epic-1", "feature/epic-1", ("before.txt",)


class StandingDelivery:
    head = ""


class StandingRecord:
    delivery = StandingDelivery()


class StandingHeld:
    lane, record, is_at_work = StandingLane(), StandingRecord(), True


class OtherLane:
    key, branch, dirty = "epic-2", "feature/epic-2", ()


class OtherHeld:
    lane, record, is_at_work = OtherLane(), StandingRecord(), True


HELD, OTHER = cast(Held, StandingHeld()), cast(Held, OtherHeld())


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


def test_the_checkout_is_its_whose_unfinished_work_lies_there(work: Path) -> None:
    here = places(work, [], apart=False)
    here.begin("epic-2", "feature/epic-2", "main")
    here.begin("epic-1", "feature/epic-1", "main")
    (work / "before.txt").write_text("somebody's, from before\n")
    assert here.stand(OTHER, [HELD, OTHER]) == ""
    assert branch_in(work) == "feature/epic-2"
    assert here.stand(HELD, [HELD, OTHER]) == "what epic-2 has not finished lies there: before.txt"
    (work / "before.txt").unlink()
    assert (here.stand(HELD, [HELD, OTHER]), branch_in(work)) == ("", "feature/epic-1")
    (work / "half.txt").write_text("half\n")
    assert "what epic-1 has not finished lies there: half.txt" in here.stand(OTHER, [HELD, OTHER])
    assert here.taken("epic-1", [HELD, OTHER]) == "", "nobody else's"
    assert branch_in(work) == "feature/epic-1"


def test_what_a_person_has_changed_there_is_waited_for(work: Path) -> None:
    here = places(work, [], apart=False)
    here.begin("epic-2", "feature/epic-2", "main")
    (work / "README.md").write_text("mine\n")
    assert "tracked files have changes that are not committed" in here.stand(HELD, [HELD])
    assert branch_in(work) == "feature/epic-2"


def test_who_has_a_worktree_needs_no_checkout(work: Path) -> None:
    here = places(work, [], apart=True)
    here.begin("epic-1", "feature/epic-1", run_git(work, "rev-parse", "main"))
    run_git(work, "switch", "--quiet", "--create", "feature/epic-2")
    (work / "half.txt").write_text("half\n")
    assert (here.stand(HELD, [HELD, OTHER]), here.taken("epic-1", [HELD, OTHER])) == ("", "")
    assert "half.txt" in here.taken("epic-3", [HELD, OTHER])

"""`bmad status` and `bmad next` where epics are under way in worktrees or on branches of their own."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bmad_autopilot.cli import bmad
from bmad_autopilot.core.lane_scope import LaneScope
from bmad_autopilot.engine.autopilot.checkouts import make_worktrees
from bmad_autopilot.engine.lane import DeliveryPlan, Lane
from bmad_autopilot.project.config import Config
from bmad_autopilot.project.root import find_root
from bmad_autopilot.runs.layout import make_run, runs_folder
from bmad_autopilot.runs.state_file import RunStatus
from bmad_autopilot.workflows.workflow import PIPELINES
from tests.cli.unfinished_runs import BEGAN, keep_state, note
from tests.support.bmad_project import ProjectMaker, SampleProject
from tests.support.schemas import parse_validated

BOARD = """\
development_status:
  epic-1: backlog
  1-1-cart: backlog
  1-2-pay: backlog
  epic-2: backlog
  2-1-mail: backlog
"""


@pytest.fixture
def shop(project: ProjectMaker) -> SampleProject:
    return project(board=BOARD, stories={})


def under_way(shop: SampleProject, number: str = "1", *, status: RunStatus = RunStatus.RUNNING) -> None:
    """A run of this epic that is not over."""
    key = f"epic-{number}"
    run = Path(make_run(runs_folder(str(shop.root)), "main", key, BEGAN + float(number)))
    lane = Lane(
        LaneScope.EPIC, key, number, PIPELINES["lean"], f"feature/{key}", delivery=DeliveryPlan(base="trunk")
    )
    note(run, "run", target=key, **lane.to_json())
    keep_state(run, f"{number}-1-x", status)


def worktree(shop: SampleProject, number: str = "1") -> Path:
    key = f"epic-{number}"
    made = make_worktrees(find_root(str(shop.root)), Config(), os.environ).create(key, f"feature/{key}", "HEAD")
    return Path(made.folder)


def move(board: Path, *moves: tuple[str, str]) -> None:
    text = board.read_text()
    for key, status in moves:
        text = text.replace(f"{key}: backlog", f"{key}: {status}")
    board.write_text(text)


def board_in(shop: SampleProject, folder: Path) -> Path:
    return folder / shop.board.relative_to(shop.root)


def said(folder: Path, *words: str, code: int = 0) -> str:
    done = CliRunner().invoke(bmad, ["-C", str(folder), *words], env={"COLUMNS": "150"})
    assert done.exit_code == code, done.output
    return done.output


def document(folder: Path) -> dict[str, Any]:
    return parse_validated("status", said(folder, "status", "--json"))


def rows(found: dict[str, Any]) -> dict[str, str]:
    return {row["key"]: row["status"] for epic in found["epics"] for row in epic["stories"]}


def test_an_epic_in_a_worktree_is_shown_as_it_is_there_with_its_branch_and_folder(shop: SampleProject) -> None:
    under_way(shop)
    lane = worktree(shop)
    move(board_in(shop, lane), ("1-1-cart", "review"), ("1-2-pay", "blocked # no account yet"))
    move(shop.board, ("2-1-mail", "ready-for-dev"))
    found = document(shop.root)
    assert rows(found) == {"1-1-cart": "review", "1-2-pay": "blocked", "2-1-mail": "ready-for-dev"}
    counts = {"backlog": 0, "ready-for-dev": 1, "in-progress": 0, "review": 1, "done": 0, "parked": 1}
    assert found["counts"] == counts
    assert found["parked"] == [{"key": "1-2-pay", "status": "blocked", "reason": "no account yet"}]
    assert found["lanes"] == [{"epic": "epic-1", "branch": "feature/epic-1", "base": "trunk", "folder": str(lane)}]
    text = said(shop.root, "status")
    place = os.path.relpath(lane, shop.root)
    assert f"epic-1 is shown as on feature/epic-1 ({place}), not on trunk yet" in text
    assert "backlog  on feature/epic-1" in text  # beside its own row
    assert shop.board.read_text() == BOARD.replace("2-1-mail: backlog", "2-1-mail: ready-for-dev")


def test_an_epic_on_a_branch_that_is_checked_out_nowhere_is_read_from_git(shop: SampleProject) -> None:
    shop.git("switch", "--quiet", "--create", "feature/epic-1")
    move(shop.board, ("1-1-cart", "done"))
    shop.commit("Story 1-1")
    under_way(shop)
    on_its_branch = document(shop.root)
    assert "lanes" not in on_its_branch
    assert rows(on_its_branch)["1-1-cart"] == "done"
    shop.git("switch", "--quiet", "-")
    found = document(shop.root)
    assert rows(found)["1-1-cart"] == "done"
    assert found["lanes"][0]["folder"] is None
    assert "epic-1 is shown as on feature/epic-1, not on trunk yet" in said(shop.root, "status")


def test_what_is_next_here_is_nothing_that_is_under_way_elsewhere(shop: SampleProject) -> None:
    under_way(shop)
    move(board_in(shop, worktree(shop)), ("1-1-cart", "in-progress"))
    assert document(shop.root)["next"]["story_id"] == "2-1-mail"
    assert "2-1-mail" in said(shop.root, "next", "--dry-run")
    under_way(shop, "2")
    worktree(shop, "2")
    assert document(shop.root)["next"] is None
    sentence = "nothing here: epic-2 and 1 more are under way elsewhere"
    assert said(shop.root, "next", code=3).strip() == sentence
    assert sentence in said(shop.root, "status")


def test_from_within_a_worktree_the_others_are_seen(shop: SampleProject) -> None:
    under_way(shop)
    under_way(shop, "2")
    one, two = worktree(shop), worktree(shop, "2")
    move(board_in(shop, one), ("1-1-cart", "review"))
    move(board_in(shop, two), ("2-1-mail", "in-progress"))
    found = document(two)
    assert rows(found) == {"1-1-cart": "review", "1-2-pay": "backlog", "2-1-mail": "in-progress"}
    assert [lane["epic"] for lane in found["lanes"]] == ["epic-1"]
    assert rows(document(shop.root)) == rows(found)


def test_one_epic_alone(shop: SampleProject) -> None:
    under_way(shop)
    move(board_in(shop, worktree(shop)), ("1-2-pay", "done"))
    text = said(shop.root, "status", "--epic", "1")
    assert "1-2-pay   done" in text
    assert "epic-1 is shown as on feature/epic-1" in text
    assert "is shown as" not in said(shop.root, "status", "--epic", "2")


def test_what_is_over_or_cannot_be_read_is_shown_as_it_is_here(shop: SampleProject) -> None:
    under_way(shop, status=RunStatus.COMPLETED)
    under_way(shop, "2")
    one, two = worktree(shop), worktree(shop, "2")
    move(board_in(shop, one), ("1-1-cart", "review"))
    board_in(shop, two).write_text("development_status: [")
    found = document(shop.root)
    assert set(rows(found).values()) == {"backlog"}
    assert "lanes" not in found
    board_in(shop, two).unlink()
    (two / ".git").unlink()
    assert set(rows(document(shop.root)).values()) == {"backlog"}


LOADED = """
import sys
from bmad_autopilot.cli import bmad
bmad(["-C", sys.argv[1], "status"], standalone_mode=False)
print(*sorted(sys.modules))
"""


def test_a_look_at_worktrees_starts_no_git(shop: SampleProject) -> None:
    """And nothing of lanes is loaded where no run is under way."""

    def loaded() -> set[str]:
        argv = [sys.executable, "-c", LOADED, str(shop.root)]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        return set(done.stdout.splitlines()[-1].split())

    under_way(shop, status=RunStatus.COMPLETED)
    assert not loaded() & {"bmad_autopilot.cli.status_lanes", "bmad_autopilot.runs.journal", "subprocess"}
    under_way(shop)
    worktree(shop)
    found = loaded()
    assert "bmad_autopilot.cli.status_lanes" in found
    assert not found & {"bmad_autopilot.git.git", "subprocess"}

"""Without a forge: an epic's branch, its checks, and the merge here; by us or by a person."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.board.sprint import read_board
from bmad_autopilot.core.errors import EXIT_DONE
from bmad_autopilot.github import git as git_door
from bmad_autopilot.project.open import open_project
from tests.engine.autopilot.piloting import BRANCH, Pilot, run_git


def local(folder: Path, merge: str, *, epics: int = 1) -> Pilot:
    pilot = Pilot(folder, epics=epics)
    settings = pilot.work / "bmad-autopilot.toml"
    settings.write_text(f'delivery = "local"\nmerge = "{merge}"\n{settings.read_text()}')
    run_git(pilot.work, "commit", "--quiet", "--all", "--message", "Merged here")
    run_git(pilot.work, "remote", "remove", "origin")
    return pilot


def statuses(pilot: Pilot) -> set[str]:
    rows = read_board(open_project(str(pilot.work)).require_board()).rows.values()
    return {row.meaning for row in rows if row.epic}


def test_epic_after_epic_is_merged_here_as_one_commit_each(tmp_path: Path) -> None:
    pilot = local(tmp_path / "p", "auto", epics=2)
    before = run_git(pilot.work, "rev-parse", "main")
    end = pilot.fly().end
    assert (end.exit_code, end.merged, end.lanes) == (EXIT_DONE, ("epic-1", "epic-2"), ())
    assert run_git(pilot.work, "rev-list", "--count", f"{before}..main") == "2"
    assert run_git(pilot.work, "branch", "--format=%(refname:short)") == "main"
    assert run_git(pilot.work, "status", "--porcelain", "--untracked-files=no") == ""
    assert statuses(pilot) == {"done", "optional"}  # its retrospective


@pytest.mark.parametrize("how", [("merge", "--no-ff", "--no-edit"), ("merge", "--ff-only")], ids=["merge", "ff"])
def test_a_persons_own_merge_is_noticed(tmp_path: Path, how: tuple[str, ...]) -> None:
    pilot = local(tmp_path / "p", "manual")
    waited: list[str] = []

    def merge_when_asked(kind: str, data: Mapping[str, Any]) -> None:
        if kind == "pending" and not waited:
            waited.append(str(data["why"]))
            run_git(pilot.work, "switch", "--quiet", "main")
            run_git(pilot.work, *how, BRANCH)

    end = pilot.fly(merge_when_asked).end
    assert waited == ["a person to merge it"]
    assert (end.exit_code, end.merged) == (EXIT_DONE, ("epic-1",))


def merge_is_tried(kind: str, data: Mapping[str, Any]) -> bool:
    return kind == "effect" and data.get("do") == "merge"


@pytest.mark.parametrize("parallel", [0, 1])
def test_a_base_that_moves_at_the_moment_of_the_merge_is_taken_in(tmp_path: Path, parallel: int) -> None:
    """As another lane's merge does, or a person's commit. The branch moves by compare and set, which fails once;
    the base is then merged into the branch, checked, and the epic is merged, without a question."""
    pilot = local(tmp_path / "p", "auto")
    moved: list[str] = []

    def commit_first(kind: str, data: Mapping[str, Any]) -> None:
        if merge_is_tried(kind, data) and not moved:
            tree = run_git(pilot.work, "rev-parse", "main^{tree}")
            made = run_git(pilot.work, "commit-tree", tree, "-p", "main", "-m", "Theirs")
            run_git(pilot.work, "update-ref", "refs/heads/main", made)
            moved.append(made)

    flight = pilot.fly(commit_first, parallel=parallel)
    assert (flight.end.exit_code, flight.end.merged) == (EXIT_DONE, ("epic-1",)), flight.end
    assert flight.entries("asked") == []
    assert run_git(pilot.work, "rev-parse", "main^") == moved[0]


def test_a_lock_in_the_checkout_holds_a_merge_up_and_asks_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The base is checked out there, and a person's git is at work in it."""
    monkeypatch.setattr(git_door, "LOCK_SECONDS", 0.1)
    pilot = local(tmp_path / "p", "auto")
    lock = pilot.work / ".git/index.lock"
    was: list[str] = []

    def hold_it(kind: str, data: Mapping[str, Any]) -> None:
        if merge_is_tried(kind, data) and not was:
            lock.touch()
        elif kind == "trouble":
            was.append(str(data["why"]))
            lock.unlink(missing_ok=True)

    flight = pilot.fly(hold_it, parallel=1)
    assert (flight.end.exit_code, flight.end.merged) == (EXIT_DONE, ("epic-1",)), flight.end
    assert len(was) == 1
    assert str(lock) in was[0]
    assert flight.entries("asked") == []

"""Without a forge: an epic's branch, its checks, and the merge here; by us or by a person."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.board.sprint import read_board
from bmad_autopilot.core.errors import EXIT_DONE
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

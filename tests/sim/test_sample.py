"""The sample is a project like those people have: our own readers find everything in it, and its check works."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bmad_autopilot.board.consistency import check_board
from bmad_autopilot.board.epics_file import find_epics_files, read_all_epics
from bmad_autopilot.board.sprint_status import board_from_text, read_board
from bmad_autopilot.core.statuses import RowKind
from bmad_autopilot.io.files import TextFile
from bmad_autopilot.project.bmad_install import Era
from bmad_autopilot.project.project import open_project
from bmad_autopilot.sim.sample import (
    BOARD,
    PLANNING,
    make_sample,
    sample_files,
    scripted_agent_command,
    story_keys,
)
from bmad_autopilot.workflows.workflow import PIPELINES
from tests.support.bmad_project import git


@pytest.mark.parametrize(("epics", "stories"), [(1, 1), (3, 4), (14, 13)])
def test_board_has_every_story_once(epics: int, stories: int) -> None:
    files = sample_files(epics, stories)
    board = board_from_text(TextFile(BOARD, files[BOARD]))
    keys = [row.key for row in board.of_kind(RowKind.STORY)]
    assert keys == story_keys(epics, stories)
    assert len({key.split("-", 2)[2] for key in keys}) == epics * stories, "a slug names a file"
    assert len(board.of_kind(RowKind.EPIC)) == len(board.of_kind(RowKind.RETROSPECTIVE)) == epics
    assert {row.meaning for row in board.rows.values()} == {"backlog", "optional"}


def test_files_are_the_same_each_time() -> None:
    assert sample_files(3, 4) == sample_files(3, 4)
    assert sample_files(1, 1)[BOARD] != sample_files(1, 2)[BOARD]


def test_a_real_sample_is_committed_and_found(tmp_path: Path) -> None:
    make_sample(str(tmp_path / "sample"), 2, 3, agent_command=scripted_agent_command("picky", 0.5))
    project = open_project(str(tmp_path / "sample"))
    assert git(tmp_path / "sample", "status", "--porcelain") == ""
    assert git(tmp_path / "sample", "branch", "--show-current").strip() == "main"
    assert project.diagnostics == ()
    assert project.bmad.era is Era.CLASSIC
    assert project.config.agent == "scripted"
    assert project.config.agents["scripted"].command == scripted_agent_command("picky", 0.5)
    epics = read_all_epics(find_epics_files(project.folders.planning))
    assert len(list(epics.stories())) == 6
    assert os.path.relpath(project.folders.planning, tmp_path / "sample") == PLANNING
    problems = check_board(read_board(project.require_board()), [])
    assert [problem for problem in problems if problem.code != "stale"] == []


@pytest.mark.parametrize(("era", "workflow"), [("classic", "lean"), ("build", "build")])
def test_each_step_finds_its_skill(tmp_path: Path, era: str, workflow: str) -> None:
    make_sample(str(tmp_path), 1, 1, era=era)
    project = open_project(str(tmp_path))
    assert project.bmad.era.value == era
    for name in (*(step.skill for step in PIPELINES[workflow].steps), "retrospective"):
        skill = project.find_skill("scripted", name or "")
        assert skill is not None
        assert skill.is_usable


def test_its_check_passes_and_notices_a_defect(tmp_path: Path) -> None:
    make_sample(str(tmp_path), 1, 1)
    (command,) = open_project(str(tmp_path)).config.commands.test or ()
    assert shlex.split(command) == [sys.executable, "check.py"]
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, "Ran 6 tests" in done.stdout) == (0, True), done
    money = tmp_path / "src/ledger/money.py"
    money.write_text(money.read_text().replace("// to * to", "// to"))
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, "FAILED (failures=2)" in done.stdout) == (1, True), done
    assert git(tmp_path, "status", "--porcelain", "--ignored").split() == ["M", "src/ledger/money.py"]


def test_a_check_without_tests_fails(tmp_path: Path) -> None:
    make_sample(str(tmp_path), 1, 1)
    for test in (tmp_path / "tests").iterdir():
        test.unlink()
    done = subprocess.run([sys.executable, "check.py"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 1

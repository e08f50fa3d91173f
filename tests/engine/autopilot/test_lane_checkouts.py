"""A lane in a worktree of its own: whose rows it moves, and how it is gone on with without the autopilot."""

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.cli.run_summary import takeover_lines_of_run
from bmad_autopilot.core.errors import EXIT_HUMAN, EXIT_INTERRUPTED
from bmad_autopilot.engine.autopilot.checkouts import open_lane_project
from bmad_autopilot.engine.policy import with_base_settings
from bmad_autopilot.project.project import open_project
from bmad_autopilot.sim.sample import BOARD, scripted_agent_command
from tests.engine.autopilot.test_local import local, statuses
from tests.support.autopilot_runs import AutopilotProject, run_git
from tests.support.parallel_runs import check_merged, lane_worktrees, parallel_project
from tests.support.terminals import run_piped

# Before it does its work it moves rows of the other epic, which it has nothing to do with.
STRAYING = """\
import os, re, sys
if os.path.basename(os.getcwd()) == "epic-1":
    text = open(sys.argv[1]).read()
    text = re.sub(r"(?m)^(  2-1-.*: ).*", r"\\1done", text)
    open(sys.argv[1], "w").write(re.sub(r"(?m)^(  epic-2: ).*", r"\\1in-progress", text))
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.mark.real
def test_rows_of_other_epics_are_put_back_and_nobody_is_asked(tmp_path: Path) -> None:
    script = tmp_path / "straying.py"
    script.write_text(STRAYING)
    pilot = parallel_project(
        tmp_path / "p", epics=2, agent=(sys.executable, str(script), BOARD, *scripted_agent_command())
    )
    flight = pilot.run(parallel=1, patterns=("^1",))
    assert flight.entries("asked") == []
    check_merged(pilot, flight, "epic-1")
    back = [one["put_back"] for one in flight.entries("ended") if "put_back" in one]
    assert [sorted(row[0][:6] for row in rows) for rows in back] == [["2-1-li", "epic-2"]] * 3


@pytest.mark.real
@pytest.mark.parametrize("is_in_it", [False, True])
def test_bmad_resume_goes_on_in_its_worktree_and_clears_it_away(tmp_path: Path, is_in_it: bool) -> None:
    pilot = local(tmp_path / "p", "auto")

    def stop(kind: str, data: Mapping[str, Any]) -> None:
        if kind == "call" and data["step"] == "dev":
            os.kill(os.getpid(), signal.SIGINT)

    flight = pilot.run(stop, parallel=1)
    assert flight.end.exit_code == EXIT_INTERRUPTED
    (held,) = flight.end.lanes
    here = open_project(str(pilot.work))
    there = open_lane_project(here, held.lane)
    assert there.root.checkout == str(tmp_path / "p" / "work.worktrees" / "epic-1")
    assert there.root.path == here.root.path
    cwd = Path(there.root.checkout) if is_in_it else pilot.work
    done = run_piped("resume", "--run", os.path.basename(held.folder), cwd=cwd)
    assert (done.returncode, done.stderr) == (0, "")
    assert ("the worktree of epic-1 stays: you are in it" in done.stdout) is is_in_it
    assert lane_worktrees(pilot) == (["epic-1"] if is_in_it else [])
    assert statuses(pilot) == {"done", "optional"}
    assert run_git(pilot.work, "branch", "--show-current") == "main"
    assert run_git(pilot.work, "status", "--porcelain") == ""


@pytest.mark.real
def test_what_it_asks_names_files_as_people_in_the_checkout_find_them(tmp_path: Path) -> None:
    pilot = parallel_project(tmp_path / "p", epics=1, agent=(sys.executable, "-c", "raise SystemExit(3)"))
    assert pilot.run(parallel=1).end.exit_code == EXIT_HUMAN
    asked = pilot.asked()
    named = [line.removeprefix("See: ") for line in asked.question.context.split("\n") if line.startswith("See: ")]
    assert f"../work.worktrees/epic-1/{BOARD}" in named
    assert [path for path in named if not (pilot.work / path).exists()] == []
    assert len([path for path in named if not path.startswith("..")]) == 1  # the call's own, kept in the checkout
    lane = pilot.work.with_name("work.worktrees") / "epic-1"
    assert takeover_lines_of_run(open_project(str(pilot.work)), asked.run.folder) == (f"cd {lane}",)


def test_in_a_worktree_too_the_settings_are_those_of_the_base_branch(tmp_path: Path) -> None:
    pilot = AutopilotProject(tmp_path / "p")
    run_git(pilot.work, "worktree", "add", "--quiet", "-b", "lane", str(tmp_path / "lane"))
    for folder in (pilot.work, tmp_path / "lane"):
        (folder / "bmad-autopilot.toml").write_text("max_review_rounds = 9\n")
    told: list[str] = []
    project = with_base_settings(
        open_project(str(tmp_path / "lane")), lambda kind, data, at: told.append(data["text"])
    )
    assert project.config.max_review_rounds == 3
    assert told == ["bmad-autopilot.toml is not as on main; what is committed there counts"]

"""What people and agents do to a project while a run is under way: clear answers, nothing lost."""

import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.core.lane_scope import LaneScope
from bmad_autopilot.engine.runner import start_run
from bmad_autopilot.project.project import open_project
from tests.support.lane_projects import LaneProject, Person, RecordedRun

pytestmark = pytest.mark.real  # whole runs, by real processes

LONG = 1.5  # seconds that an agent takes: a person has time to do something


def run_while(
    sample: LaneProject, at: str, act: Callable[[], object], scope: str = "epic", key: str = "1"
) -> RecordedRun:
    """`act` happens once, when the run tells of `at` (its kind, and perhaps its step) for the first time."""
    log: list[tuple[str, Mapping[str, Any]]] = []
    kind, _, step = at.partition(" ")
    done: list[object] = []

    def told(one: str, data: Mapping[str, Any], when: float) -> None:
        log.append((one, dict(data)))
        if one == kind and data.get("step", "") in (step, step or data.get("step", "")) and not done:
            done.append(True)
            act()

    return RecordedRun(start_run(open_project(str(sample.root)), LaneScope(scope), key, on_event=told), log)


def edit(sample: LaneProject, pattern: str, text: str) -> Callable[[], object]:
    return lambda: sample.board.write_text(re.sub(pattern, text, sample.board.read_text()))


def test_a_story_that_somebody_parks_meanwhile_stays_parked(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", stories=2, seconds=LONG)
    ran = run_while(sample, "progress dev", edit(sample, r"(1-2-\S+): backlog", r"\1: blocked"))
    assert (ran.end.status, ran.questions) == ("waiting", ["left-out"])
    assert (sample.row("1-1"), sample.row("1-2")) == ("done", "blocked")


def test_a_story_that_someone_sets_to_done_without_a_commit_is_asked_about(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    done = edit(sample, r"(1-1-\S+): review", r"\1: done")
    ran = run_while(sample, "accepted dev", done)
    assert (ran.end.status, ran.questions) == ("waiting", ["row"])
    assert sample.run("epic", "1", person=Person("undo")).end.status == "completed"
    assert sample.story_commits()[0].startswith("Story 1-1")


def test_another_story_that_says_done_is_asked_about_before_the_epic_is_closed(tmp_path: Path) -> None:
    """Also where the run is for one story: its commit holds the board, and the last story closes the epic."""
    sample = LaneProject(tmp_path / "p", stories=2)
    done = edit(sample, r"(1-2-\S+): backlog", r"\1: done")
    ran = run_while(sample, "accepted dev", done, "story", "1-1")
    assert (ran.end.status, ran.questions) == ("waiting", ["row"])
    assert sample.story_commits() == []
    again = sample.run("story", "1-1", person=Person("undo"))
    assert (again.end.status, sample.row("1-2"), sample.rows()["epic-1"]) == (
        "completed",
        "backlog",
        "in-progress",
    )


def test_a_story_that_a_commit_of_the_users_sets_to_done_is_done(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", stories=2)
    done = edit(sample, r"(1-1-\S+): review", r"\1: done")

    def commit_it() -> None:
        done()
        sample.git("add", "--all")
        sample.git("commit", "--quiet", "--message", "Finished by hand")

    ran = run_while(sample, "accepted dev", commit_it)
    assert (ran.end.status, ran.questions) == ("completed", [])
    assert [one["status"] for one in ran.entries("edited")] == ["done"]
    assert [call["step"] for call in ran.entries("call") if call["story"].startswith("1-1")] == [
        "create-story",
        "dev",
    ]


def test_a_story_that_somebody_sets_back_begins_there_again(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    back = edit(sample, r"(1-1-\S+): review", r"\1: ready-for-dev")
    ran = run_while(sample, "accepted dev", back, "story", "1-1")
    assert ran.end.status == "completed"
    assert [call["step"] for call in ran.entries("call")] == ["create-story", "dev", "dev", "code-review"]


def test_a_story_deleted_while_its_agent_works_is_let_go_and_its_work_kept(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", stories=2, seconds=LONG)
    ran = run_while(sample, "progress dev", edit(sample, r"  1-1-\S+: \S+\n", ""))
    assert ran.end.status == "completed"
    (gone,) = ran.entries("gone")
    assert sample.git("rev-parse", "--verify", gone["kept"])
    assert sample.row("1-2") == "done"


def test_a_story_deleted_before_its_turn_is_not_missed(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", stories=2)
    ran = run_while(sample, "accepted dev", edit(sample, r"  1-2-\S+: \S+\n", ""))
    assert ran.end.status == "completed"
    assert {call["story"][:3] for call in ran.entries("call")} == {"1-1"}


def test_a_board_that_a_person_breaks_stops_the_run_and_is_left_alone(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    whole = sample.board.read_text()
    with pytest.raises(AutopilotError) as error:
        run_while(sample, "accepted create-story", lambda: sample.board.write_text("a: b: c\n"), "story", "1-1")
    assert error.value.exit_code == 4
    assert sample.board.read_text() == "a: b: c\n"
    sample.board.write_text(whole.replace("list-accounts: backlog", "list-accounts: ready-for-dev"))
    assert sample.run().end.status == "completed"


def test_no_epics_file(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    sample.git("rm", "-q", "-r", "_bmad-output/planning-artifacts")
    sample.git("commit", "-qm", "No plan")
    assert sample.run().end.status == "completed"


def test_a_row_without_an_epic(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    edit(sample, r"  epic-1: \S+\n", "")()
    sample.git("commit", "-qam", "No epic")
    assert sample.run().end.status == "completed"


def test_two_stories_with_one_number(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    edit(sample, r"(  1-1-\S+: \S+\n)", r"\1  1-1-another: backlog\n")()
    sample.git("commit", "-qam", "Two of them")
    for scope, key in (("epic", "1"), ("story", "1-1-another"), ("story", "1-1")):
        with pytest.raises(AutopilotError, match=r"1-1|1\.1"):
            sample.run(scope, key)
    assert sample.rows()["1-1-another"] == "backlog"


def test_no_room_on_the_disk(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    code = (
        "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000));"
        "sys.argv = ['bmad', 'run-story', '1-1']; runpy.run_module('bmad_autopilot', run_name='__main__')"
    )
    full = subprocess.run(
        [sys.executable, "-B", "-c", code], cwd=sample.root, capture_output=True, text=True, check=False
    )
    assert full.returncode not in (0, 3)
    assert "Traceback" not in full.stderr
    assert "is the disk full?" in full.stderr or "cannot be written" in full.stderr
    assert sample.run().end.status == "completed"

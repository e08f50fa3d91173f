"""A flow's tasks, implemented for real: real git, a real process as the agent."""

import time
from pathlib import Path
from random import Random

import pytest

from bmad_autopilot.core.errors import ConflictError, FileError
from bmad_autopilot.engine.autopilot.options import AutopilotOptions
from bmad_autopilot.engine.resume import resume_run
from bmad_autopilot.engine.run_setup import Caps, DirtyTree
from bmad_autopilot.project.project import open_project
from bmad_autopilot.runs.index import unfinished_runs
from bmad_autopilot.runs.layout import runs_folder
from bmad_autopilot.runs.question_file import AnswerSource
from bmad_autopilot.runs.questions import load_inbox, record_answer
from bmad_autopilot.runs.supervisor_lock import hold_supervisor_lock
from bmad_autopilot.sim.github.model import VIEWER, SimGitHub
from bmad_autopilot.sim.github.records import SimClock
from bmad_autopilot.sim.github.refs import BareRefs
from tests.engine.flows.task_setup import Tasking
from tests.support.autopilot_runs import FastForge
from tests.support.lane_projects import Person


@pytest.fixture
def sample(tmp_path: Path) -> Tasking:
    return Tasking(tmp_path / "p")


def test_tasks_are_done_batch_by_batch_and_reported(sample: Tasking) -> None:
    sample.task("01_setup")
    sample.task("02_login", "01")
    sample.task("AZ-3_search", "01", 5)
    end = sample.run()
    assert (end.status, end.exit_code, end.tasks_done, end.tasks_left) == ("completed", 0, 3, 0)
    keys = ["1-1-setup", "2-1-login", "2-2-search"]
    assert sample.ran() == [f"{step} {key}" for key in keys for step in ("implement", "review")]
    assert set(sample.rows().values()) == {"done"}
    assert (sample.files("todo"), sample.files("done")) == ([], ["01_setup.md", "02_login.md", "AZ-3_search.md"])
    assert sample.subjects()[-1] == "Implementation report: features, 3 tasks done"
    moved = sample.git("show", "--name-status", "--format=", "HEAD").splitlines()
    assert moved[0].split()[1:] == ["_docs/02_tasks/todo/01_setup.md", "_docs/02_tasks/done/01_setup.md"]
    assert sample.git("status", "--porcelain") == ""
    trailers = sample.git("log", "--format=%(trailers:key=Autopilot-Step,valueonly,separator=%x2C)").split()
    assert len(trailers) == len(set(trailers)) == 7


@pytest.mark.real
def test_the_report_tells_of_tasks_commits_checks_and_cost(sample: Tasking) -> None:
    sample.task("01_setup", points=8)
    sample.run("tests")
    report = sample.report("tests")
    commit = sample.git("log", "--format=%H", "--grep=Story 1-1-setup")[:10]
    assert f"| 1 | 01_setup | Setup | 8 | done | 1 | 2 calls without a price | {commit} |" in report
    assert "- Tasks: 1 of 1 done, 8 complexity points" in report
    assert "passed 1 of 1 times" in report
    assert "- Agent calls: 2" in report


@pytest.mark.real
def test_done_again_nothing_happens(sample: Tasking) -> None:
    sample.task("01_setup")
    sample.run()
    before, report = sample.git("rev-parse", "HEAD"), sample.report()
    end = sample.run()
    assert (end.status, end.tasks_done) == ("completed", 1)
    assert (sample.git("rev-parse", "HEAD"), sample.report()) == (before, report)
    assert len(sample.ran()) == 2


def test_without_tasks_there_is_nothing_to_do(sample: Tasking) -> None:
    end = sample.run()
    assert (end.status, end.why) == ("completed", "there are no tasks")
    assert not sample.folder.exists()


@pytest.mark.real
def test_tasks_that_come_later_get_batches_of_their_own(sample: Tasking) -> None:
    sample.task("01_setup")
    sample.run("tests")
    board = (sample.folder / "sprint-status.yaml").read_text()
    sample.task("02_login", "01")
    sample.task("03_search", "02")
    assert sample.run("features").status == "completed"
    after = (sample.folder / "sprint-status.yaml").read_text()
    assert after.startswith(board)
    assert [key for key in sample.rows() if "epic" not in key] == ["1-1-setup", "2-1-login", "3-1-search"]
    assert "01_setup" in sample.report("tests")
    assert "01_setup" not in sample.report("features")
    assert "- Tasks: 2 of 2 done" in sample.report("features")
    assert sample.ran().count("implement 1-1-setup") == 1


@pytest.mark.real
def test_tasks_added_beside_open_ones_keep_the_rows_there_are(sample: Tasking) -> None:
    sample.note("asks", "setup")
    sample.task("01_setup")
    assert sample.run().status == "waiting"
    sample.task("00_first")
    sample.note("asks", "nobody")
    record_answer(load_inbox(runs_folder(str(sample.root))).next_per_story[0].path, "SQLite", AnswerSource.HUMAN)
    assert sample.run().status == "completed"
    assert [key for key in sample.rows() if "epic" not in key] == ["1-1-setup", "2-1-first"]


def test_a_question_waits_and_its_answer_is_in_the_report(sample: Tasking) -> None:
    sample.note("asks", "login")
    sample.task("01_setup")
    sample.task("02_login")
    end = sample.run()
    assert (end.status, end.exit_code, end.tasks_done, end.tasks_left) == ("waiting", 3, 1, 1)
    assert end.why == "1-2-login: Which store?"
    assert sample.files("todo") == ["01_setup.md", "02_login.md"]
    record_answer(load_inbox(runs_folder(str(sample.root))).next_per_story[0].path, "SQLite", AnswerSource.HUMAN)
    end = sample.run()
    assert (end.status, end.tasks_done) == ("completed", 2)
    assert sample.ran().count("implement 1-1-setup") == 1
    assert "- 02_login: Which store?\n  Answer: SQLite" in sample.report()


@pytest.mark.real
def test_somebody_at_the_terminal_answers_at_once(sample: Tasking) -> None:
    sample.note("asks", "setup")
    sample.task("01_setup")
    assert sample.run(person=Person("Postgres")).status == "completed"
    assert "Answer: Postgres" in sample.report()


@pytest.mark.real
def test_bmad_resume_goes_on_with_a_batch_on_the_tasks_own_board(sample: Tasking) -> None:
    sample.note("asks", "setup")
    sample.task("01_setup")
    assert sample.run().status == "waiting"
    record_answer(load_inbox(runs_folder(str(sample.root))).next_per_story[0].path, "SQLite", AnswerSource.HUMAN)
    run = unfinished_runs(runs_folder(str(sample.root)))[0]
    end = resume_run(open_project(str(sample.root)), run, on_event=lambda kind, data, at: None)
    assert end.status == "completed"
    assert sample.run().status == "completed"
    assert sample.files("done") == ["01_setup.md"]


def test_a_cycle_is_named_before_anything_is_spent(sample: Tasking) -> None:
    sample.task("01_setup", "02")
    sample.task("02_login", "01")
    with pytest.raises(FileError, match="01_setup → 02_login → 01_setup") as refused:
        sample.run()
    assert refused.value.exit_code == 4
    assert sample.ran() == []
    assert not (sample.folder / "sprint-status.yaml").exists()


def test_two_tasks_with_one_id_are_refused(sample: Tasking) -> None:
    sample.task("01_setup")
    sample.task("01_login")
    with pytest.raises(FileError, match="is called 01"):
        sample.run()


def test_a_task_whose_file_is_gone_is_told(sample: Tasking) -> None:
    sample.note("asks", "setup")
    path = sample.task("01_setup")
    sample.run()
    path.unlink()
    with pytest.raises(FileError, match="1-1-setup has no task file any more"):
        sample.run()


@pytest.mark.real
def test_a_file_moved_to_done_by_hand_is_done(sample: Tasking) -> None:
    sample.note("asks", "setup")
    path = sample.task("02_setup")
    sample.task("01_first")
    sample.run()
    (sample.folder / "done").mkdir()
    path.rename(sample.folder / "done" / path.name)
    end = sample.run()
    assert sample.rows()["1-2-setup"] == "done"
    assert end.tasks_left == 0


@pytest.mark.real
def test_a_parked_task_stays_in_todo_and_is_told(sample: Tasking) -> None:
    sample.task("01_setup")
    sample.task("02_login", "01")
    sample.run(caps=Caps(0.0, None))  # only planned
    board = sample.folder / "sprint-status.yaml"
    board.write_text(board.read_text().replace("2-1-login: ready-for-dev", "2-1-login: blocked"))
    end = sample.run()
    assert (end.status, end.exit_code, end.tasks_done, end.tasks_left) == ("not-done", 1, 1, 1)
    assert end.why == "not done: 02_login (blocked)"
    assert (sample.files("todo"), sample.files("done")) == (["02_login.md"], ["01_setup.md"])
    assert "| 2 | 02_login | Login | 3 | blocked | – | – | – |" in sample.report()
    board.write_text(board.read_text().replace("2-1-login: blocked", "2-1-login: ready-for-dev"))
    assert sample.run().status == "completed"
    assert "- Tasks: 2 of 2 done" in sample.report()


def test_changed_files_stop_it_unless_they_are_left_out(sample: Tasking) -> None:
    sample.write("_docs/_autopilot_state.md", "# Autopilot State\n")
    sample.commit("State")
    sample.write("_docs/_autopilot_state.md", "# Autopilot State\n\nchanged\n")
    sample.task("01_setup")
    with pytest.raises(DirtyTree) as refused:
        sample.run()
    assert refused.value.paths == ("_docs/_autopilot_state.md",)
    assert sample.run(allow_dirty=True).status == "completed"
    assert sample.git("status", "--porcelain") == "M _docs/_autopilot_state.md"


@pytest.mark.real
def test_what_all_batches_may_cost_is_shared(sample: Tasking) -> None:
    sample.task("01_setup")
    end = sample.run(caps=Caps(0.0, None))
    assert (end.status, end.tasks_left, sample.ran()) == ("paused", 1, [])


def test_only_one_at_a_time(sample: Tasking) -> None:
    sample.task("01_setup")
    with (
        hold_supervisor_lock(open_project(str(sample.root)).state_folder, "run epic 1"),
        pytest.raises(ConflictError),
    ):
        sample.run()


def test_the_tasks_board_is_no_board_of_bmads(sample: Tasking) -> None:
    sample.task("01_setup")
    sample.run()
    assert open_project(str(sample.root)).folders.board is None


def test_batches_are_not_delivered_from_a_plan_that_the_base_does_not_have(tmp_path: Path) -> None:
    sample = Tasking(tmp_path / "p", settings='delivery = "local"\nmerge = "auto"')
    sample.git("switch", "--quiet", "--create", "work")
    sample.task("01_setup")
    end = sample.run(options=AutopilotOptions())
    assert (end.status, end.exit_code, sample.ran()) == ("waiting", 3, [])
    assert end.why.startswith("the plan of the tasks is not on main yet (epic-1 …)")
    sample.git("branch", "--force", "main", "work")
    assert sample.run(options=AutopilotOptions()).status == "completed"
    assert sample.git("branch", "--show-current") == "main"


@pytest.mark.real
@pytest.mark.parametrize("parallel", [0, 2])
def test_batches_are_delivered_as_epics_are(tmp_path: Path, parallel: int) -> None:
    sample = Tasking(tmp_path / "p", settings='delivery = "local"\nmerge = "auto"')
    sample.task("01_setup")
    for number in range(2, 8):
        sample.task(f"{number:02}_part", "01")
    end = sample.run(options=AutopilotOptions(parallel=parallel))
    assert (end.status, end.exit_code, end.tasks_done, end.why) == ("completed", 0, 7, "")
    assert len(sample.ran()) == len(set(sample.ran())) == 14
    assert sample.git("branch", "--format=%(refname:short)") == "main"
    assert len(sample.files("done")) == 7
    assert sample.report().count("| done |") == 7
    assert sample.git("status", "--porcelain") == ""


@pytest.mark.real
def test_batches_go_through_pull_requests_once_the_plan_is_pushed(tmp_path: Path) -> None:
    rules = 'merge = "auto"\nrequire_review = "none"\nrequire_checks = false'
    sample = Tasking(tmp_path / "p", settings=rules)
    refs = BareRefs(tmp_path / "hub.git")
    with (sample.root / "bmad-autopilot.toml").open("a") as settings:
        settings.write("\n[github]\ncheck_interval = 5\ncheck_grace = 1\n")
    sample.commit("Settings")
    sample.git("remote", "add", "origin", str(refs.folder))
    sample.git("push", "--quiet", "origin", "main")
    model = SimGitHub(SimClock(time.time()), refs, Random(3))
    forge = FastForge(model)
    sample.task("01_setup")
    sample.task("02_part", "01")
    waits = sample.run(options=AutopilotOptions(), forge=lambda git, remote: forge)
    assert (waits.status, sample.ran()) == ("waiting", [])
    assert "not on origin/main yet" in waits.why
    sample.git("push", "--quiet", "origin", "main")
    end = sample.run(options=AutopilotOptions(), forge=lambda git, remote: forge)
    assert (end.status, end.tasks_done, end.why) == ("completed", 2, "")
    assert [effect.kind for effect in model.effects.select("merge", by=VIEWER)] == ["merge", "merge"]
    assert len(sample.ran()) == len(set(sample.ran())) == 4
    assert sample.report().count("| done |") == 2

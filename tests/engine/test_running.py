"""Stories and epics run for real: real git, a real process as the agent, our own checks."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot import run_epic_to_completion, run_story_to_completion
from bmad_autopilot.core.errors import AutopilotError, ConflictError
from bmad_autopilot.engine.restarting import restart_story
from bmad_autopilot.engine.running import start_run
from bmad_autopilot.engine.setting_out import Caps, DirtyTree
from bmad_autopilot.project.open import open_project
from bmad_autopilot.runs.agent_state import read_agent_state
from bmad_autopilot.runs.layout import runs_folder
from bmad_autopilot.runs.question import By
from bmad_autopilot.runs.questions import all_open, answer
from bmad_autopilot.runs.requests import Ask, put_request
from bmad_autopilot.runs.supervisor import hold
from tests.engine.laning import Person, Sample


def test_an_epic_from_backlog_to_done(tmp_path: Path) -> None:
    sample = Sample(tmp_path / "p", stories=2)
    ran = sample.run("epic", "1")
    assert (ran.end.status, ran.end.exit_code, ran.questions) == ("completed", 0, [])
    assert {status for key, status in sample.rows().items() if "retrospective" not in key} == {"done"}
    subjects = sample.story_commits()
    assert [subject.split(":")[0][:9] for subject in subjects] == ["Story 1-1", "Story 1-2", "Close epi"]
    assert sample.git("status", "--porcelain") == ""
    trailers = sample.git("log", "--format=%(trailers:key=Autopilot-Step,valueonly,separator=%x2C)").split()
    assert len(trailers) == len(set(trailers)) == 3
    state = json.loads((Path(ran.end.folder) / "state.json").read_text())
    assert (state["status"], state["steps_completed"]) == ("completed", [1, 2, 3, 4, 5, 6])


@pytest.mark.real
def test_a_review_that_asks_for_changes_goes_back_to_dev_and_each_round_is_a_commit(tmp_path: Path) -> None:
    sample = Sample(tmp_path / "p", "picky")
    ran = sample.run()
    assert ran.end.status == "completed"
    assert [call["step"] for call in ran.entries("call")] == [
        "create-story",
        "dev",
        "code-review",
        "dev",
        "code-review",
    ]
    subjects = sample.story_commits()
    assert [subject.partition(": ")[2] for subject in subjects] == ["round 1, changes requested", "", ""]


@pytest.mark.real
def test_failed_checks_go_to_dev_with_their_output(tmp_path: Path) -> None:
    ran = Sample(tmp_path / "p", "broken-checks").run()
    assert ran.end.status == "completed"
    assert [check["passed"] for check in ran.entries("check")] == [False, True]
    prompt = Path(ran.end.folder, "steps", "03-dev", "attempt-1", "prompt.md").read_text()
    assert "own checks fail" in prompt


def test_what_was_there_before_is_never_committed(tmp_path: Path) -> None:
    sample = Sample(tmp_path / "p")
    notes = sample.write("notes.txt", "mine")
    readme = sample.root / "README.md"
    readme.write_text(readme.read_text() + "not yet\n")
    with pytest.raises(DirtyTree) as refused:
        sample.run()
    assert refused.value.paths == ("README.md",)
    ran = sample.run(allow_dirty=True)
    assert ran.end.status == "completed"
    assert sample.git("status", "--porcelain").splitlines() == ["M README.md", "?? notes.txt"]
    assert notes.read_text() == "mine"


def test_a_question_waits_and_its_answer_reaches_the_next_call(tmp_path: Path) -> None:
    sample = Sample(tmp_path / "p", "asking")
    ran = sample.run()
    assert (ran.end.status, ran.end.exit_code, ran.questions) == ("waiting", 3, ["agent"])
    (asked,) = all_open(runs_folder(str(sample.root))).asked
    again = sample.run()
    assert (again.end.status, again.end.run_id) == ("waiting", ran.end.run_id)
    assert again.entries("call") == []
    answer(asked.path, asked.question.options[0] if asked.question.options else "Count them as nothing", By.HUMAN)
    done = sample.run()
    assert (done.end.status, done.end.run_id) == ("completed", ran.end.run_id)
    assert [call["step"] for call in done.entries("call")] == ["dev", "code-review"]
    prompt = Path(done.end.folder, "steps", "02-dev", "attempt-2", "prompt.md").read_text()
    assert "answered by a human" in prompt
    assert not list(sample.root.rglob("*.agent-state.json.*"))


@pytest.mark.real
def test_an_answer_that_was_only_recorded_reaches_the_agents_file_when_it_is_taken(tmp_path: Path) -> None:
    sample = Sample(tmp_path / "p", "asking")
    sample.run()
    (asked,) = all_open(runs_folder(str(sample.root))).asked
    answer(asked.path, "1", By.HUMAN)  # whoever did that was killed before it was delivered
    found: list[str | None] = []

    def told(kind: str, data: Mapping[str, Any], at: float) -> None:
        if kind == "answered":
            state = read_agent_state(asked.question.state_file)
            found.extend(one.answer for one in (state.questions if state else ()))

    assert start_run(open_project(str(sample.root)), "story", "1-1", told=told).status == "completed"
    assert found == [asked.question.options[0]]


def test_at_a_terminal_the_question_is_answered_at_once(tmp_path: Path) -> None:
    person = Person("1")
    ran = Sample(tmp_path / "p", "asking").run(person=person)
    assert ran.end.status == "completed"
    assert len(person.asked) == 1


@pytest.mark.real
def test_a_call_that_fails_twice_is_asked_about_and_skipped_on_request(tmp_path: Path) -> None:
    sample = Sample(tmp_path / "p", "honest,no-change:1-1", stories=2)
    ran = sample.run("epic", "1", person=Person("skip", "leave"))
    assert ran.end.status == "completed"
    assert ran.questions == ["failed", "left-out"]
    assert (sample.row("1-1"), sample.row("1-2"), sample.rows()["epic-1"]) == ("blocked", "done", "in-progress")


def test_a_question_about_checks_names_the_command_and_where_its_output_is(tmp_path: Path) -> None:
    sample = Sample(tmp_path / "p")
    command = "sh -c 'echo one test fails; exit 3'"
    settings = sample.root / "bmad-autopilot.toml"
    text = re.sub(r"test = .*", f'test = ["{command}"]', settings.read_text())
    settings.write_text(f"max_check_fixes = 0\n{text}")
    sample.git("commit", "-qam", "A check that fails")
    assert sample.run().questions == ["checks"]
    (asked,) = all_open(runs_folder(str(sample.root))).asked
    first, logs = asked.question.context.splitlines()
    assert first == f"{command}: exit code 3"
    printed = [path.read_text() for path in (sample.root / logs.removeprefix("logs: ")).iterdir()]
    assert any("one test fails" in text for text in printed)


@pytest.mark.real
@pytest.mark.parametrize("scope", ["story", "step"])
def test_a_story_that_was_skipped_is_not_done(tmp_path: Path, scope: str) -> None:
    sample = Sample(tmp_path / "p", "no-change")
    if scope == "step":
        sample.run("step")
    ran = sample.run(scope, person=Person("skip"))
    assert (ran.end.status, ran.end.exit_code, sample.row("1-1")) == ("not-done", 1, "blocked")
    assert json.loads((Path(ran.end.folder) / "state.json").read_text())["status"] == "completed"


@pytest.mark.real
def test_however_much_was_there_before_none_of_it_is_committed_after_a_resume(tmp_path: Path) -> None:
    sample = Sample(tmp_path / "p", "asking")
    for number in range(5000):
        (sample.root / f"note-{number:04}-{'x' * 60}.txt").write_text("mine")
    sample.write("caf\udce9.txt", "mine")
    before = sample.git("status", "--porcelain")
    ran = sample.run()
    assert ran.end.status == "waiting"
    done = sample.run(person=Person("1"))
    assert (done.end.status, len(done.end.lane.dirty)) == ("completed", 5001)
    assert sample.git("status", "--porcelain") == before


def test_without_the_list_of_what_was_there_before_nobody_goes_on(tmp_path: Path) -> None:
    sample = Sample(tmp_path / "p", "asking")
    sample.write("notes.txt", "mine")
    ran = sample.run()
    (Path(ran.end.folder) / "left-out").write_bytes(b"")
    with pytest.raises(AutopilotError, match="changed before the run began"):
        sample.run(person=Person("1"))


@pytest.mark.real
def test_a_board_that_an_agent_broke_is_put_back(tmp_path: Path) -> None:
    sample = Sample(tmp_path / "p", "breaks-board")
    ran = sample.run()
    assert ran.end.status == "completed"
    restored = ran.entries("restored")
    assert restored
    assert all(Path(one["kept"]).exists() for one in restored)
    assert sample.row("1-1") == "done"


def test_a_cap_on_cost_stops_before_the_next_call(tmp_path: Path) -> None:
    sample = Sample(tmp_path / "p")
    ran = sample.run(caps=Caps(cost=0.0))
    assert (ran.end.status, ran.questions, ran.entries("call")) == ("waiting", ["budget"], [])
    more = sample.run(caps=Caps(hours=0.0))
    assert more.questions == []
    assert more.end.status == "waiting"


@pytest.mark.real
def test_the_build_era(tmp_path: Path) -> None:
    sample = Sample(tmp_path / "p", era="build")
    ran = sample.run()
    assert ran.end.status == "completed"
    assert [call["step"] for call in ran.entries("call")] == ["build-auto", "code-review"]
    assert sample.row("1-1") == "done"
    assert sample.git("status", "--porcelain") == ""


@pytest.mark.real
def test_a_retrospective_is_held_where_that_was_asked_for_and_its_verdict_read(tmp_path: Path) -> None:
    sample = Sample(tmp_path / "p")
    ran = sample.run("epic", "1", retrospective="run")
    assert (ran.end.status, ran.questions) == ("completed", [])
    held = ran.entries("ended")[-1]
    assert (held["step"], held["finding"], held["summary"]) == ("retrospective", "good", "accepted")
    assert sample.rows()["epic-1-retrospective"] == "done"
    assert sample.git("status", "--porcelain") == ""
    later = sample.run("epic", "1", retrospective="run")
    assert (later.end.status, later.entries("call")) == ("completed", [])


def test_a_pause_asked_for_during_a_storys_last_step_begins_nothing_of_the_epic(tmp_path: Path) -> None:
    """`run-epic` goes on with the run of a single story first; the pause is asked of that one."""
    sample = Sample(tmp_path / "p", stories=2)
    for _ in range(2):
        sample.run("step")
    folder = ""
    log: list[str] = []

    def told(kind: str, data: Mapping[str, Any], at: float) -> None:
        nonlocal folder
        log.append(kind)
        if kind == "resumed":
            (folder,) = (str(path) for path in Path(runs_folder(str(sample.root))).glob("*/1-1-*"))
        if kind == "call":
            put_request(folder, Ask.PAUSE)

    end = start_run(open_project(str(sample.root)), "epic", "1", told=told)
    assert (end.status, end.exit_code) == ("paused", 3)
    assert log.count("call") == 1
    assert sample.row("1-2") == "backlog"


def test_one_step_only(tmp_path: Path) -> None:
    sample = Sample(tmp_path / "p")
    ran = sample.run("step")
    assert ran.end.status == "completed"
    assert [call["step"] for call in ran.entries("call")] == ["create-story"]
    assert sample.row("1-1") == "ready-for-dev"
    assert [call["step"] for call in sample.run("step").entries("call")] == ["dev"]


def test_the_public_functions(tmp_path: Path) -> None:
    sample = Sample(tmp_path / "p", stories=2)
    story = run_story_to_completion("1-1", project=str(sample.root))
    assert (story.status, [result.status for result in story.results]) == ("done", ["success"] * 3)
    epic = run_epic_to_completion("1", project=str(sample.root))
    assert (epic.epic_id, epic.status, [one.status for one in epic.stories]) == ("epic-1", "done", ["done"])


@pytest.mark.real
def test_begun_anew_with_its_work_saved(tmp_path: Path) -> None:
    sample = Sample(tmp_path / "p", "asking")
    sample.run()
    before = sample.git("rev-parse", "HEAD^{tree}")
    sample.write("kept.txt", "mine")
    report = restart_story(open_project(str(sample.root)), "1-1-list-accounts")
    assert report.row_after == "backlog"
    assert sample.git("rev-parse", "--verify", report.saved_ref)
    assert sample.git("status", "--porcelain") == "?? kept.txt"
    changed = sample.git("diff", "--name-only", before, "HEAD").splitlines()
    assert changed == [os.path.relpath(sample.board, sample.root)]  # its epic has begun
    ran = sample.run(person=Person("1"))
    assert ran.end.status == "completed"


def test_a_second_supervisor_is_told_who_the_first_is(tmp_path: Path) -> None:
    sample = Sample(tmp_path / "p")
    state = open_project(str(sample.root)).state_folder
    with hold(state, "run epic epic-1"), pytest.raises(ConflictError) as refused:
        sample.run()
    assert str(os.getpid()) in str(refused.value)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("checkout", "--quiet", "--detach"), "detached"),
        (("config", "--unset", "user.email"), "who you are"),
    ],
)
def test_a_place_where_nobody_can_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], problem: str
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    sample = Sample(tmp_path / "p")
    sample.git(*words)
    with pytest.raises(AutopilotError, match=problem):
        sample.run()
    assert sample.row("1-1") == "backlog"


@pytest.mark.real
def test_a_skipped_story_leaves_nothing_in_the_tree_for_the_next(tmp_path: Path) -> None:
    sample = Sample(tmp_path / "p", "honest,half-done:1-1", stories=2)
    ran = sample.run("epic", "1", person=Person("skip", "leave"))
    assert ran.end.status == "completed"
    (aside,) = ran.entries("aside")
    assert sample.git("rev-parse", "--verify", aside["kept"])
    (second,) = (sha for sha in sample.git("log", "--format=%H", "--grep=^Story 1-2").splitlines())
    assert not [
        name for name in sample.git("show", "--name-only", "--format=", second).splitlines() if "1-1" in name
    ]
    assert "Story 1-1-list-accounts: skipped" in sample.story_commits()
    assert sample.git("status", "--porcelain") == ""


@pytest.mark.real
def test_a_story_with_later_work_on_its_files_is_not_begun_anew(tmp_path: Path) -> None:
    sample = Sample(tmp_path / "p")
    sample.run()
    (path,) = (
        name for name in sample.git("show", "--name-only", "--format=", "HEAD~1").splitlines() if "src/" in name
    )
    sample.write(path, (sample.root / path).read_text() + "\nLATER = True\n")
    sample.git("commit", "-qam", "Later work")
    with pytest.raises(ConflictError, match="later commits") as refused:
        restart_story(open_project(str(sample.root)), "1-1-list-accounts")
    assert "Later work" in str(refused.value)
    assert "LATER" in (sample.root / path).read_text()


@pytest.mark.real
def test_what_a_person_mends_between_two_calls_is_not_the_agents(tmp_path: Path) -> None:
    sample = Sample(tmp_path / "p", "asking")
    sample.run()
    settings = sample.root / "bmad-autopilot.toml"
    settings.write_text(settings.read_text() + "\n# mended\n")
    sample.git("commit", "-qm", "Mend", "--", "bmad-autopilot.toml")
    assert sample.run(person=Person("1")).end.status == "completed"


def test_settings_that_are_not_committed_are_protected_too(tmp_path: Path) -> None:
    sample = Sample(tmp_path / "p", "edits-policy")
    sample.git("rm", "-q", "--cached", "bmad-autopilot.toml")
    sample.git("commit", "-qm", "Not ours")
    ran = sample.run()
    assert (ran.end.status, ran.questions) == ("waiting", ["failed"])
    assert ran.entries("ended")[-1]["objections"] == ["protected-path"]

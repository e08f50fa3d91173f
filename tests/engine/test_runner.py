"""Stories and epics run for real: real git, a real process as the agent, our own checks."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot import run_epic_to_completion, run_story_to_completion
from bmad_autopilot.core.errors import AutopilotError, ConflictError, UsageError
from bmad_autopilot.core.lane_scope import LaneScope
from bmad_autopilot.engine.lane import Lane, lane_from_json
from bmad_autopilot.engine.restart import restart_story
from bmad_autopilot.engine.resume import resume_fork
from bmad_autopilot.engine.run_setup import Caps, DirtyTree
from bmad_autopilot.engine.runner import start_run
from bmad_autopilot.io.files import TextFile
from bmad_autopilot.project.project import open_project
from bmad_autopilot.runs.agent_state import read_agent_state
from bmad_autopilot.runs.checkpoints import list_checkpoints
from bmad_autopilot.runs.journal import Journal
from bmad_autopilot.runs.layout import runs_folder
from bmad_autopilot.runs.question_file import AnswerSource
from bmad_autopilot.runs.questions import load_inbox, questions_of, record_answer
from bmad_autopilot.runs.supervisor_lock import ControlRequest, hold_supervisor_lock, write_request
from bmad_autopilot.workflows.step_file import MAX_BYTES, parse_step_file
from bmad_autopilot.workflows.workflow import MAX_STEPS
from tests.support.agent_stubs import wait_until
from tests.support.lane_projects import LaneProject, Person
from tests.support.orchestrator_kills import survivors_in
from tests.support.workflow_projects import (
    WorkflowProject,
    check_each_step_ran_once,
    gated_workflow,
    kill_in_each_step,
    kill_often,
    supervisors,
)


def test_an_epic_from_backlog_to_done(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", stories=2)
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
    sample = LaneProject(tmp_path / "p", "picky")
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
    ran = LaneProject(tmp_path / "p", "broken-checks").run()
    assert ran.end.status == "completed"
    assert [check["passed"] for check in ran.entries("check")] == [False, True]
    prompt = Path(ran.end.folder, "steps", "03-dev", "attempt-1", "prompt.md").read_text()
    assert "own checks fail" in prompt


def test_what_was_there_before_is_never_committed(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
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
    sample = LaneProject(tmp_path / "p", "asking")
    ran = sample.run()
    assert (ran.end.status, ran.end.exit_code, ran.questions) == ("waiting", 3, ["agent"])
    (asked,) = load_inbox(runs_folder(str(sample.root))).pending
    again = sample.run()
    assert (again.end.status, again.end.run_id) == ("waiting", ran.end.run_id)
    assert again.entries("call") == []
    record_answer(
        asked.path,
        asked.question.options[0] if asked.question.options else "Count them as nothing",
        AnswerSource.HUMAN,
    )
    done = sample.run()
    assert (done.end.status, done.end.run_id) == ("completed", ran.end.run_id)
    assert [call["step"] for call in done.entries("call")] == ["dev", "code-review"]
    prompt = Path(done.end.folder, "steps", "02-dev", "attempt-2", "prompt.md").read_text()
    assert "answered by a human" in prompt
    assert not list(sample.root.rglob("*.agent-state.json.*"))


@pytest.mark.real
def test_an_answer_that_was_only_recorded_reaches_the_agents_file_when_it_is_taken(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", "asking")
    sample.run()
    (asked,) = load_inbox(runs_folder(str(sample.root))).pending
    record_answer(asked.path, "1", AnswerSource.HUMAN)  # whoever did that was killed before it was delivered
    found: list[str | None] = []

    def told(kind: str, data: Mapping[str, Any], at: float) -> None:
        if kind == "answered":
            state = read_agent_state(asked.question.state_file)
            found.extend(one.answer for one in (state.questions if state else ()))

    assert start_run(open_project(str(sample.root)), LaneScope.STORY, "1-1", on_event=told).status == "completed"
    assert found == [asked.question.options[0]]


def test_at_a_terminal_the_question_is_answered_at_once(tmp_path: Path) -> None:
    person = Person("1")
    ran = LaneProject(tmp_path / "p", "asking").run(person=person)
    assert ran.end.status == "completed"
    assert len(person.asked) == 1


@pytest.mark.real
def test_a_call_that_fails_twice_is_asked_about_and_skipped_on_request(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", "honest,no-change:1-1", stories=2)
    ran = sample.run("epic", "1", person=Person("skip", "leave"))
    assert ran.end.status == "completed"
    assert ran.questions == ["failed", "left-out"]
    assert (sample.row("1-1"), sample.row("1-2"), sample.rows()["epic-1"]) == ("blocked", "done", "in-progress")


def test_a_question_about_checks_names_the_command_and_where_its_output_is(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    command = "sh -c 'echo one test fails; exit 3'"
    settings = sample.root / "bmad-autopilot.toml"
    text = re.sub(r"test = .*", f'test = ["{command}"]', settings.read_text())
    settings.write_text(f"max_check_fixes = 0\n{text}")
    sample.git("commit", "-qam", "A check that fails")
    assert sample.run().questions == ["checks"]
    (asked,) = load_inbox(runs_folder(str(sample.root))).pending
    first, logs = asked.question.context.splitlines()
    assert first == f"{command}: exit code 3"
    printed = [path.read_text() for path in (sample.root / logs.removeprefix("logs: ")).iterdir()]
    assert any("one test fails" in text for text in printed)


@pytest.mark.real
@pytest.mark.parametrize("scope", ["story", "step"])
def test_a_story_that_was_skipped_is_not_done(tmp_path: Path, scope: str) -> None:
    sample = LaneProject(tmp_path / "p", "no-change")
    if scope == LaneScope.STEP:
        sample.run("step")
    ran = sample.run(scope, person=Person("skip"))
    assert (ran.end.status, ran.end.exit_code, sample.row("1-1")) == ("not-done", 1, "blocked")
    assert json.loads((Path(ran.end.folder) / "state.json").read_text())["status"] == "completed"


@pytest.mark.real
def test_however_much_was_there_before_none_of_it_is_committed_after_a_resume(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", "asking")
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
    sample = LaneProject(tmp_path / "p", "asking")
    sample.write("notes.txt", "mine")
    ran = sample.run()
    (Path(ran.end.folder) / "left-out").write_bytes(b"")
    with pytest.raises(AutopilotError, match="changed before the run began"):
        sample.run(person=Person("1"))


@pytest.mark.real
def test_a_board_that_an_agent_broke_is_put_back(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", "breaks-board")
    ran = sample.run()
    assert ran.end.status == "completed"
    restored = ran.entries("restored")
    assert restored
    assert all(Path(one["kept"]).exists() for one in restored)
    assert sample.row("1-1") == "done"


def test_a_cap_on_cost_stops_before_the_next_call(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    ran = sample.run(caps=Caps(cost=0.0))
    assert (ran.end.status, ran.questions, ran.entries("call")) == ("waiting", ["budget"], [])
    more = sample.run(caps=Caps(hours=0.0))
    assert more.questions == []
    assert more.end.status == "waiting"


@pytest.mark.real
def test_the_build_era(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", era="build")
    ran = sample.run()
    assert ran.end.status == "completed"
    assert [call["step"] for call in ran.entries("call")] == ["build-auto", "code-review"]
    assert sample.row("1-1") == "done"
    assert sample.git("status", "--porcelain") == ""


@pytest.mark.real
def test_a_retrospective_is_held_where_that_was_asked_for_and_its_verdict_read(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
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
    sample = LaneProject(tmp_path / "p", stories=2)
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
            write_request(folder, ControlRequest.PAUSE)

    end = start_run(open_project(str(sample.root)), LaneScope.EPIC, "1", on_event=told)
    assert (end.status, end.exit_code) == ("paused", 3)
    assert log.count("call") == 1
    assert sample.row("1-2") == "backlog"


def test_one_step_only(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    ran = sample.run("step")
    assert ran.end.status == "completed"
    assert [call["step"] for call in ran.entries("call")] == ["create-story"]
    assert sample.row("1-1") == "ready-for-dev"
    assert [call["step"] for call in sample.run("step").entries("call")] == ["dev"]


def test_the_public_functions(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", stories=2)
    story = run_story_to_completion("1-1", project=str(sample.root))
    assert (story.status, [result.status for result in story.results]) == ("done", ["success"] * 3)
    epic = run_epic_to_completion("1", project=str(sample.root))
    assert (epic.epic_id, epic.status, [one.status for one in epic.stories]) == ("epic-1", "done", ["done"])


@pytest.mark.real
def test_begun_anew_with_its_work_saved(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", "asking")
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
    sample = LaneProject(tmp_path / "p")
    state = open_project(str(sample.root)).state_folder
    with hold_supervisor_lock(state, "run epic epic-1"), pytest.raises(ConflictError) as refused:
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
    sample = LaneProject(tmp_path / "p")
    sample.git(*words)
    with pytest.raises(AutopilotError, match=problem):
        sample.run()
    assert sample.row("1-1") == "backlog"


@pytest.mark.real
def test_a_skipped_story_leaves_nothing_in_the_tree_for_the_next(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", "honest,half-done:1-1", stories=2)
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
    sample = LaneProject(tmp_path / "p")
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
    sample = LaneProject(tmp_path / "p", "asking")
    sample.run()
    settings = sample.root / "bmad-autopilot.toml"
    settings.write_text(settings.read_text() + "\n# mended\n")
    sample.git("commit", "-qm", "Mend", "--", "bmad-autopilot.toml")
    assert sample.run(person=Person("1")).end.status == "completed"


def test_settings_that_are_not_committed_are_protected_too(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", "edits-policy")
    sample.git("rm", "-q", "--cached", "bmad-autopilot.toml")
    sample.git("commit", "-qm", "Not ours")
    ran = sample.run()
    assert (ran.end.status, ran.questions) == ("waiting", ["failed"])
    assert ran.entries("ended")[-1]["objections"] == ["protected-path"]


# A workflow's own file, run by the same loop as stories: real commands, scripted agents, kills and questions.

LISTS = """\
variables:
  depth: "2"
steps:
- step: list
  run: [sh, list.sh, '{depth}']
  checkpoint: {variables_to_persist: [doc]}
- step: show
  run: |
    echo show >> .state/ran
    printf '# %s of %s\\n' {doc} "$BMAD_STEP" > "$BMAD_OUTPUT"
"""
LIST = """\
echo list >> .state/ran
echo "{\\"doc\\": \\"$1.md\\", \\"more\\": 1}" > "$BMAD_VARIABLES"
echo "$1"
"""


def test_eight_steps_killed_three_times_each(tmp_path: Path) -> None:
    flow = gated_workflow(tmp_path / "p")
    with supervisors() as makes:
        assert kill_in_each_step(flow, makes, 3) == 24
    check_each_step_ran_once(flow)
    assert survivors_in(str(flow.root)) == []


@pytest.mark.soak
def test_eight_steps_killed_twenty_times_each(tmp_path: Path) -> None:
    flow = gated_workflow(tmp_path / "p")
    with supervisors() as makes:
        assert kill_in_each_step(flow, makes, 20) == 160
    check_each_step_ran_once(flow)


@pytest.mark.soak
def test_two_hundred_kills_at_any_moment(tmp_path: Path) -> None:
    killed = 0
    with supervisors() as makes:
        for batch in range(200):
            flow = gated_workflow(tmp_path / f"p{batch}")
            killed += kill_often(flow, makes, 10, seed=batch)
            check_each_step_ran_once(flow)
            if killed >= 200:
                break
    assert killed >= 200


def test_variables_and_output_go_from_step_to_step(tmp_path: Path) -> None:
    flow = WorkflowProject(tmp_path / "p", LISTS)
    (flow.root / "list.sh").write_text(LIST)
    ran = flow.run(depth="a b; exit 1")
    assert (ran.end.status, flow.ran) == ("completed", ["list", "show"])
    assert ran.end.record.variables == {"depth": "a b; exit 1", "doc": "a b; exit 1.md"}
    first, second = sorted((flow.folder() / "artefacts").iterdir())
    assert (first.read_text(), second.read_text()) == ("a b; exit 1\n", "# a b; exit 1.md of show\n")
    flow.run(depth="a b; exit 1")  # that one is over: another begins
    assert flow.ran == ["list", "show"] * 2


def test_without_git(tmp_path: Path) -> None:
    flow = WorkflowProject(tmp_path / "p", LISTS, with_git=False)
    (flow.root / "list.sh").write_text(LIST)
    assert flow.run().end.status == "completed"
    assert flow.ran == ["list", "show"]


def test_going_back_to_a_checkpoint_runs_the_steps_after_it_once_more(tmp_path: Path) -> None:
    text = "".join(
        f"- step: s{number}\n  run: echo {number} >> .state/ran; echo {number} > file-{number}\n"
        f"  checkpoint: {{save: {'false' if number == 2 else 'true'}}}\n"
        for number in (1, 2, 3)
    )
    flow = WorkflowProject(tmp_path / "p", text)
    assert flow.run().end.status == "completed"
    found = list_checkpoints(str(flow.folder()))
    assert [one.name for one in found] == ["s1", "s3"]
    end = resume_fork(open_project(str(flow.root)), found[0], on_event=lambda kind, data, at: None)
    assert (end.status, flow.ran) == ("completed", ["1", "2", "3", "2", "3"])
    assert len(end.record.checkpoints) == 3


def test_a_file_as_large_as_it_may_be_is_kept_whole(tmp_path: Path) -> None:
    prompt = '"\\' * 290
    lines = ["variables:", f"  a: '{prompt * 8}'", "steps:"]
    for number in range(MAX_STEPS):
        lines += [f"- step: s{number}", f"  prompt: 'x{prompt}'"]
    text = "\n".join(lines)
    assert MAX_BYTES - 2000 < len(text) < MAX_BYTES
    found = parse_step_file(TextFile("flow.yaml", text.encode()))
    lane = Lane(LaneScope.WORKFLOW, found.workflow.name, None, found.workflow)
    entry = Journal(str(tmp_path), lambda value: value).append("run", variables=found.variables, **lane.to_json())
    assert lane_from_json(entry.data).workflow == found.workflow
    assert entry.data["variables"] == found.variables


def test_secrets_of_ours_get_into_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "ghp_" + "a1B2c3D4" * 5
    monkeypatch.setenv("GITHUB_TOKEN", secret)
    say = f'echo it is {secret}; echo \'{{"v": "{secret}"}}\' > $BMAD_VARIABLES; test -z $GITHUB_TOKEN'
    flow = WorkflowProject(tmp_path / "p", json.dumps([{"step": "say", "run": ["sh", "-c", say]}]))
    assert flow.run().end.status == "completed"
    written = [
        flow.folder() / name for name in ("artefacts/step-01-output.md", "state.json", "workflow-status.md")
    ]
    assert [path.name for path in written if secret in path.read_text()] == []
    assert secret not in json.dumps([entry.data for entry in flow.entries("ended")])


def test_two_sessions_at_once_take_turns_in_the_work_tree(tmp_path: Path) -> None:
    flow = gated_workflow(tmp_path / "p", 1)
    with supervisors() as makes:
        first = makes.start(flow, "main")
        wait_until(lambda: flow.ran == ["1"], "the first works")
        second = makes.start(flow, "feature/auth")
        wait_until((flow.root / ".state" / "told").exists, "the second says that it waits")
        assert flow.ran == ["1"]
        flow.open_gate("1")
        assert makes.wait(first) == 0
        wait_until(lambda: flow.ran == ["1", "1"], "the second has its turn")
        flow.open_gate("1")
        assert makes.wait(second) == 0
    assert flow.state("main")["status"] == flow.state("feature-auth")["status"] == "completed"


def test_one_session_has_one_supervisor(tmp_path: Path) -> None:
    flow = gated_workflow(tmp_path / "p", 1)
    with supervisors() as makes:
        first = makes.start(flow)
        wait_until(lambda: flow.ran == ["1"], "it works")
        with pytest.raises(ConflictError, match="another supervisor is at work"):
            flow.run()
        flow.open_gate("1")
        assert makes.wait(first) == 0


ASKS = """\
prompt=$(cat)
state=$(printf '%s' "$prompt" | sed -n 's/^To ask .*write `\\(.*agent-state.json\\)` like.*/\\1/p')
variables=$(printf '%s' "$prompt" | sed -n 's/^- `\\(.*variables.json\\)`: .*/\\1/p')
echo called >> .state/ran
case "$prompt" in
*"answered: blue"*) echo '{"color": "blue"}' > "$variables"; rm -f "$state";;
*) mkdir -p "$(dirname "$state")"
   echo '{"questions": [{"id": "q1", "question": "Which color?", "answer": null}]}' > "$state";;
esac
"""
ONE = "- step: paint\n  instructions: Paint it.\n  checkpoint: {variables_to_persist: [color]}\n"


def test_an_agents_question_is_answered_and_told_once(tmp_path: Path) -> None:
    flow = WorkflowProject(tmp_path / "p", ONE, ASKS)
    waits = flow.run().end
    assert (waits.status, waits.exit_code) == ("waiting", 3)
    ((path, asked),) = questions_of(str(flow.folder()))[0]
    assert (asked.story, asked.question) == ("flow", "Which color?")
    record_answer(path, "blue", AnswerSource.HUMAN)
    ran = flow.run()
    assert (ran.end.status, ran.end.record.variables, flow.ran) == ("completed", {"color": "blue"}, ["called"] * 2)


def test_a_variable_that_is_missing_is_told_once_more_and_then_asked_about(tmp_path: Path) -> None:
    flow = WorkflowProject(tmp_path / "p", ONE, "cat >> .state/prompts; echo called >> .state/ran\n")
    ran = flow.run(person=Person("skip"))
    assert flow.ran == ["called"] * 2
    assert "the variable `color` is not in `variables.json`" in (flow.root / ".state" / "prompts").read_text()
    assert ran.questions == ["failed"]
    assert (ran.end.status, ran.entries("aside")) == ("completed", [])


def test_a_command_that_fails_is_skipped_and_the_next_step_goes_on(tmp_path: Path) -> None:
    text = "- step: a\n  run: exit 3\n- step: b\n  run: [sh, -c, echo b >> .state/ran]\n"
    flow = WorkflowProject(tmp_path / "p", text)
    ran = flow.run(person=Person("skip"))
    assert (ran.end.status, ran.questions, flow.ran) == ("completed", ["failed"], ["b"])
    assert [entry["exit"] for entry in ran.entries("ended")] == [3, 3, 0]


def test_a_step_that_a_person_took_over_is_called_again_under_its_own_number(tmp_path: Path) -> None:
    flow = WorkflowProject(tmp_path / "p", "- step: a\n  run: test -e ready\n- step: b\n  run: [echo, b]\n")
    ran = flow.run(person=Person("fix"))
    assert ran.end.status == "handed-over"
    (flow.root / "ready").touch()
    assert flow.run().end.status == "completed"
    calls = [(entry.data["number"], entry.data["attempt"]) for entry in flow.entries("call")]
    assert calls == [(1, 1), (1, 2), (1, 3), (2, 1)]


def test_a_script_ends_at_the_first_command_that_fails_and_runs_no_value(tmp_path: Path) -> None:
    text = "- step: a\n  run: |\n    printf '%s\\n' {a} >> .state/said\n    false\n    echo on >> .state/ran\n"
    flow = WorkflowProject(tmp_path / "p", text)
    ran = flow.run(a="$(touch hit) `touch hit` '; touch hit", person=Person("abort"))
    assert (ran.end.status, flow.ran) == ("failed", [])
    assert (flow.root / ".state" / "said").read_text() == "$(touch hit) `touch hit` '; touch hit\n" * 2
    assert not (flow.root / "hit").exists()


def test_a_program_that_nobody_finds_is_asked_about(tmp_path: Path) -> None:
    flow = WorkflowProject(tmp_path / "p", "- step: a\n  run: [no-such-program-here]\n")
    ran = flow.run(person=Person("abort"))
    assert (ran.end.status, ran.questions) == ("failed", ["hopeless"])


def test_a_run_keeps_the_steps_and_the_variables_it_began_with(tmp_path: Path) -> None:
    flow = WorkflowProject(
        tmp_path / "p", "variables: {a: '1'}\nsteps:\n- step: x\n  run: test -e .state/ready && echo {a}\n"
    )
    assert flow.run().end.status == "waiting"
    with pytest.raises(UsageError, match="began with other variables"):
        flow.run(a="2")
    (flow.root / "flow.yaml").write_text("variables: {a: '1'}\nsteps:\n- step: y\n  run: echo {a}\n")
    ((path, _),) = questions_of(str(flow.folder()))[0]
    record_answer(path, "retry", AnswerSource.HUMAN)
    (flow.root / ".state" / "ready").touch()
    ran = flow.run()
    assert ran.end.status == "completed"
    assert [entry["step"] for entry in ran.entries("accepted")] == ["x"]
    assert any("the file has changed" in str(entry["text"]) for entry in ran.entries("notice"))

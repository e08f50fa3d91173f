"""A workflow's own file, run by the same loop as stories: real commands, scripted agents, kills and questions."""

import json
from pathlib import Path

import pytest

from bmad_autopilot.core.errors import ConflictError, UsageError
from bmad_autopilot.engine.lane import Lane, lane_from_json
from bmad_autopilot.engine.resuming import resume_fork
from bmad_autopilot.files import Text
from bmad_autopilot.project.open import open_project
from bmad_autopilot.runs.checkpoints import checkpoints_of
from bmad_autopilot.runs.journal import Journal
from bmad_autopilot.runs.question import By
from bmad_autopilot.runs.questions import answer, questions_of
from bmad_autopilot.workflows.step_file import MAX_BYTES, step_file_from
from bmad_autopilot.workflows.workflow_json import MAX_STEPS
from tests.agents.stubs import until
from tests.engine.killing import survivors_in
from tests.engine.laning import Person
from tests.engine.workflow_files import Flow, check, gated, kill_in_each_step, kill_often, supervisors

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
    flow = gated(tmp_path / "p")
    with supervisors() as makes:
        assert kill_in_each_step(flow, makes, 3) == 24
    check(flow)
    assert survivors_in(str(flow.root)) == []


@pytest.mark.soak
def test_eight_steps_killed_twenty_times_each(tmp_path: Path) -> None:
    flow = gated(tmp_path / "p")
    with supervisors() as makes:
        assert kill_in_each_step(flow, makes, 20) == 160
    check(flow)


@pytest.mark.soak
def test_two_hundred_kills_at_any_moment(tmp_path: Path) -> None:
    killed = 0
    with supervisors() as makes:
        for batch in range(200):
            flow = gated(tmp_path / f"p{batch}")
            killed += kill_often(flow, makes, 10, seed=batch)
            check(flow)
            if killed >= 200:
                break
    assert killed >= 200


def test_variables_and_output_go_from_step_to_step(tmp_path: Path) -> None:
    flow = Flow(tmp_path / "p", LISTS)
    (flow.root / "list.sh").write_text(LIST)
    ran = flow.run(depth="a b; exit 1")
    assert (ran.end.status, flow.ran) == ("completed", ["list", "show"])
    assert ran.end.record.variables == {"depth": "a b; exit 1", "doc": "a b; exit 1.md"}
    first, second = sorted((flow.folder() / "artefacts").iterdir())
    assert (first.read_text(), second.read_text()) == ("a b; exit 1\n", "# a b; exit 1.md of show\n")
    flow.run(depth="a b; exit 1")  # that one is over: another begins
    assert flow.ran == ["list", "show"] * 2


def test_without_git(tmp_path: Path) -> None:
    flow = Flow(tmp_path / "p", LISTS, with_git=False)
    (flow.root / "list.sh").write_text(LIST)
    assert flow.run().end.status == "completed"
    assert flow.ran == ["list", "show"]


def test_going_back_to_a_checkpoint_runs_the_steps_after_it_once_more(tmp_path: Path) -> None:
    text = "".join(
        f"- step: s{number}\n  run: echo {number} >> .state/ran; echo {number} > file-{number}\n"
        f"  checkpoint: {{save: {'false' if number == 2 else 'true'}}}\n"
        for number in (1, 2, 3)
    )
    flow = Flow(tmp_path / "p", text)
    assert flow.run().end.status == "completed"
    found = checkpoints_of(str(flow.folder()))
    assert [one.name for one in found] == ["s1", "s3"]
    end = resume_fork(open_project(str(flow.root)), found[0], told=lambda kind, data, at: None)
    assert (end.status, flow.ran) == ("completed", ["1", "2", "3", "2", "3"])
    assert len(end.record.checkpoints) == 3


def test_a_file_as_large_as_it_may_be_is_kept_whole(tmp_path: Path) -> None:
    prompt = '"\\' * 290
    lines = ["variables:", f"  a: '{prompt * 8}'", "steps:"]
    for number in range(MAX_STEPS):
        lines += [f"- step: s{number}", f"  prompt: 'x{prompt}'"]
    text = "\n".join(lines)
    assert MAX_BYTES - 2000 < len(text) < MAX_BYTES
    found = step_file_from(Text("flow.yaml", text.encode()))
    lane = Lane("workflow", found.workflow.name, None, found.workflow)
    entry = Journal(str(tmp_path), lambda value: value).append("run", variables=found.variables, **lane.to_json())
    assert lane_from_json(entry.data).workflow == found.workflow
    assert entry.data["variables"] == found.variables


def test_secrets_of_ours_get_into_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "ghp_" + "a1B2c3D4" * 5
    monkeypatch.setenv("GITHUB_TOKEN", secret)
    say = f'echo it is {secret}; echo \'{{"v": "{secret}"}}\' > $BMAD_VARIABLES; test -z $GITHUB_TOKEN'
    flow = Flow(tmp_path / "p", json.dumps([{"step": "say", "run": ["sh", "-c", say]}]))
    assert flow.run().end.status == "completed"
    written = [
        flow.folder() / name for name in ("artefacts/step-01-output.md", "state.json", "workflow-status.md")
    ]
    assert [path.name for path in written if secret in path.read_text()] == []
    assert secret not in json.dumps([entry.data for entry in flow.entries("ended")])


def test_two_sessions_at_once_take_turns_in_the_work_tree(tmp_path: Path) -> None:
    flow = gated(tmp_path / "p", 1)
    with supervisors() as makes:
        first = makes.start(flow, "main")
        until(lambda: flow.ran == ["1"], "the first works")
        second = makes.start(flow, "feature/auth")
        until((flow.root / ".state" / "told").exists, "the second says that it waits")
        assert flow.ran == ["1"]
        flow.open_gate("1")
        assert makes.wait(first) == 0
        until(lambda: flow.ran == ["1", "1"], "the second has its turn")
        flow.open_gate("1")
        assert makes.wait(second) == 0
    assert flow.state("main")["status"] == flow.state("feature-auth")["status"] == "completed"


def test_one_session_has_one_supervisor(tmp_path: Path) -> None:
    flow = gated(tmp_path / "p", 1)
    with supervisors() as makes:
        first = makes.start(flow)
        until(lambda: flow.ran == ["1"], "it works")
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
    flow = Flow(tmp_path / "p", ONE, ASKS)
    waits = flow.run().end
    assert (waits.status, waits.exit_code) == ("waiting", 3)
    ((path, asked),) = questions_of(str(flow.folder()))[0]
    assert (asked.story, asked.question) == ("flow", "Which color?")
    answer(path, "blue", By.HUMAN)
    ran = flow.run()
    assert (ran.end.status, ran.end.record.variables, flow.ran) == ("completed", {"color": "blue"}, ["called"] * 2)


def test_a_variable_that_is_missing_is_told_once_more_and_then_asked_about(tmp_path: Path) -> None:
    flow = Flow(tmp_path / "p", ONE, "cat >> .state/prompts; echo called >> .state/ran\n")
    ran = flow.run(person=Person("skip"))
    assert flow.ran == ["called"] * 2
    assert "the variable `color` is not in `variables.json`" in (flow.root / ".state" / "prompts").read_text()
    assert ran.questions == ["failed"]
    assert (ran.end.status, ran.entries("aside")) == ("completed", [])


def test_a_command_that_fails_is_skipped_and_the_next_step_goes_on(tmp_path: Path) -> None:
    text = "- step: a\n  run: exit 3\n- step: b\n  run: [sh, -c, echo b >> .state/ran]\n"
    flow = Flow(tmp_path / "p", text)
    ran = flow.run(person=Person("skip"))
    assert (ran.end.status, ran.questions, flow.ran) == ("completed", ["failed"], ["b"])
    assert [entry["exit"] for entry in ran.entries("ended")] == [3, 3, 0]


def test_a_step_that_a_person_took_over_is_called_again_under_its_own_number(tmp_path: Path) -> None:
    flow = Flow(tmp_path / "p", "- step: a\n  run: test -e ready\n- step: b\n  run: [echo, b]\n")
    ran = flow.run(person=Person("fix"))
    assert ran.end.status == "handed-over"
    (flow.root / "ready").touch()
    assert flow.run().end.status == "completed"
    calls = [(entry.data["number"], entry.data["attempt"]) for entry in flow.entries("call")]
    assert calls == [(1, 1), (1, 2), (1, 3), (2, 1)]


def test_a_script_ends_at_the_first_command_that_fails_and_runs_no_value(tmp_path: Path) -> None:
    text = "- step: a\n  run: |\n    printf '%s\\n' {a} >> .state/said\n    false\n    echo on >> .state/ran\n"
    flow = Flow(tmp_path / "p", text)
    ran = flow.run(a="$(touch hit) `touch hit` '; touch hit", person=Person("abort"))
    assert (ran.end.status, flow.ran) == ("failed", [])
    assert (flow.root / ".state" / "said").read_text() == "$(touch hit) `touch hit` '; touch hit\n" * 2
    assert not (flow.root / "hit").exists()


def test_a_program_that_nobody_finds_is_asked_about(tmp_path: Path) -> None:
    flow = Flow(tmp_path / "p", "- step: a\n  run: [no-such-program-here]\n")
    ran = flow.run(person=Person("abort"))
    assert (ran.end.status, ran.questions) == ("failed", ["hopeless"])


def test_a_run_keeps_the_steps_and_the_variables_it_began_with(tmp_path: Path) -> None:
    flow = Flow(
        tmp_path / "p", "variables: {a: '1'}\nsteps:\n- step: x\n  run: test -e .state/ready && echo {a}\n"
    )
    assert flow.run().end.status == "waiting"
    with pytest.raises(UsageError, match="began with other variables"):
        flow.run(a="2")
    (flow.root / "flow.yaml").write_text("variables: {a: '1'}\nsteps:\n- step: y\n  run: echo {a}\n")
    ((path, _),) = questions_of(str(flow.folder()))[0]
    answer(path, "retry", By.HUMAN)
    (flow.root / ".state" / "ready").touch()
    ran = flow.run()
    assert ran.end.status == "completed"
    assert [entry["step"] for entry in ran.entries("accepted")] == ["x"]
    assert any("the file has changed" in str(entry["text"]) for entry in ran.entries("notice"))

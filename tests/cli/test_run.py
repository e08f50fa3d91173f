"""An epic taken to done, as a person sees it and as a program reads it."""

import json
import subprocess
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from tests.cli.conversations import CTRL_C, CTRL_D, Conversation
from tests.support.bmad_project import git
from tests.support.sample_projects import make_sample_project, mask_volatile
from tests.support.terminals import COMMAND, assert_golden, run_piped, strip_colors

pytestmark = pytest.mark.real  # whole runs at a terminal


def board(project: Path) -> str:
    return (project / "_bmad-output/implementation-artifacts/sprint-status.yaml").read_text()


def test_a_review_round_and_a_question_answered_at_the_terminal(tmp_path: Path) -> None:
    project = make_sample_project(tmp_path / "p", "picky:1-1,asking:1-2")
    with Conversation("run-epic", "1", "--max-cost", "5", cwd=project) as person:
        person.wait_for("answer (Ctrl-D: not now): ")
        person.type("whatever\n")
        person.wait_for("is none of the options")
        person.wait_for("answer (Ctrl-D: not now): ")
        person.type("2\n")
        assert person.end() == 0
    assert_golden("run-epic-80", mask_volatile(person.screen))
    assert "epic-1: done" in board(project)
    assert git(project, "status", "--porcelain") == ""


def test_the_same_piped_waits_is_answered_and_goes_on(tmp_path: Path) -> None:
    project = make_sample_project(tmp_path / "p", "picky:1-1,asking:1-2")
    first = run_piped("run-epic", "1", cwd=project)
    answered = run_piped("answer", "1-2-count-accounts", "2", cwd=project)
    second = run_piped("resume", cwd=project)
    assert (first.returncode, answered.returncode, second.returncode) == (3, 0, 0)
    assert first.stderr == second.stderr == ""
    transcript = [f"$ bmad run-epic 1\n{first.stdout}", f"$ bmad answer 1-2-count-accounts 2\n{answered.stdout}"]
    transcript.append(f"$ bmad resume\n{second.stdout}")
    assert_golden("run-epic-piped", mask_volatile("\n".join(transcript)))
    assert "\x1b" not in first.stdout + second.stdout


def test_a_run_that_ends_waiting_names_the_next_command(tmp_path: Path) -> None:
    project = make_sample_project(tmp_path / "p", "environment", checks=False)
    (project / "bmad-autopilot.toml").write_text(
        (project / "bmad-autopilot.toml").read_text().replace("[commands]", '[commands]\ntest = ["no-such-tool"]')
    )
    git(project, "commit", "--quiet", "--all", "--message", "A tool that is not here")
    done = run_piped("run-story", "1-1", cwd=project)
    assert done.returncode == 3
    assert_golden("run-story-waiting", mask_volatile(done.stdout))


def test_events_keep_their_schema_and_nothing_else_is_printed(tmp_path: Path) -> None:
    schema = json.loads(files("bmad_autopilot").joinpath("schemas/run-events.schema.json").read_text())
    done = run_piped("run-epic", "1", "--json", cwd=make_sample_project(tmp_path / "p", stories=1, checks=False))
    assert (done.returncode, done.stderr) == (0, "")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    for event in events:
        jsonschema.Draft202012Validator(schema).validate(event)
    assert (events[0]["event"], events[-1]["event"]) == ("plan", "summary")
    assert events[-1]["exit_code"] == 0
    assert events[-1]["checks"] is False


def test_ctrl_d_is_not_now(tmp_path: Path) -> None:
    project = make_sample_project(tmp_path / "p", "asking", stories=1)
    with Conversation("run-story", "1-1", cwd=project, columns=40) as person:
        person.wait_for("answer (Ctrl-D: not now): ")
        person.type(CTRL_D)
        assert person.end() == 3
    assert "bmad answer 1-1-list-accounts 1" in person.screen
    assert all(len(line) <= 40 for line in person.screen.splitlines())


def test_ctrl_c_leaves_the_agent_and_resume_picks_it_up(tmp_path: Path) -> None:
    project = make_sample_project(tmp_path / "p", stories=1, first_takes=6)
    with Conversation("run-story", "1-1", cwd=project) as person:
        person.wait_for("· create-story · ")
        person.type(CTRL_C)
        assert person.end() == 130
    assert "leaving  an agent under way goes on" in person.screen
    assert "1-1-list-accounts is left as it stands" in person.screen
    assert "bmad agent cancel " in person.screen
    done = run_piped("resume", cwd=project)
    assert done.returncode == 0
    assert "▶ Resuming run" in done.stdout
    assert done.stdout.count("started") == 2  # the first call is taken in, not made again


def test_a_second_ctrl_c_ends_the_agent_too(tmp_path: Path) -> None:
    project = make_sample_project(tmp_path / "p", seconds=600, stories=1)
    with Conversation("run-story", "1-1", cwd=project) as person:
        person.wait_for("· create-story · ")
        person.type(CTRL_C)
        person.wait_for("Ctrl-C again")
        person.type(CTRL_C)
        assert person.end() == 130
    assert "stopping the agent too" in person.screen
    assert (
        "cancelled"
        in run_piped("agent", "list", cwd=project).stdout + run_piped("agent", "logs", cwd=project).stdout
    )


@pytest.mark.parametrize("name", ["NO_COLOR", "CI"])
def test_a_plain_log_where_nothing_may_be_drawn(tmp_path: Path, name: str) -> None:
    with Conversation("next", "-y", cwd=make_sample_project(tmp_path / "p"), environment={name: "1"}) as person:
        assert person.end() == 0
    assert "\x1b[J" not in person.written
    assert strip_colors(person.written).count("started") == 1


def test_nobody_reads(tmp_path: Path) -> None:
    """`| head`: the run goes on to its end, and says so."""
    project = make_sample_project(tmp_path / "p")
    child = subprocess.Popen(
        [*COMMAND, "next", "-y"],
        cwd=project,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    child.stdout.readline()
    child.stdout.close()
    _, said = child.communicate(timeout=120)
    assert child.returncode == 0
    assert "nobody reads the output any more" in said
    assert "1-1-list-accounts: ready-for-dev" in board(project)

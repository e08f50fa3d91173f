"""What `bmad status` says about a run that is not over."""

import json
import os
import subprocess
from importlib.resources import files

import jsonschema
import pytest

from bmad_autopilot.engine.lane import DeliveryPlan
from bmad_autopilot.io.files import hold_lock
from bmad_autopilot.project.project import open_project
from bmad_autopilot.runs.question_file import RunQuestion
from bmad_autopilot.runs.questions import ask_question
from bmad_autopilot.runs.state_file import RunStatus
from bmad_autopilot.runs.supervisor_lock import AUTOPILOT, ControlRequest, hold_supervisor_lock, write_request
from tests.cli.unfinished_runs import attempt, keep_state, note, unfinished_run
from tests.support.bmad_project import ProjectMaker, SampleProject
from tests.support.terminals import COMMAND, run_piped

BOARD = """\
development_status:
  epic-1: in-progress
  1-1-cart: in-progress
  1-2-pay: review
"""
WHICH = RunQuestion("1-1-cart", "dev", 1, "Which store?\nBoth run.", options=("redis", "postgres"))


@pytest.fixture
def shop(project: ProjectMaker) -> SampleProject:
    return project(board=BOARD, stories={"1-1-cart": "ready-for-dev", "1-2-pay": "done"})


def shown(sample: SampleProject) -> str:
    done = run_piped("status", cwd=sample.root, COLUMNS="200")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def document(sample: SampleProject) -> dict[str, object]:
    found: dict[str, object] = json.loads(run_piped("status", "--json", cwd=sample.root).stdout)
    schema = json.loads(files("bmad_autopilot").joinpath("schemas/status.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(found)
    return found


def test_one_that_was_cut_short_is_gone_on_with(shop: SampleProject) -> None:
    run = unfinished_run(shop, "1-1-cart", status=RunStatus.RUNNING)
    text = shown(shop)
    assert f"bmad resume goes on with run {run.name}" in text
    assert "do this step yourself" not in text
    assert "bmad next" not in text
    assert document(shop)["run"] == {
        "id": run.name,
        "story": "1-1-cart",
        "supervised": False,
        "pid": None,
        "working": None,
        "question": None,
        "command": "bmad resume",
        "pending": [],
        "parked": [],
    }


def test_a_question_that_waits(shop: SampleProject) -> None:
    run = unfinished_run(shop, "1-1-cart")
    ask_question(str(run), WHICH, 1_800_000_000.0)
    text = shown(shop)
    assert "waits for you: 1-1-cart: Which store? (bmad questions)" in text
    assert text.index("waits for you") < text.index("next  ")
    assert document(shop)["run"]["question"] == {"story": "1-1-cart", "text": "Which store?"}  # type: ignore[index]


def test_a_pull_request_that_waits_for_others(shop: SampleProject) -> None:
    run = unfinished_run(shop, "epic-1.pr-1", delivery=DeliveryPlan())
    note(run, "pending", why="a person to merge it\nor to close it", until=None, fingerprint="x", pull=7)
    text, found = shown(shop), document(shop)["run"]
    assert "epic-1: pull request #7 waits for a person to merge it\n" in text
    assert f"bmad autopilot goes on with run {run.name}" in text
    assert "bmad pr status" in text
    assert "bmad resume" not in text
    assert found["pending"] == [{"epic": "epic-1", "pull": 7, "why": "a person to merge it"}]  # type: ignore[index]
    assert found["command"] == "bmad autopilot"  # type: ignore[index]


def test_it_waits_no_more_once_something_was_done_about_it(shop: SampleProject) -> None:
    run = unfinished_run(shop, "epic-1", delivery=DeliveryPlan())
    note(run, "pending", why="its checks", until=None, fingerprint="x", pull=7)
    note(run, "pull-round", story="epic-1.pr-1", why="red", points=[], logs=[])
    text = shown(shop)
    assert "pull request" not in text
    assert f"bmad autopilot goes on with run {run.name}" in text


def test_every_pull_request_that_waits_is_named(shop: SampleProject) -> None:
    first = unfinished_run(shop, "epic-1", delivery=DeliveryPlan(), session="night")
    note(first, "pending", why="its checks", until=None, fingerprint="x", pull=7)
    second = unfinished_run(shop, "epic-1", delivery=DeliveryPlan(kind="local"), after=60.0, session="night")
    note(second, "pending", why="the work tree: it is not clean", until=None, fingerprint="", pull=0)
    text = shown(shop)
    assert "epic-1: pull request #7 waits for its checks" in text
    assert "epic-1 waits for the work tree: it is not clean" in text
    assert "bmad autopilot --session night" in text


def test_the_autopilot_that_watches_pull_requests(shop: SampleProject) -> None:
    run = unfinished_run(shop, "epic-1", delivery=DeliveryPlan())
    note(run, "pending", why="its checks", until=None, fingerprint="x", pull=7)
    with hold_supervisor_lock(open_project(str(shop.root)).state_folder, "autopilot", run.name):
        text = shown(shop)
    assert f"run {run.name} is under way (pid {os.getpid()})" in text
    assert "epic-1: pull request #7 waits for its checks" in text
    assert "bmad autopilot" not in text


def test_an_epic_that_was_parked_beside_others(shop: SampleProject) -> None:
    run = unfinished_run(shop, "epic-1", delivery=DeliveryPlan())
    write_request(str(run), ControlRequest.PAUSE)
    folder = open_project(str(shop.root)).state_folder
    assert "is paused" not in shown(shop), "without a living autopilot there are no others"
    with hold_supervisor_lock(folder, AUTOPILOT) as supervision:
        supervision.set_runs((run.name,), run.name)
        text, found = shown(shop), document(shop)["run"]
    assert f"epic-1 is paused, the others go on: bmad resume --run {run.name}" in text
    assert found["parked"] == [{"epic": "epic-1", "run": run.name, "asked": "pause"}]  # type: ignore[index]


def test_a_question_of_the_autopilots(shop: SampleProject) -> None:
    run = unfinished_run(shop, "1-1-cart", delivery=DeliveryPlan())
    ask_question(str(run), WHICH, 1_800_000_000.0)
    text = shown(shop)
    assert "bmad autopilot   then go on with it" in text
    assert "bmad resume" not in text


def test_one_that_is_looked_after_with_its_agent_at_work(shop: SampleProject) -> None:
    other, run = unfinished_run(shop, "1-2-pay", after=60.0), unfinished_run(shop, "1-1-cart")
    folder = attempt(run, "02-dev")  # the checkpoint is a step behind
    with (
        hold_supervisor_lock(open_project(str(shop.root)).state_folder, "run epic", run.name),
        hold_lock(str(folder / "lock")),
    ):
        text, found = shown(shop), document(shop)
    assert f"run {run.name} is under way (pid {os.getpid()}): dev of 1-1-cart is at work" in text
    assert "bmad resume" not in text
    assert other.name not in text
    assert found["run"]["pid"] == os.getpid()  # type: ignore[index]


def test_an_agent_that_was_left_at_work(shop: SampleProject) -> None:
    run = unfinished_run(shop, "1-1-cart")
    with hold_lock(str(attempt(run, "01-dev") / "lock")):
        assert "an agent is still at work, left by its run: dev of 1-1-cart" in shown(shop)


def test_our_own_writes_are_no_drift_of_the_story_in_hand(shop: SampleProject) -> None:
    ours, theirs = "1-1-cart is in-progress on the board", "1-2-pay is review on the board"
    assert ours in shown(shop)
    unfinished_run(shop, "1-1-cart")
    assert ours not in shown(shop)
    assert theirs in shown(shop)
    assert [item["story"] for item in document(shop)["drift"]] == ["1-2-pay"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("status", [RunStatus.COMPLETED, RunStatus.FAILED])
def test_one_that_has_ended_is_passed_over(shop: SampleProject, status: RunStatus) -> None:
    before = shown(shop)
    unfinished_run(shop, "1-1-cart", status=status)
    assert shown(shop) == before
    assert "run" not in document(shop)


@pytest.mark.parametrize(
    "state", ["", "{", "[]", '{"status": {}}', '{"current_step": "x", "session_variables": []}']
)
def test_a_state_that_cannot_be_read_stops_nothing(shop: SampleProject, state: str) -> None:
    run = unfinished_run(shop, "1-1-cart")
    (run / "state.json").write_text(state)
    (run / "questions").mkdir()
    (run / "questions" / "001.json").write_text("{")
    assert f"bmad resume goes on with run {run.name}" in shown(shop)


def test_another_tools_run_is_none_of_ours(shop: SampleProject) -> None:
    run = unfinished_run(shop, "1-1-cart")
    (run / "journal.jsonl").unlink()
    keep_state(run, "1-1-cart", RunStatus.RUNNING)
    assert "bmad resume" not in shown(shop)


def test_nothing_about_runs_is_imported_where_there_are_none(shop: SampleProject) -> None:
    python, *program = COMMAND
    command = [python, "-X", "importtime", *program, "status"]
    done = subprocess.run(command, cwd=shop.root, capture_output=True, text=True, timeout=60, check=True)
    assert "bmad_autopilot.cli.context" in done.stderr
    assert "bmad_autopilot.runs" not in done.stderr
    unfinished_run(shop, "1-1-cart")
    done = subprocess.run(command, cwd=shop.root, capture_output=True, text=True, timeout=60, check=True)
    assert "bmad_autopilot.runs.layout" in done.stderr
    for slow in ("hashlib", "bmad_autopilot.runs.questions", "bmad_autopilot.engine"):
        assert slow not in done.stderr

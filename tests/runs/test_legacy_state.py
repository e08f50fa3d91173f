"""`.autopilot/state.json` and `autopilot.log`, as the bash autopilot's users know them."""

import json
import os
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import FileError
from bmad_autopilot.runs.legacy_state import (
    MAX_EPICS,
    MAX_LOG,
    MAX_STEPS,
    CompletedStep,
    EpicFailure,
    EpicState,
    EpicStatus,
    ForeignPull,
    ForeignRun,
    PendingPull,
    completed_epics,
    find_foreign_run,
    log_line,
    read_epic_state,
    write_autopilot_state,
    write_epic_state,
)
from tests.agents.shim.test_redact import SHAPES

PENDING = PendingPull("6", 12, "waits", 0.0, "r1")


def state(folder: Path) -> Any:
    return json.loads((folder / ".autopilot" / "state.json").read_text())


def write(folder: Path, text: str) -> None:
    (folder / ".autopilot").mkdir(exist_ok=True)
    (folder / ".autopilot" / "state.json").write_text(text)


def log(folder: Path) -> str:
    return (folder / ".autopilot" / "autopilot.log").read_text()


def test_the_short_form(tmp_path: Path) -> None:
    write_autopilot_state(str(tmp_path), "WAIT_COPILOT", "7A", ["1", "2A"], [])
    assert state(tmp_path) == {"phase": "WAIT_COPILOT", "current_epic": "7A", "completed_epics": ["1", "2A"]}
    write_autopilot_state(str(tmp_path), "WAIT_COPILOT", "6", ["1"], [PENDING])  # the epic in hand itself
    assert state(tmp_path)["phase"] == "WAIT_COPILOT"


def test_the_long_form_as_soon_as_others_wait(tmp_path: Path) -> None:
    write_autopilot_state(str(tmp_path), "DEVELOP_STORIES", "7A", ["1"], [PENDING])
    assert state(tmp_path) == {
        "mode": "parallel",
        "active_epic": "7A",
        "active_phase": "DEVELOP_STORIES",
        "active_worktree": None,
        "pending_prs": [
            {
                "epic": "6",
                "pr_number": 12,
                "worktree": None,
                "status": "waits",
                "last_check": "1970-01-01T00:00:00Z",
                "last_copilot_id": "r1",
            }
        ],
        "completed_epics": ["1"],
        "paused_context": None,
    }


def test_no_epic_is_none(tmp_path: Path) -> None:
    write_autopilot_state(str(tmp_path), "DONE", "", ["1"], [])
    assert state(tmp_path)["current_epic"] is None


@pytest.mark.parametrize("pending", [[], [PENDING]])
def test_completed_epics_are_read_from_both_forms(tmp_path: Path, pending: list[PendingPull]) -> None:
    write_autopilot_state(str(tmp_path), "FIND_EPIC", "8", ["1", "2A"], pending)
    assert completed_epics(str(tmp_path)) == ("1", "2A")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "{}", '{"completed_epics": null}', "[" * 50_000, "\x00"],
)
def test_a_file_that_cannot_be_read_says_nothing(tmp_path: Path, text: str) -> None:
    write(tmp_path, text)
    assert completed_epics(str(tmp_path)) == ()


def test_no_file_says_nothing(tmp_path: Path) -> None:
    assert completed_epics(str(tmp_path)) == ()


def test_odd_entries_are_texts_or_nothing_and_not_without_end(tmp_path: Path) -> None:
    write(tmp_path, json.dumps({"completed_epics": ["1", 2, None, "", "3"]}))
    assert completed_epics(str(tmp_path)) == ("1", "2", "3")
    write(tmp_path, '{"completed_epics": "1"}')
    assert completed_epics(str(tmp_path)) == ("1",)
    write(tmp_path, json.dumps({"completed_epics": list(range(5000))}))
    assert len(completed_epics(str(tmp_path))) <= MAX_EPICS


def test_a_link_in_its_place_is_not_written_through(tmp_path: Path) -> None:
    target = tmp_path / "theirs"
    target.write_text("{}")
    (tmp_path / ".autopilot").mkdir()
    os.symlink(target, tmp_path / ".autopilot" / "state.json")
    with pytest.raises(FileError, match="is a link"):
        write_autopilot_state(str(tmp_path), "DONE", "", [], [])
    assert target.read_text() == "{}"
    assert completed_epics(str(tmp_path)) == ()


def test_each_log_line_is_one_line_with_its_time(tmp_path: Path) -> None:
    log_line(str(tmp_path), "epic-1 is\nmerged")
    log_line(str(tmp_path), "x" * 9000 + "\ud800")
    first, second = log(tmp_path).splitlines()
    assert first[19:] == " epic-1 is merged"
    assert len(second) == 20 + 2000


def test_a_long_log_begins_anew_and_the_one_before_is_kept(tmp_path: Path) -> None:
    log_line(str(tmp_path), "first")
    path = tmp_path / ".autopilot" / "autopilot.log"
    os.truncate(path, MAX_LOG + 1)
    log_line(str(tmp_path), "second")
    assert len(log(tmp_path).splitlines()) == 1
    assert os.path.getsize(f"{path}.1") == MAX_LOG + 1
    assert sorted(os.listdir(tmp_path / ".autopilot")) == ["autopilot.log", "autopilot.log.1"]


@pytest.mark.parametrize("kind", ["link", "hard link", "folder", "pipe", "no folder"])
def test_what_cannot_be_written_holds_nothing_up(tmp_path: Path, kind: str) -> None:
    target, path = tmp_path / "theirs", tmp_path / ".autopilot" / "autopilot.log"
    target.write_text("mine")
    if kind == "no folder":
        (tmp_path / ".autopilot").write_text("a file")
    else:
        path.parent.mkdir()
        make: dict[str, Callable[[], None]] = {
            "link": lambda: path.symlink_to(target),
            "hard link": lambda: os.link(target, path),
            "folder": path.mkdir,
            "pipe": lambda: os.mkfifo(path),
        }
        make[kind]()
    log_line(str(tmp_path), "a line")
    assert target.read_text() == "mine"


@given(st.text(max_size=50), st.lists(st.text(max_size=10), max_size=5))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, epic: str, done: list[str]) -> None:
    folder = tmp_path_factory.getbasetemp()
    write_autopilot_state(str(folder), "FIND_EPIC", epic, done, [PENDING])
    assert completed_epics(str(folder)) == tuple(one for one in done if one)


@pytest.mark.parametrize("kind", SHAPES)
def test_a_secret_is_not_logged(tmp_path: Path, kind: str) -> None:
    before, secret, after = SHAPES[kind]
    log_line(str(tmp_path), f"it failed: {before}{secret}{after}")
    log_line(str(tmp_path), f"{'x' * 1985} {SHAPES['npm'][1]}")
    text = (tmp_path / ".autopilot" / "autopilot.log").read_text()
    assert " it failed: " in text
    assert secret not in text
    assert SHAPES["npm"][1][:9] not in text


# .run-epic-state.json: written as 000 documents it, read as it has really been found.

SCHEMA = json.loads(files("bmad_autopilot").joinpath("schemas/run-epic-state.schema.json").read_text())
AT = 1_772_107_200.0

STATE = EpicState(
    "epic-1",
    "1-2-sign-in",
    AT,
    EpicStatus.PAUSED,
    EpicFailure("dev", "1-2-sign-in", AT + 60),
    (CompletedStep("create-story", "1-1-sign-up", "create-story", AT + 5),),
    "1-1-sign-up",
    "lean-20260226-120000",
)


def read(path: Path, data: object) -> EpicState:
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    found = read_epic_state(str(path))
    assert found is not None
    return found


def test_the_documented_form(tmp_path: Path) -> None:
    path = tmp_path / ".run-epic-state.json"
    write_epic_state(str(path), STATE)
    document = json.loads(path.read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    assert document == {
        "epicId": "epic-1",
        "currentStoryKey": "1-2-sign-in",
        "startedAt": "2026-02-26T12:00:00Z",
        "status": "paused",
        "lastFailure": {"phase": "dev", "storyKey": "1-2-sign-in", "at": "2026-02-26T12:01:00Z"},
        "lastSteps": [
            {
                "step": "create-story",
                "storyKey": "1-1-sign-up",
                "phase": "create-story",
                "completedAt": "2026-02-26T12:00:05Z",
            }
        ],
        "lastStoryCompleted": "1-1-sign-up",
        "runId": "lean-20260226-120000",
    }
    assert read_epic_state(str(path)) == STATE


def test_what_is_not_there_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / ".run-epic-state.json"
    write_epic_state(str(path), EpicState("epic-1", started_at=AT))
    document = json.loads(path.read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    assert list(document) == ["epicId", "currentStoryKey", "startedAt", "status"]


def test_only_the_last_steps_are_kept(tmp_path: Path) -> None:
    path = tmp_path / ".run-epic-state.json"
    steps = tuple(CompletedStep("dev", f"1-{number}", "dev", AT) for number in range(200))
    write_epic_state(str(path), STATE._replace(last_steps=steps))
    found = read_epic_state(str(path))
    assert found is not None
    assert found.last_steps == steps[-MAX_STEPS:]


def test_as_it_was_really_found(tmp_path: Path) -> None:
    found = read(
        tmp_path / "x",
        '\ufeff{"epicId":"epic-17","currentStoryKey":null,"startedAt":"2026-02-27","status":"completed",'
        '"completedAt":"2026-02-27","summary":"all","lastBlockedStory":"17-HF-4-bootstrap","lastFailure":null,'
        '"lastSteps":["dev",{"step":"dev","storyKey":"17-HF-4-bootstrap-super-admin"}]}',
    )
    assert (found.epic_id, found.current_story_key, found.status) == ("epic-17", None, EpicStatus.PAUSED)
    assert found.started_at == 1_772_150_400.0
    assert found.last_steps == (CompletedStep("dev", "17-HF-4-bootstrap-super-admin", "dev", 0.0),)
    assert found.others == {"completedAt": "2026-02-27", "summary": "all", "lastBlockedStory": "17-HF-4-bootstrap"}


def test_keys_of_others_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_epic_state(str(path), read(path, {"epicId": "epic-1", "resumedAt": "today"}))
    assert json.loads(path.read_text())["resumedAt"] == "today"


def test_none_and_no_object(tmp_path: Path) -> None:
    assert read_epic_state(str(tmp_path / "none")) is None
    (tmp_path / "x").write_text("[")
    with pytest.raises(FileError):
        read_epic_state(str(tmp_path / "x"))


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "other"]), JSON))
def test_whatever_is_read_is_written_in_the_documented_form(
    tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any]
) -> None:
    path = tmp_path_factory.mktemp("state") / "x"
    first = read(path, data)
    write_epic_state(str(path), first)
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(path.read_text()))
    second = read_epic_state(str(path))
    assert second is not None
    assert repr(second._replace(started_at=0, last_failure=None, last_steps=())) == repr(
        first._replace(started_at=0, last_failure=None, last_steps=())
    )


@pytest.mark.parametrize("word", ["running", "Running", " RUNNING "])
def test_a_status_in_other_letters(tmp_path: Path, word: str) -> None:
    assert read(tmp_path / "x", {"epicId": "epic-1", "status": word}).status is EpicStatus.RUNNING


def test_cut_off_at_any_byte_it_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_epic_state(str(path), STATE)
    whole = path.read_bytes().rstrip()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(FileError, match="is no JSON"):
            read_epic_state(str(path))


# What other tools left behind is found, in every form that was really seen; what is over, or ours, is not.

EPIC = {"epicId": "epic-17", "currentStoryKey": "17-HF-4-bootstrap-super-admin", "startedAt": "2026-02-27"}


def found(tmp_path: Path, commands: object = None, script: object = None) -> ForeignRun | None:
    for path, data in (
        (tmp_path / ".run-epic-state.json", commands),
        (tmp_path / ".autopilot/state.json", script),
    ):
        if data is not None:
            path.parent.mkdir(exist_ok=True)
            path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return find_foreign_run(str(tmp_path), str(tmp_path))


@pytest.mark.parametrize("status", ["running", "Running", "paused", "PAUSED", None])
def test_a_story_in_hand_of_the_commands(tmp_path: Path, status: str | None) -> None:
    one = found(tmp_path, {**EPIC, "status": status, "resumedAt": "today", "lastSteps": [{"step": "dev"}]})
    assert one is not None
    assert (one.epic, one.story, one.phase) == ("epic-17", "17-HF-4-bootstrap-super-admin", "dev")
    assert one.status == ("running" if (status or "").lower() == "running" else "paused")
    assert one.since == 1_772_150_400.0  # a date without a time


def test_one_that_runs_is_at_no_story_yet(tmp_path: Path) -> None:
    one = found(tmp_path, {**EPIC, "currentStoryKey": None, "status": "running"})
    assert one is not None
    assert (one.epic, one.story, one.status) == ("epic-17", "", "running")


def test_its_last_failure(tmp_path: Path) -> None:
    failure = {"phase": "dev", "storyKey": "17-HF-4-bootstrap-super-admin", "at": "2026-02-27T10:00:00Z"}
    one = found(tmp_path, {**EPIC, "status": "paused", "lastFailure": failure})
    assert one is not None
    assert one.failure == "dev of 17-HF-4-bootstrap-super-admin"


def test_with_a_byte_order_mark_on_one_line(tmp_path: Path) -> None:
    assert found(tmp_path, "\ufeff" + json.dumps({**EPIC, "status": "running"}) + "\r\n") is not None


@pytest.mark.parametrize(
    "more",
    [
        {"currentStoryKey": None, "status": "paused"},
        {"currentStoryKey": "", "status": "paused"},
        {"status": "paused", "completedAt": "2026-02-28"},
        {"status": "running", "runId": "epic-17-20260227-100000"},
    ],
)
def test_what_is_over_or_ours_is_not_left_behind(tmp_path: Path, more: dict[str, Any]) -> None:
    assert found(tmp_path, {**EPIC, **more}) is None


def test_what_we_write_is_never_taken_for_theirs(tmp_path: Path) -> None:
    write_epic_state(str(tmp_path / ".run-epic-state.json"), EpicState("epic-1", "1-2-login", run_id="epic-1-1"))
    assert find_foreign_run(str(tmp_path), str(tmp_path)) is None


def test_the_script_in_sequence(tmp_path: Path) -> None:
    one = found(tmp_path, script={"phase": "DEVELOP_STORIES", "current_epic": "7A", "completed_epics": ["1", 2]})
    assert one is not None
    assert (one.epic, one.phase, one.status, one.completed) == ("7A", "DEVELOP_STORIES", "running", ("1", "2"))
    assert one.since == os.stat(tmp_path / ".autopilot/state.json").st_mtime


def test_the_script_in_parallel(tmp_path: Path) -> None:
    pending = [{"epic": "3", "pr_number": 12, "worktree": "/w", "status": "waiting", "last_check": "x"}, "odd"]
    one = found(
        tmp_path,
        script={
            "mode": "parallel",
            "active_epic": None,
            "active_phase": "FIND_EPIC",
            "pending_prs": pending,
            "completed_epics": [],
            "paused_context": {"epic": "4", "phase": "CODE_REVIEW"},
        },
    )
    assert one is not None
    assert (one.epic, one.phase, one.status) == ("4", "FIND_EPIC", "paused")
    assert one.pending == (ForeignPull("3", 12, "waiting"),)


def test_a_blocked_one_says_so(tmp_path: Path) -> None:
    one = found(tmp_path, script={"phase": "BLOCKED", "current_epic": "2"})
    assert one is not None
    assert one.status == "blocked"


@pytest.mark.parametrize(
    "data",
    [
        {"phase": "CHECK_PENDING_PR", "current_epic": None, "completed_epics": []},
        {"phase": "FIND_EPIC", "current_epic": "null", "completed_epics": ["1"]},
        {"phase": "DONE", "current_epic": "2", "completed_epics": ["1", "2"]},
        {},
    ],
)
def test_a_script_that_has_nothing_in_hand(tmp_path: Path, data: dict[str, Any]) -> None:
    assert found(tmp_path, script=data) is None


def test_a_file_cut_short_is_said(tmp_path: Path) -> None:
    whole = json.dumps({"phase": "DEVELOP_STORIES", "current_epic": "7A"})
    for length in range(1, len(whole)):
        one = found(tmp_path, script=whole[:length])
        assert one is not None
        assert one.problem.startswith("is no JSON")
    assert found(tmp_path, commands="{") is not None  # the other one is still told


def test_none(tmp_path: Path) -> None:
    assert find_foreign_run(str(tmp_path), str(tmp_path / "nowhere")) is None


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
KEYS = ["epicId", "currentStoryKey", "status", "lastFailure", "lastSteps", "startedAt", "phase", "current_epic"]
KEYS += ["active_epic", "active_phase", "pending_prs", "completed_epics", "paused_context", "completedAt"]


@given(st.dictionaries(st.sampled_from(KEYS), ODD, max_size=6))
def test_whatever_stands_there(tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any]) -> None:
    folder = tmp_path_factory.mktemp("odd")
    for one in (found(folder, script=data), found(folder, commands=data)):
        assert one is None or isinstance(one.epic + one.story + one.phase + one.failure, str)

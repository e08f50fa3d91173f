""".run-epic-state.json: written as 000 documents it, read as it has really been found."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import FileError
from bmad_autopilot.runs.epic_state import (
    MAX_STEPS,
    EpicState,
    Failure,
    Status,
    StepDone,
    read_epic_state,
    write_epic_state,
)

SCHEMA = json.loads(files("bmad_autopilot").joinpath("schemas/run-epic-state.schema.json").read_text())
AT = 1_772_107_200.0

STATE = EpicState(
    "epic-1",
    "1-2-sign-in",
    AT,
    Status.PAUSED,
    Failure("dev", "1-2-sign-in", AT + 60),
    (StepDone("create-story", "1-1-sign-up", "create-story", AT + 5),),
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
    steps = tuple(StepDone("dev", f"1-{number}", "dev", AT) for number in range(200))
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
    assert (found.epic_id, found.current_story_key, found.status) == ("epic-17", None, Status.PAUSED)
    assert found.started_at == 1_772_150_400.0
    assert found.last_steps == (StepDone("dev", "17-HF-4-bootstrap-super-admin", "dev", 0.0),)
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
    assert read(tmp_path / "x", {"epicId": "epic-1", "status": word}).status is Status.RUNNING


def test_cut_off_at_any_byte_it_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_epic_state(str(path), STATE)
    whole = path.read_bytes().rstrip()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(FileError, match="is no JSON"):
            read_epic_state(str(path))

"""state.json: 001's fields, read whatever others have made of them."""

import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import FileError
from bmad_autopilot.runs.state_file import (
    RunState,
    RunStatus,
    StepArtefact,
    checkpoint_digest,
    checkpoint_id,
    read_state,
    with_new_checkpoint,
    write_state,
)

# The fields of 001, in its order.
FIELDS = [
    *("run_id", "workflow_path", "session_branch", "started_at", "last_checkpoint", "status"),
    *("steps_completed", "current_step", "total_steps", "resume_from_step", "session_variables"),
    *("artefacts_produced", "checkpoint_id", "issues", "agent_notes"),
]
SCHEMA = json.loads(files("bmad_autopilot").joinpath("schemas/run-state.schema.json").read_text())

STATE = RunState(
    "lean-20260226-120000",
    "lean",
    "feature/auth",
    1_772_107_200.0,
    1_772_107_260.5,
    RunStatus.PAUSED,
    (1, 2),
    3,
    8,
    3,
    {"story": "1-2-sign-in", "größe": 3},
    (StepArtefact(1, "step-01-output.md", "artefacts/step-01-output.md"),),
    issues=("the disk was full",),
    agent_notes="all well",
)


def test_the_fields_of_001_exactly(tmp_path: Path) -> None:
    write_state(str(tmp_path), with_new_checkpoint(STATE, 1_772_107_261.0))
    document = json.loads((tmp_path / "state.json").read_text())
    assert list(document) == [*FIELDS, "checkpoint_digest"]
    assert document["started_at"] == "2026-02-26T12:00:00Z"
    assert document["last_checkpoint"] == "2026-02-26T12:01:01Z"
    assert document["artefacts_produced"] == [
        {"step": 1, "name": "step-01-output.md", "path": "artefacts/step-01-output.md"}
    ]
    jsonschema.Draft202012Validator(SCHEMA).validate(document)


def test_it_is_read_back(tmp_path: Path) -> None:
    state = with_new_checkpoint(STATE, 1_772_107_261.0)
    write_state(str(tmp_path), state)
    assert read_state(str(tmp_path)) == state


def test_none_where_there_is_none(tmp_path: Path) -> None:
    assert read_state(str(tmp_path)) is None


def test_a_checkpoint_id_by_the_formula() -> None:
    payload = 'dev-20260227-143022:4:{"a": 1, "b": "\\u00e9"}'
    digest = hashlib.sha256(payload.encode()).hexdigest()
    variables = {"b": "é", "a": 1}
    assert checkpoint_id("dev-20260227-143022", 4, variables) == digest[:6]
    assert checkpoint_digest("dev-20260227-143022", 4, variables) == digest
    state = with_new_checkpoint(RunState("dev-20260227-143022", current_step=4, session_variables=variables), 5.0)
    assert (state.checkpoint_id, state.checkpoint_digest, state.last_checkpoint) == (digest[:6], digest, 5.0)


def test_another_tools_state_is_read_and_its_keys_kept(tmp_path: Path) -> None:
    theirs = {
        "run_id": None,
        "status": "Running",
        "steps_completed": ["1", 2, "two", None],
        "current_step": "3",
        "session_variables": [],
        "artefacts_produced": ["out/a.md", {"path": "out/b.md"}],
        "issues": "one",
        "completed_by": {"name": "someone"},
    }
    (tmp_path / "state.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(theirs).encode())
    state = read_state(str(tmp_path))
    assert state is not None
    assert (state.run_id, state.status, state.steps_completed) == (tmp_path.name, RunStatus.RUNNING, (1, 2))
    assert (state.current_step, state.session_variables, state.issues) == (3, {}, ("one",))
    assert state.artefacts_produced == (StepArtefact(0, "a.md", "out/a.md"), StepArtefact(0, "b.md", "out/b.md"))
    write_state(str(tmp_path), state)
    assert json.loads((tmp_path / "state.json").read_text())["completed_by"] == {"name": "someone"}


@pytest.mark.parametrize("word", ["done?", "", None, 7])
def test_a_status_nobody_knows_counts_as_paused(tmp_path: Path, word: object) -> None:
    (tmp_path / "state.json").write_text(json.dumps({"status": word}))
    state = read_state(str(tmp_path))
    assert state is not None
    assert state.status is RunStatus.PAUSED


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"a": 1} x', "[" * 100_000, '{"current_step": 1' + "0" * 9999]
)
def test_what_is_no_object_is_an_error_with_a_place(tmp_path: Path, text: str) -> None:
    (tmp_path / "state.json").write_text(text)
    with pytest.raises(FileError) as error:
        read_state(str(tmp_path))
    assert str(tmp_path / "state.json") in str(error.value)


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from([*FIELDS, "checkpoint_digest", "other"]), JSON))
def test_any_object_is_read_and_written_and_read_the_same(
    tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any]
) -> None:
    run = tmp_path_factory.mktemp("run")
    (run / "state.json").write_text(json.dumps(data))
    first = read_state(str(run))
    assert first is not None
    write_state(str(run), first)
    second = read_state(str(run))
    assert second is not None
    assert repr(_timeless(second)) == repr(_timeless(first))
    assert abs(second.started_at - first.started_at) <= 0.001


def _timeless(state: RunState) -> RunState:
    return state._replace(started_at=0.0, last_checkpoint=0.0)

"""001's three calls: a workflow that dies at step 5 of 8 goes on at step 5 with all it knew."""

import json
import threading
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bmad_autopilot.core.errors import ConflictError, UsageError
from bmad_autopilot.runs.checkpoint_protocol import (
    CheckpointProtocol,
    ProtocolResult,
    SaveRequest,
    load_protocol_resume,
)
from bmad_autopilot.runs.checkpoints import all_checkpoints, find_checkpoint
from bmad_autopilot.runs.index import all_runs, find_run
from bmad_autopilot.runs.journal import Journal
from bmad_autopilot.runs.layout import make_run
from bmad_autopilot.runs.state_file import RunStatus, checkpoint_id, read_state
from tests.support.checkpoint_runs import STARTED_AT, CheckpointingAgent

SCHEMA = json.loads(files("bmad_autopilot").joinpath("schemas/run-state.schema.json").read_text())


def state(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "state.json").read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    return document


def test_step_five_of_eight_with_all_it_knew(tmp_path: Path) -> None:
    agent = CheckpointingAgent(tmp_path)
    for step in range(1, 5):
        agent.save(step, total=8, name=f"part {step}", variables={"last": step} if step == 1 else {})
        agent.update(step, variables={f"v{step}": "x" * step}, artefact=f"# Part {step}\n", note=f"did {step}")
    agent.save(5, total=8)
    folder = agent.folder
    found = load_protocol_resume(str(folder))
    assert found is not None
    assert (found.workflow, found.step, found.total, found.completed) == ("create-prd", 5, 8, (1, 2, 3, 4))
    assert found.variables == {"last": 1, "v1": "x", "v2": "xx", "v3": "xxx", "v4": "xxxx"}
    assert [Path(path).read_text() for _, path in found.artefacts] == [f"# Part {n}\n" for n in range(1, 5)]
    kept = state(folder)
    assert (kept["status"], kept["current_step"], kept["resume_from_step"]) == ("running", 5, 5)
    assert (kept["steps_completed"], kept["total_steps"]) == ([1, 2, 3, 4], 8)
    assert kept["agent_notes"] == "did 1\ndid 2\ndid 3\ndid 4"
    assert [one["path"] for one in kept["artefacts_produced"]] == [
        f"artefacts/step-0{n}-output.md" for n in range(1, 5)
    ]
    page = (folder / "workflow-status.md").read_text()
    assert "4/8 steps" in page
    assert "| 5 | step 5 |  | ▶️ running |" in page
    assert f"bmad resume --run {folder.name}" in page


def test_the_id_is_what_anybody_works_out_from_the_state(tmp_path: Path) -> None:
    agent = CheckpointingAgent(tmp_path)
    saved = agent.save(1, variables={"b": 1, "a": "é"})
    done = agent.update(1, variables={"c": None})
    kept = state(agent.folder)
    assert saved.checkpoint_id == checkpoint_id(saved.run, 1, {"a": "é", "b": 1})
    assert done.checkpoint_id == checkpoint_id(saved.run, 1, kept["session_variables"]) == kept["checkpoint_id"]
    found = find_checkpoint(str(tmp_path), done.checkpoint_id)
    assert (found.step, found.head, found.rows, found.session) == (1, "a" * 40, {"1-1-sign-up": "done"}, "main")
    assert find_checkpoint(str(tmp_path), saved.checkpoint_id).variables == {"a": "é", "b": 1}


def test_the_same_call_twice_is_recorded_once(tmp_path: Path) -> None:
    agent = CheckpointingAgent(tmp_path)
    calls: list[Callable[[], ProtocolResult]] = [
        lambda: agent.save(1, variables={"a": 1}),
        lambda: agent.update(1, artefact="text", note="well"),
        lambda: agent.update(1, artefact="other", note="well"),
    ]
    for call in calls:
        first, second = call(), call()
        assert (first.is_new, second.is_new) == (True, False)
        assert first.checkpoint_id == second.checkpoint_id
    run = agent.run
    assert (len(all_checkpoints(str(tmp_path))), (agent.folder / "journal.jsonl").read_text().count("\n")) == (
        1,
        4,
    )
    first, second = (agent.keeper.close(run, RunStatus.COMPLETED, "all well") for _ in range(2))
    assert (first.is_new, second.is_new) == (True, False)


def test_what_a_kill_left_unwritten_is_written_by_the_next_call(tmp_path: Path) -> None:
    agent = CheckpointingAgent(tmp_path)
    agent.save(1)
    before = (agent.folder / "state.json").read_bytes()
    agent.update(1)
    (agent.folder / "state.json").write_bytes(before)  # as if it had been killed after its line in the journal
    agent.update(1)
    assert state(agent.folder)["steps_completed"] == [1]


def test_two_agents_at_once_lose_nothing(tmp_path: Path) -> None:
    def work(first: int) -> None:
        for step in range(first, 21, 2):
            agent.update(step, variables={f"v{step}": step}, artefact=f"text {step}")

    agent = CheckpointingAgent(tmp_path)
    begin = threading.Barrier(2)

    def begins() -> None:
        begin.wait(timeout=20)
        agent.save(1, total=20)

    for target, arguments in ((begins, [(), ()]), (work, [(1,), (2,)])):
        threads = [threading.Thread(target=target, args=given) for given in arguments]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
    assert len(all_runs(str(tmp_path))) == 1
    kept = state(agent.folder)
    assert kept["steps_completed"] == list(range(1, 21))
    assert kept["session_variables"] == {f"v{n}": n for n in range(1, 21)}
    assert len(kept["artefacts_produced"]) == 20


def test_the_next_step_is_the_one_named_or_the_first_not_completed(tmp_path: Path) -> None:
    agent = CheckpointingAgent(tmp_path)
    agent.save(1, total=6)
    assert agent.update(2).step == 3
    assert agent.update(1).step == 3
    assert agent.update(3, next=6).step == 6


def test_closing_and_opening_again(tmp_path: Path) -> None:
    agent = CheckpointingAgent(tmp_path)
    kept = agent.save(1, total=2)
    run = agent.run
    assert agent.close("failed", "the disk was full").status is RunStatus.FAILED
    assert state(Path(run.folder))["issues"] == ["the disk was full"]
    assert agent.keeper.find(None, "main") is None
    assert "bmad resume" in (Path(run.folder) / "workflow-status.md").read_text()
    saving = SaveRequest("create-prd", 1)
    agent.keeper.save(agent.keeper.open(kept.run, saving), saving)
    agent.update(1)
    agent.update(2)
    agent.close()
    with pytest.raises(ConflictError, match="is completed"):
        agent.keeper.close(run, RunStatus.FAILED, "")
    assert "bmad resume" not in (Path(run.folder) / "workflow-status.md").read_text()
    assert agent.save(1).run != kept.run


def test_two_workflows_and_two_sessions_side_by_side(tmp_path: Path) -> None:
    one, two = (
        CheckpointingAgent(tmp_path, "create-prd"),
        CheckpointingAgent(tmp_path, "create-prd", "feature/auth"),
    )
    other = CheckpointingAgent(tmp_path, "research")
    runs = {agent.save(1).run + agent.session for agent in (one, two, other)}
    assert len(runs) == 3
    assert two.folder.parent.name == "feature-auth"
    assert state(two.folder)["session_branch"] == "feature/auth"
    assert one.save(2).run == one.save(3).run


def test_a_run_of_the_loop_is_not_theirs(tmp_path: Path) -> None:
    folder = make_run(str(tmp_path), "main", "lean", STARTED_AT)
    Journal(folder, lambda value: value).append("run", target="epic-1", workflow={})
    keeper = CheckpointProtocol(str(tmp_path), lambda value: value, STARTED_AT)
    assert keeper.find(None, "main") is None
    with pytest.raises(ConflictError, match="is looked after by bmad itself"):
        keeper.find("lean", "main")
    with pytest.raises(ConflictError, match="is looked after by bmad itself"):
        keeper.close(find_run(str(tmp_path), None), RunStatus.FAILED, "")
    assert load_protocol_resume(folder) is None


@pytest.mark.parametrize("step", [0, -1, 10_000])
def test_steps_are_bounded(tmp_path: Path, step: int) -> None:
    with pytest.raises(UsageError, match="there is no step"):
        CheckpointingAgent(tmp_path).save(step)


def test_variables_are_bounded(tmp_path: Path) -> None:
    agent = CheckpointingAgent(tmp_path)
    agent.save(1, variables={"a": "x" * 40_000})
    with pytest.raises(UsageError, match="these variables are too long"):
        agent.save(1, variables={"b": "x" * 40_000})
    assert list(state(agent.folder)["session_variables"]) == ["a"]


def test_secrets_are_in_no_file(tmp_path: Path) -> None:
    def redact(value: object) -> object:
        return json.loads(json.dumps(value).replace("hunter2", "[gone]"))

    keeper = CheckpointProtocol(str(tmp_path), redact, STARTED_AT)
    saving = SaveRequest("create-prd", 1, variables={"password": "hunter2"})
    run = keeper.open(None, saving)
    kept = keeper.save(run, saving)
    written = [path.read_text() for path in Path(run.folder).rglob("*") if path.is_file()]
    assert not any("hunter2" in text for text in written)
    assert kept.checkpoint_id == checkpoint_id(kept.run, 1, state(Path(run.folder))["session_variables"])


def test_an_artefact_that_climbs_out_is_not_handed_on(tmp_path: Path) -> None:
    agent = CheckpointingAgent(tmp_path)
    agent.save(1)
    (tmp_path / "secret.md").write_text("secret")
    journal = Journal(str(agent.folder), lambda value: value)
    for path in ("../../secret.md", str(tmp_path / "secret.md"), "artefacts/gone.md", ""):
        journal.append("checkpoint", step=1, artefact={"step": 1, "name": "x", "path": path})
    journal.close()
    found = load_protocol_resume(str(agent.folder))
    assert found is not None
    assert found.artefacts == ()
    assert len(found.missing) == 4


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=5,
)
FIELDS = [
    "step",
    "total",
    "status",
    "next",
    "name",
    "note",
    "artefact",
    "checkpoint",
    "session",
    "mark",
    "summary",
]


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["saved", "checkpoint", "finished", "new"]),
            st.dictionaries(st.sampled_from(FIELDS), ODD),
        )
    )
)
def test_odd_entries_end_nothing(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[str, dict[str, Any]]]
) -> None:
    agent = CheckpointingAgent(tmp_path_factory.mktemp("runs"))
    run = agent.save(1, variables={"kept": 1}).run
    folder = agent.runs / "main" / run
    lines = [
        json.dumps({"n": n, "at": STARTED_AT, "kind": kind, "data": data}) + "\n"
        for n, (kind, data) in enumerate(entries, 3)
    ]
    with (folder / "journal.jsonl").open("a") as file:
        file.writelines(lines)
    assert load_protocol_resume(str(folder)) is not None
    saving = SaveRequest("create-prd", 2)
    agent.keeper.save(agent.keeper.open(run, saving), saving)
    kept = read_state(str(folder))
    assert kept is not None
    assert kept.current_step == 2

"""What other tools left behind is found, in every form that was really seen; what is over, or ours, is not."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.runs.adoption import LeftBehind, PendingPr, left_behind
from bmad_autopilot.runs.epic_state import EpicState, write_epic_state

EPIC = {"epicId": "epic-17", "currentStoryKey": "17-HF-4-bootstrap-super-admin", "startedAt": "2026-02-27"}


def found(tmp_path: Path, commands: object = None, script: object = None) -> LeftBehind | None:
    for path, data in (
        (tmp_path / ".run-epic-state.json", commands),
        (tmp_path / ".autopilot/state.json", script),
    ):
        if data is not None:
            path.parent.mkdir(exist_ok=True)
            path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return left_behind(str(tmp_path), str(tmp_path))


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
    assert left_behind(str(tmp_path), str(tmp_path)) is None


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
    assert one.pending == (PendingPr("3", 12, "waiting"),)


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
    assert left_behind(str(tmp_path), str(tmp_path / "nowhere")) is None


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

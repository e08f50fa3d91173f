"""`.autopilot/state.json` and `autopilot.log`, as the bash autopilot's users know them."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import FileError
from bmad_autopilot.runs.autopilot_state import (
    MAX_EPICS,
    MAX_LOG,
    PendingPull,
    completed_epics,
    log_line,
    write_autopilot_state,
)
from tests.agents.shim.test_redaction import SHAPES

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

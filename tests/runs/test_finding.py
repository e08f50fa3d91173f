"""Which run goes on: the newest that is not over, by its last checkpoint."""

import os
from pathlib import Path

import pytest

from bmad_autopilot.runs.finding import newest_unfinished, unfinished
from bmad_autopilot.runs.journal import Journal
from bmad_autopilot.runs.layout import make_run
from bmad_autopilot.runs.state import RunState, Status, write_state

BEGAN = 1_800_000_000.0


def run_of(runs: Path, at: float, status: Status | None = Status.RUNNING, *, session: str = "main") -> Path:
    folder = Path(make_run(str(runs), session, "lean", BEGAN))
    if status is not None:
        write_state(str(folder), RunState(folder.name, "lean", session, BEGAN, at, status))
    return folder


def journal(folder: Path, at: float) -> Journal:
    return Journal(str(folder), lambda value: value, lambda: at)


def test_the_newest_by_time_not_by_name(tmp_path: Path) -> None:
    old = run_of(tmp_path, 100.0, session="zulu")
    new = run_of(tmp_path, 200.0, session="alpha")
    assert [run.folder for run in unfinished(str(tmp_path))] == [str(new), str(old)]
    found = newest_unfinished(str(tmp_path))
    assert found is not None
    assert (found.folder, found.id, found.session) == (str(new), new.name, "alpha")


@pytest.mark.parametrize(
    ("status", "goes_on"),
    [(Status.RUNNING, True), (Status.FAILED, True), (Status.PAUSED, True), (Status.COMPLETED, False)],
)
def test_what_is_over_does_not_go_on(tmp_path: Path, status: Status, goes_on: bool) -> None:
    run_of(tmp_path, 100.0, status)
    assert bool(unfinished(str(tmp_path))) is goes_on


def test_what_was_asked_for_stands_in_the_first_entry(tmp_path: Path) -> None:
    folder = run_of(tmp_path, 100.0)
    ours = journal(folder, 5.0)
    ours.append("run", target="1-2-sign-in")
    ours.append("step", target="not this")
    assert unfinished(str(tmp_path))[0].target == "1-2-sign-in"


@pytest.mark.parametrize("broken", [None, "{", "[]", "\0"])
def test_without_a_state_file_the_journal_tells(tmp_path: Path, broken: str | None) -> None:
    folder = run_of(tmp_path, 0.0, None)
    if broken is not None:
        (folder / "state.json").write_text(broken)
    journal(folder, 50.0).append("run", target="epic-1")
    journal(folder, 70.0).append("finished", status="paused")
    found = newest_unfinished(str(tmp_path))
    assert found is not None
    assert (found.target, found.state.status, found.state.last_checkpoint) == ("epic-1", Status.PAUSED, 70.0)
    assert (found.state.run_id, found.state.started_at) == (folder.name, 50.0)


def test_a_journal_that_ends_and_goes_on(tmp_path: Path) -> None:
    folder = run_of(tmp_path, 0.0, None)
    journal(folder, 50.0).append("run")
    journal(folder, 60.0).append("finished", status="completed")
    assert unfinished(str(tmp_path)) == []
    journal(folder, 70.0).append("resumed")
    assert [run.state.status for run in unfinished(str(tmp_path))] == [Status.RUNNING]


def test_a_folder_with_neither_is_no_run(tmp_path: Path) -> None:
    folder = run_of(tmp_path, 0.0, None)
    assert unfinished(str(tmp_path)) == []
    (folder / "journal.jsonl").write_text("rubbish\n")
    (folder / "state.json").write_text("{")
    assert unfinished(str(tmp_path)) == []


def test_the_archive_and_other_folders_are_not_looked_into(tmp_path: Path) -> None:
    folder = run_of(tmp_path, 1.0)
    os.makedirs(tmp_path / "archive")
    folder.rename(tmp_path / "archive" / folder.name)
    other = tmp_path / "main" / "notes"
    other.mkdir()
    write_state(str(other), RunState("notes"))
    assert unfinished(str(tmp_path)) == []
    assert unfinished(str(tmp_path / "nowhere")) == []

"""Completed runs a week, failed ones a month, then the archive; running and paused ones never."""

from pathlib import Path

import pytest

from bmad_autopilot.core.errors import ConflictError, FileError, UsageError
from bmad_autopilot.runs import retention
from bmad_autopilot.runs.index import all_runs
from bmad_autopilot.runs.layout import make_run
from bmad_autopilot.runs.retention import (
    archive_expired_runs,
    archive_run,
    archive_session,
    delete_archived_run,
    expired_runs,
)
from bmad_autopilot.runs.state_file import RunState, RunStatus, write_state

NOW = 1_800_000_000.0
DAY = 86_400.0


def run_of(
    runs: Path, status: RunStatus | str, days: float, *, session: str = "main", began: float | None = None
) -> Path:
    at = NOW - days * DAY
    folder = Path(make_run(str(runs), session, "lean", at if began is None else NOW - began * DAY))
    write_state(str(folder), RunState(folder.name, "lean", session, at, at, RunStatus(status)))
    return folder


@pytest.mark.parametrize(
    ("status", "days", "goes"),
    [
        ("completed", 6.9, False),
        ("completed", 7.1, True),
        ("failed", 29.9, False),
        ("failed", 30.1, True),
        ("running", 400, False),
        ("paused", 400, False),
    ],
)
def test_each_status_has_its_time(tmp_path: Path, status: str, days: float, goes: bool) -> None:
    folder = run_of(tmp_path, status, days)
    (folder / "journal.jsonl").write_text("kept\n")
    moved = archive_expired_runs(str(tmp_path), NOW)
    there = tmp_path / "archive" / "main" / folder.name
    assert [one.folder for one in moved] == ([str(there)] if goes else [])
    assert ((there if goes else folder) / "journal.jsonl").read_text() == "kept\n"
    assert archive_expired_runs(str(tmp_path), NOW) == []


def test_the_time_counts_from_its_last_checkpoint(tmp_path: Path) -> None:
    run_of(tmp_path, "completed", 1, began=100)
    assert expired_runs(str(tmp_path), NOW) == []


def test_the_oldest_first_each_with_its_reason(tmp_path: Path) -> None:
    run_of(tmp_path, "completed", 9)
    run_of(tmp_path, "failed", 40, session="feature")
    found = expired_runs(str(tmp_path), NOW)
    assert [one.session for one in found] == ["feature", "main"]
    assert found[0].reason == "failed 40 days ago; kept for 30"


def test_young_runs_are_not_even_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_of(tmp_path, "completed", 2)
    monkeypatch.setattr(retention, "load_run_state", lambda *_: pytest.fail("was opened"))
    assert expired_runs(str(tmp_path), NOW) == []


def test_what_is_looked_after_or_cannot_be_understood_stays(tmp_path: Path) -> None:
    busy = run_of(tmp_path, "failed", 50)
    odd = run_of(tmp_path, "completed", 60)
    (odd / "state.json").write_text("{")
    empty = run_of(tmp_path, "completed", 70)
    (empty / "state.json").unlink()
    future = run_of(tmp_path, "completed", -20, began=80)
    assert archive_expired_runs(str(tmp_path), NOW, busy=[busy.name]) == []
    assert all(folder.exists() for folder in (busy, odd, empty, future))


def test_one_name_twice_in_the_archive(tmp_path: Path) -> None:
    first = run_of(tmp_path, "completed", 9)
    archive_run(str(tmp_path), "main", first.name)
    assert not (tmp_path / "main").exists()
    second = run_of(tmp_path, "failed", 9)
    second = second.rename(second.parent / first.name)
    there = archive_run(str(tmp_path), "main", second.name)
    assert there.endswith(f"{first.name}-2")
    statuses = [run.state.status for run in all_runs(str(tmp_path), include_archived=True)]
    assert sorted(statuses) == [RunStatus.COMPLETED, RunStatus.FAILED]


def test_one_that_cannot_be_moved_stops_no_other(tmp_path: Path) -> None:
    stays = run_of(tmp_path, "completed", 20, session="feature")
    goes = run_of(tmp_path, "completed", 10)
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "feature").write_text("in the way")
    moved = archive_expired_runs(str(tmp_path), NOW)
    assert [one.run for one in moved] == [goes.name]
    assert stays.exists()


def test_a_session_is_archived_whole(tmp_path: Path) -> None:
    run_of(tmp_path, "completed", 1, session="feature")
    run_of(tmp_path, "failed", 2, session="feature")
    other = run_of(tmp_path, "completed", 1)
    moved = archive_session(str(tmp_path), "feature")
    assert (len(moved), other.exists(), (tmp_path / "feature").exists()) == (2, True, False)
    assert all(Path(run.folder).is_dir() for run in moved)


@pytest.mark.parametrize("status", ["running", "paused"])
def test_a_session_that_is_not_over_stays_whole(tmp_path: Path, status: str) -> None:
    over = run_of(tmp_path, "completed", 50, session="feature")
    open_ = run_of(tmp_path, status, 2, session="feature")
    with pytest.raises(ConflictError, match="session feature is not over") as raised:
        archive_session(str(tmp_path), "feature")
    assert f"{open_.name} ({status})" in str(raised.value)
    assert over.exists()


@pytest.mark.parametrize("name", ["nowhere", "", "..", "archive", "../main"])
def test_a_session_that_is_not_there(tmp_path: Path, name: str) -> None:
    run_of(tmp_path, "completed", 50)
    with pytest.raises(UsageError, match="there is no session"):
        archive_session(str(tmp_path), name)


def test_only_what_is_archived_is_deleted(tmp_path: Path) -> None:
    folder = run_of(tmp_path, "completed", 50)
    (run,) = all_runs(str(tmp_path))
    with pytest.raises(ConflictError, match="is not in the archive"):
        delete_archived_run(run)
    archive_run(str(tmp_path), "main", folder.name)
    (archived,) = all_runs(str(tmp_path), include_archived=True)
    delete_archived_run(archived)
    assert all_runs(str(tmp_path), include_archived=True) == []
    with pytest.raises(FileError, match="cannot be removed"):
        delete_archived_run(archived)

"""Which run goes on: the newest that is not over, by its last checkpoint."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import UsageError
from bmad_autopilot.core.lane_scope import LaneScope
from bmad_autopilot.runs.index import all_runs, find_run, open_runs, unfinished_runs
from bmad_autopilot.runs.journal import Journal
from bmad_autopilot.runs.layout import make_run
from bmad_autopilot.runs.state_file import RunState, RunStatus, write_state

BEGAN = 1_800_000_000.0


def run_of(runs: Path, at: float, status: RunStatus | None = RunStatus.RUNNING, *, session: str = "main") -> Path:
    folder = Path(make_run(str(runs), session, "lean", BEGAN))
    if status is not None:
        write_state(str(folder), RunState(folder.name, "lean", session, BEGAN, at, status))
    return folder


def journal(folder: Path, at: float) -> Journal:
    return Journal(str(folder), lambda value: value, lambda: at)


def test_the_newest_by_time_not_by_name(tmp_path: Path) -> None:
    old = run_of(tmp_path, 100.0, session="zulu")
    new = run_of(tmp_path, 200.0, session="alpha")
    assert [run.folder for run in unfinished_runs(str(tmp_path))] == [str(new), str(old)]
    found = unfinished_runs(str(tmp_path))[0]
    assert (found.folder, found.id, found.session) == (str(new), new.name, "alpha")


@pytest.mark.parametrize(
    ("status", "goes_on"),
    [(RunStatus.RUNNING, True), (RunStatus.FAILED, True), (RunStatus.PAUSED, True), (RunStatus.COMPLETED, False)],
)
def test_what_is_over_does_not_go_on(tmp_path: Path, status: RunStatus, goes_on: bool) -> None:
    run_of(tmp_path, 100.0, status)
    assert bool(unfinished_runs(str(tmp_path))) is goes_on


def test_what_was_asked_for_stands_in_the_first_entry(tmp_path: Path) -> None:
    folder = run_of(tmp_path, 100.0)
    ours = journal(folder, 5.0)
    ours.append("run", target="1-2-sign-in")
    ours.append("step", target="not this")
    assert unfinished_runs(str(tmp_path))[0].target == "1-2-sign-in"


def lane_run(
    runs: Path, at: float, status: RunStatus = RunStatus.PAUSED, *, session: str = "main", **lane: object
) -> Path:
    folder = run_of(runs, at, status, session=session)
    journal(folder, at).append("run", target=lane.get("key"), workflow={}, session=session, **lane)
    return folder


def test_open_runs_are_found_by_any_part_of_their_target(tmp_path: Path) -> None:
    flow = lane_run(tmp_path, 50.0, scope="flow", key="bmm", path="state.md")
    own = lane_run(tmp_path, 40.0, scope="workflow", key="bmm", path="a.yaml")
    other = lane_run(tmp_path, 30.0, scope="workflow", key="bmm", path="b.yaml", session="feature/auth")
    tasks = lane_run(tmp_path, 20.0, scope="epic", key="epic-1", of_tasks=True)
    story = lane_run(tmp_path, 10.0, scope="story", key="1-1-cart")  # written before there were tasks

    def found(scope: LaneScope | None = None, **criteria: object) -> list[str]:
        return [run.folder for run in open_runs(str(tmp_path), scope, **criteria)]  # type: ignore[arg-type]

    everything = [str(one) for one in (flow, own, other, tasks, story)]
    assert found() == everything
    assert found(LaneScope.FLOW) == [str(flow)]
    assert found(LaneScope.WORKFLOW, path="b.yaml") == [str(other)]
    assert found(key="bmm", session="main") == [str(flow), str(own)]
    assert found(session="feature-auth") == [str(other)]  # the same folder and the same lock
    assert found(of_tasks=True) == [str(tasks)]
    assert found(of_tasks=False) == [one for one in everything if one != str(tasks)]
    assert found(LaneScope.FLOW, path="a.yaml") == []


@pytest.mark.parametrize(("status", "is_open"), [(RunStatus.RUNNING, True), (RunStatus.FAILED, False)])
def test_a_run_that_was_given_up_is_not_open(tmp_path: Path, status: RunStatus, is_open: bool) -> None:
    lane_run(tmp_path, 10.0, status, scope="epic", key="epic-1")
    assert bool(list(open_runs(str(tmp_path)))) is is_open


def test_a_run_of_another_tool_is_not_open(tmp_path: Path) -> None:
    journal(run_of(tmp_path, 10.0), 10.0).append("opened", target="epic-1")
    assert unfinished_runs(str(tmp_path))
    assert list(open_runs(str(tmp_path))) == []


@pytest.mark.parametrize("broken", [None, "{", "[]", "\0"])
def test_without_a_state_file_the_journal_tells(tmp_path: Path, broken: str | None) -> None:
    folder = run_of(tmp_path, 0.0, None)
    if broken is not None:
        (folder / "state.json").write_text(broken)
    journal(folder, 50.0).append("run", target="epic-1")
    journal(folder, 70.0).append("finished", status="paused")
    (found,) = unfinished_runs(str(tmp_path))
    assert (found.target, found.state.status, found.state.last_checkpoint) == ("epic-1", RunStatus.PAUSED, 70.0)
    assert (found.state.run_id, found.state.started_at) == (folder.name, 50.0)


def test_a_journal_that_ends_and_goes_on(tmp_path: Path) -> None:
    folder = run_of(tmp_path, 0.0, None)
    journal(folder, 50.0).append("run")
    journal(folder, 60.0).append("finished", status="completed")
    assert unfinished_runs(str(tmp_path)) == []
    journal(folder, 70.0).append("resumed")
    assert [run.state.status for run in unfinished_runs(str(tmp_path))] == [RunStatus.RUNNING]


@pytest.mark.parametrize(
    ("kinds", "status"),
    [
        (("waiting",), RunStatus.PAUSED),
        (("left",), RunStatus.PAUSED),
        (("waiting", "resumed"), RunStatus.RUNNING),
        (("waiting", "answered"), RunStatus.RUNNING),
    ],
)
def test_a_journal_that_rests(tmp_path: Path, kinds: tuple[str, ...], status: RunStatus) -> None:
    """Nobody cut it short: it was left, or waits for a person."""
    folder = run_of(tmp_path, 0.0, None)
    for kind in ("run", *kinds):
        journal(folder, 50.0).append(kind)
    assert [run.state.status for run in unfinished_runs(str(tmp_path))] == [status]


def test_a_state_of_another_run_says_nothing(tmp_path: Path) -> None:
    folder = run_of(tmp_path, 0.0, None)
    write_state(str(folder), RunState("other-20260101-120000", "lean", "main", 1.0, 1.0, RunStatus.COMPLETED))
    journal(folder, 50.0).append("run", target="epic-1")
    (found,) = unfinished_runs(str(tmp_path))
    assert (found.state.run_id, found.state.status, found.state.started_at) == (
        folder.name,
        RunStatus.RUNNING,
        50.0,
    )


def test_a_folder_with_neither_is_no_run(tmp_path: Path) -> None:
    folder = run_of(tmp_path, 0.0, None)
    assert unfinished_runs(str(tmp_path)) == []
    (folder / "journal.jsonl").write_text("rubbish\n")
    (folder / "state.json").write_text("{")
    assert unfinished_runs(str(tmp_path)) == []


def test_the_archive_and_other_folders_are_not_looked_into(tmp_path: Path) -> None:
    folder = run_of(tmp_path, 1.0)
    os.makedirs(tmp_path / "archive")
    folder.rename(tmp_path / "archive" / folder.name)
    other = tmp_path / "main" / "notes"
    other.mkdir()
    write_state(str(other), RunState("notes"))
    assert unfinished_runs(str(tmp_path)) == []
    assert unfinished_runs(str(tmp_path / "nowhere")) == []


def test_a_run_by_its_name_its_beginning_or_its_session(tmp_path: Path) -> None:
    one = run_of(tmp_path, 100.0, RunStatus.COMPLETED)
    other = run_of(tmp_path, 200.0, session="feature-auth")
    other = other.rename(other.parent / one.name)  # as a hand, or an older version, may have left it
    third = Path(make_run(str(tmp_path), "main", "lean", BEGAN))
    write_state(str(third), RunState(third.name, last_checkpoint=50.0))
    assert one.name == other.name
    assert find_run(str(tmp_path), None).folder == str(other)
    assert find_run(str(tmp_path), f"main/{one.name}").folder == str(one)
    assert find_run(str(tmp_path), "feature").folder == str(other)
    assert find_run(str(tmp_path), third.name[:-1] + "2").folder == str(third)
    with pytest.raises(UsageError, match=f"2 runs are called {one.name}") as raised:
        find_run(str(tmp_path), one.name)
    assert f"feature-auth/{one.name}, main/{one.name}" in str(raised.value)
    with pytest.raises(UsageError, match="3 runs begin with lean"):
        find_run(str(tmp_path), "lean")
    for unknown in ("", "no-such", "../main", "\0", "x" * 5000):
        with pytest.raises(UsageError, match="there is no run"):
            find_run(str(tmp_path), unknown)


def test_no_run_at_all(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no run in this project yet"):
        find_run(str(tmp_path), None)


def test_an_archived_run_is_found_where_no_other_is_meant(tmp_path: Path) -> None:
    old = run_of(tmp_path, 1.0, RunStatus.COMPLETED)
    there = tmp_path / "archive" / "main" / old.name
    there.parent.mkdir(parents=True)
    old.rename(there)
    found = find_run(str(tmp_path), "lean")
    assert (found.folder, found.session, found.is_archived) == (str(there), "main", True)
    assert (all_runs(str(tmp_path)), len(all_runs(str(tmp_path), include_archived=True))) == ([], 1)
    again = run_of(tmp_path, 2.0)
    assert find_run(str(tmp_path), "lean").folder == str(again)


def test_the_journal_tells_which_steps_were_completed(tmp_path: Path) -> None:
    folder = run_of(tmp_path, 0.0, None)
    journal(folder, 50.0).append("opened", target="create-prd")
    journal(folder, 60.0).append("checkpoint", checkpoint={"step": 2})
    journal(folder, 61.0).append("checkpoint", checkpoint={"step": 1})
    journal(folder, 62.0).append("checkpoint", checkpoint={"step": "two"})
    found = find_run(str(tmp_path), None)
    assert (found.state.steps_completed, found.state.current_step) == ((1, 2), 2)
    assert (found.target, found.is_protocol) == ("create-prd", True)


@given(st.binary(max_size=60))
def test_whatever_stands_in_a_state_file_the_run_is_not_lost(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes
) -> None:
    runs = tmp_path_factory.mktemp("runs")
    folder = run_of(runs, 0.0, None)
    journal(folder, 50.0).append("run", target="epic-1")
    (folder / "state.json").write_bytes(raw)
    assert find_run(str(runs), None).target == "epic-1"


def test_a_state_cut_off_at_any_byte_loses_no_run(tmp_path: Path) -> None:
    folder = run_of(tmp_path, 100.0, RunStatus.PAUSED)
    journal(folder, 50.0).append("run", target="epic-1")
    whole = (folder / "state.json").read_bytes()
    for length in range(len(whole)):
        (folder / "state.json").write_bytes(whole[:length])
        found = find_run(str(tmp_path), None)
        assert (found.id, found.target) == (folder.name, "epic-1")
        assert found.state.status in (RunStatus.RUNNING, RunStatus.PAUSED)


def test_a_journal_cut_off_at_any_byte_of_its_last_line_loses_no_step_before(tmp_path: Path) -> None:
    folder = run_of(tmp_path, 0.0, None)
    journal(folder, 50.0).append("run", target="epic-1")
    journal(folder, 60.0).append("accepted", checkpoint={"step": 1})
    before = (folder / "journal.jsonl").read_bytes()
    journal(folder, 70.0).append("accepted", checkpoint={"step": 2})
    whole = (folder / "journal.jsonl").read_bytes()
    for length in range(len(before), len(whole)):
        (folder / "journal.jsonl").write_bytes(whole[:length])
        assert find_run(str(tmp_path), None).state.steps_completed == (1,)


def test_a_state_from_the_future_keeps_what_is_new_in_it(tmp_path: Path) -> None:
    folder = run_of(tmp_path, 100.0)
    data = json.loads((folder / "state.json").read_text())
    data |= {"status": "hibernating", "engine": {"name": "fleet", "shards": [1]}, "version": 9}
    (folder / "state.json").write_text(json.dumps(data))
    found = find_run(str(tmp_path), None)
    assert found.state.status is RunStatus.PAUSED
    write_state(str(folder), found.state)
    kept = json.loads((folder / "state.json").read_text())
    assert (kept["engine"], kept["version"]) == (data["engine"], 9)

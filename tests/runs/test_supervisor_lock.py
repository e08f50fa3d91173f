"""One supervisor per project: a lock that dies with its owner."""

import fcntl
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bmad_autopilot.core.errors import ConflictError, FileError
from bmad_autopilot.runs.supervisor_lock import (
    AUTOPILOT,
    LOCK_FILE,
    ControlRequest,
    LockOwner,
    busy_runs,
    describe_owner,
    hold_supervisor_lock,
    lock_owner,
    lock_owners,
    owner_of_run,
    read_request,
    refuse_second_supervisor,
    workflow_lock_name,
    write_request,
)
from tests.runs.kill_process import started, stop
from tests.support.agent_stubs import is_alive, wait_until
from tests.support.schemas import parse_validated

HOLDS = """
import subprocess, sys, time
from bmad_autopilot.runs.supervisor_lock import hold_supervisor_lock
with hold_supervisor_lock(sys.argv[1], "bmad run-epic 1", "/runs/main/lean-1"):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], stdout=subprocess.DEVNULL)
    print(child.pid, flush=True)
    time.sleep(1000)
"""


@contextmanager
def another(folder: Path) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """A supervisor in a process of its own, and a child it has started."""
    process = started(HOLDS, str(folder))
    child = 0
    try:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        yield process, child
    finally:
        stop(process)
        if child and is_alive(child):
            os.kill(child, signal.SIGKILL)
            wait_until(lambda: not is_alive(child), "the child is gone")


def test_the_second_one_is_told_of_the_first(tmp_path: Path) -> None:
    with another(tmp_path) as (process, _):
        with pytest.raises(ConflictError) as error, hold_supervisor_lock(str(tmp_path), "bmad next"):
            pass
        text = str(error.value)
        assert f"bmad run-epic 1 (pid {process.pid} on " in text
        assert "run lean-1" in text
        assert "since 20" in text
        for command in ("bmad status", "bmad answer", "Ctrl-C"):
            assert command in text
        found = lock_owner(str(tmp_path))
        assert found is not None
        assert (found.pid, found.command, found.run) == (process.pid, "bmad run-epic 1", "/runs/main/lean-1")


def test_it_dies_with_its_owner_though_a_child_goes_on(tmp_path: Path) -> None:
    with another(tmp_path) as (process, child):
        assert lock_owner(str(tmp_path)) is not None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert is_alive(child)
        assert f'"pid": {process.pid}' in (tmp_path / LOCK_FILE).read_text(), "what it left stays"
        assert lock_owner(str(tmp_path)) is None
        with hold_supervisor_lock(str(tmp_path), "bmad resume"):
            found = lock_owner(str(tmp_path))
            assert found is not None
            assert (found.pid, found.command) == (os.getpid(), "bmad resume")


def test_it_is_given_back(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there"
    assert lock_owner(str(folder)) is None
    with hold_supervisor_lock(str(folder), "bmad next") as supervision:
        supervision.set_run("/runs/main/lean-2")
        found = lock_owner(str(folder))
        assert found is not None
        assert found.run == "/runs/main/lean-2"
    assert lock_owner(str(folder)) is None
    with hold_supervisor_lock(str(folder), "bmad next"):
        pass


@pytest.mark.parametrize("note", [b"", b"{", b"[]", b"\xff\0", b'{"pid": "x", "started_at": 1e400, "host": []}'])
def test_an_owner_whose_note_cannot_be_read_is_one(tmp_path: Path, note: bytes) -> None:
    with hold_supervisor_lock(str(tmp_path), "bmad next"):
        (tmp_path / LOCK_FILE).write_bytes(note)
        found = lock_owner(str(tmp_path))
        assert found is not None
        assert found.command == ""
        assert describe_owner(found).startswith("another bmad")
    assert lock_owner(str(tmp_path)) is None


def test_whoever_asks_does_not_keep_anybody_from_holding_it(tmp_path: Path) -> None:
    with hold_supervisor_lock(str(tmp_path), "bmad next"):
        pass
    fd = os.open(tmp_path / LOCK_FILE, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_SH)  # as it is asked for the owner
    asked = threading.Timer(0.05, os.close, [fd])
    asked.start()
    with hold_supervisor_lock(str(tmp_path), "bmad next"):
        asked.join()


def test_a_long_command_still_leaves_a_note(tmp_path: Path) -> None:
    with hold_supervisor_lock(str(tmp_path), "bmad " + "x" * 1_000_000):
        found = lock_owner(str(tmp_path))
        assert found is not None
        assert found.pid == os.getpid()


def test_it_names_every_run_that_it_looks_after(tmp_path: Path) -> None:
    folder = str(tmp_path)
    with hold_supervisor_lock(folder, AUTOPILOT) as supervision:
        supervision.set_runs(("epic-1-a", "epic-2-b"), "epic-2-b")
        supervision.mark_ready()
        found = lock_owner(folder)
        assert found is not None
        assert (found.run, found.run_ids, found.ready) == ("epic-2-b", ("epic-1-a", "epic-2-b"), True)
        assert busy_runs(folder) == {"epic-1-a", "epic-2-b"}
        theirs = owner_of_run(folder, "epic-1-a")
        assert theirs is not None
        assert theirs.command == AUTOPILOT
        parse_validated("supervisor", (tmp_path / LOCK_FILE).read_text())
        with pytest.raises(ConflictError, match="2 runs"):
            refuse_second_supervisor(folder)
    refuse_second_supervisor(folder)


def test_the_note_of_an_older_version_names_one(tmp_path: Path) -> None:
    with hold_supervisor_lock(str(tmp_path), "bmad next"):
        (tmp_path / LOCK_FILE).write_text(
            '{"pid": 7, "host": "h", "command": "autopilot", "run": "a", "started_at": 1}'
        )
        assert busy_runs(str(tmp_path)) == {"a"}
        (tmp_path / LOCK_FILE).write_text('{"pid": 7, "run": "a", "runs": {"b": 1}, "ready": "yes"}')
        found = lock_owner(str(tmp_path))
        assert found is not None
        assert (found.run_ids, found.ready) == (("a",), False)


def test_what_was_asked_of_the_one_before_is_not_asked_of_the_next(tmp_path: Path) -> None:
    write_request(str(tmp_path), ControlRequest.STOP)
    with hold_supervisor_lock(str(tmp_path), "bmad workflow run", name=workflow_lock_name("main", "notes")):
        assert read_request(str(tmp_path)) is ControlRequest.STOP, "not theirs"
    with hold_supervisor_lock(str(tmp_path), AUTOPILOT):
        assert read_request(str(tmp_path)) is None


def test_words_for_an_owner() -> None:
    assert describe_owner(LockOwner()) == "another bmad"
    assert describe_owner(LockOwner(7, "", "bmad next", "", 0.0)) == "bmad next (pid 7)"


def test_workflows_have_locks_of_their_own(tmp_path: Path) -> None:
    folder = str(tmp_path)
    one, other = workflow_lock_name("main", "notes"), workflow_lock_name("feature/auth", "notes")
    with (
        hold_supervisor_lock(folder, "bmad next", "a"),
        hold_supervisor_lock(folder, "bmad workflow run", "b", one),
        hold_supervisor_lock(folder, "c", "d", other),
    ):
        assert sorted(found.run for found in lock_owners(folder)) == ["a", "b", "d"]
        with (
            pytest.raises(ConflictError, match="another supervisor"),
            hold_supervisor_lock(folder, "again", name=one),
        ):
            pass
    assert lock_owners(folder) == []
    assert lock_owners(str(tmp_path / "nowhere")) == []


def test_another_name_of_a_file_of_the_users_is_not_written_in_place(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine\n")
    (tmp_path / "state").mkdir()
    os.link(mine, tmp_path / "state" / LOCK_FILE)
    with pytest.raises(FileError, match="2 hard links"), hold_supervisor_lock(str(tmp_path / "state"), "bmad run"):
        pass
    assert mine.read_text() == "mine\n"

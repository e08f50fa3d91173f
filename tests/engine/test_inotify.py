"""One line to the system for all that is watched."""

import os
import threading
from pathlib import Path

import pytest

from bmad_autopilot.engine import inotify
from bmad_autopilot.engine.waiting import FileWatch
from tests.engine.test_waiting_file_watch import woken

WRITTEN = 0x002


@pytest.fixture(autouse=True)
def _linux() -> None:
    if inotify.inotify() is None:
        pytest.skip("no inotify here")


def test_many_watches_need_one_thread_and_one_line_to_the_system(tmp_path: Path) -> None:
    one = FileWatch([str(tmp_path / "first")])
    threads, lines = _threads(), _lines()
    watches = [FileWatch([str(tmp_path / f"{number}")]) for number in range(50)]
    try:
        assert _threads() == threads
        assert _lines() <= lines
        assert all(woken(watch, 10) for watch in watches)
        (tmp_path / "17").write_text("x")
        assert woken(watches[17], 10)
        assert not any(woken(watch, 0) for watch in watches)
    finally:
        for watch in (one, *watches):
            watch.close()


def _threads() -> int:
    return sum(thread.name == "inotify" for thread in threading.enumerate())


def _lines() -> int:
    return sum("inotify" in os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.is_symlink())


def test_what_was_lost_may_have_been_anybodys(tmp_path: Path) -> None:
    own = inotify.Inotify()
    own.add([str(tmp_path / "board.yaml"), str(tmp_path / "state.json")], lambda: None)
    assert len(own._affected(inotify.EVENT_HEADER.pack(-1, inotify.QUEUE_OVERFLOW, 0, 0))) == 2
    assert not own._affected(inotify.EVENT_HEADER.pack(1, WRITTEN, 0, 16) + b"other.txt".ljust(16, b"\0"))


def test_a_folder_that_goes_is_told_and_can_be_watched_again(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    own = inotify.Inotify()
    first, second = threading.Event(), threading.Event()
    own.add([str(folder / "request.json")], first.set)
    folder.rmdir()
    assert first.wait(10)
    folder.mkdir()
    own.add([str(folder / "request.json")], second.set)
    own.remove(first.set)
    (folder / "request.json").write_text("{}")
    assert second.wait(10), "who was there before is gone, and took nothing along"


def test_whoever_was_removed_is_told_nothing(tmp_path: Path) -> None:
    own = inotify.Inotify()
    first, second = threading.Event(), threading.Event()
    for told in (first, second):
        own.add([str(tmp_path / "board.yaml")], told.set)
    own.remove(first.set)
    (tmp_path / "board.yaml").write_text("x")
    assert second.wait(10)
    assert not first.is_set()

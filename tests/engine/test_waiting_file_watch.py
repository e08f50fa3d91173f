import os
import select
from pathlib import Path

import pytest

from bmad_autopilot.engine import inotify
from bmad_autopilot.engine.waiting import FileWatch


@pytest.fixture(params=["inotify", "watchfiles"], autouse=True)
def _source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system has, and what stands in for it elsewhere."""
    if request.param == "watchfiles":
        monkeypatch.setattr(inotify, "inotify", lambda: None)
    elif inotify.inotify() is None:
        pytest.skip("no inotify here")


def woken(watch: FileWatch, seconds: float) -> bool:
    poll = select.poll()
    poll.register(watch, select.POLLIN)
    found = bool(poll.poll(int(seconds * 1000)))
    watch.clear()
    return found


def test_a_watch_tells_of_every_way_a_file_is_written(tmp_path: Path) -> None:
    board = tmp_path / "board.yaml"
    board.write_text("a")
    watch = FileWatch([str(board)])
    try:
        assert woken(watch, 10), "it is told once that it should look, because something may have come before"
        board.write_text("b")
        assert woken(watch, 10)
        other = tmp_path / "new"
        other.write_text("c")
        os.replace(other, board)
        assert woken(watch, 10)
        board.unlink()
        assert woken(watch, 10)
        board.write_text("d")
        assert woken(watch, 10)
    finally:
        watch.close()


def test_other_files_wake_nobody(tmp_path: Path) -> None:
    board = tmp_path / "board.yaml"
    watch = FileWatch([str(board)])
    try:
        assert woken(watch, 10)
        (tmp_path / "other.txt").write_text("x")
        assert not woken(watch, 0.5)
    finally:
        watch.close()


def test_a_folder_that_is_not_there_wakes_nobody_and_harms_nobody(tmp_path: Path) -> None:
    board = tmp_path / "board.yaml"
    watch = FileWatch([str(board), str(tmp_path / "none" / "request.json")])
    try:
        assert woken(watch, 10)
        board.write_text("a")
        assert woken(watch, 10)
    finally:
        watch.close()


def test_whoever_has_closed_leaves_the_others_their_watch(tmp_path: Path) -> None:
    board = tmp_path / "board.yaml"
    first, second = FileWatch([str(board)]), FileWatch([str(board)])
    try:
        assert woken(first, 10)
        assert woken(second, 10)
        first.close()
        board.write_text("a")
        assert woken(second, 10)
    finally:
        second.close()

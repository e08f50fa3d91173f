"""Shims are started from several threads: each is kept until it has ended."""

import threading
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.agents import starting
from tests.agents.stubs import begin, finish, repository


class SlowToKeep(list[Any]):
    """Before the first count is written down another thread has a moment to start a shim."""

    def __init__(self) -> None:
        super().__init__()
        self.counted = threading.Event()
        self.started = threading.Event()

    def __setitem__(self, place: Any, found: Any) -> None:
        if not self.counted.is_set():
            self.counted.set()
            self.started.wait(0.3)
        super().__setitem__(place, found)


def test_one_started_while_others_are_counted_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = SlowToKeep()
    monkeypatch.setattr(starting, "_shims", kept)
    tree = repository(tmp_path / "tree")

    def start() -> None:
        kept.counted.wait(10.0)
        begin(tmp_path / "call", tree, "pass")
        kept.started.set()

    thread = threading.Thread(target=start)
    thread.start()
    starting.collect()
    thread.join()
    assert len(kept) == 1
    finish(tmp_path / "call")

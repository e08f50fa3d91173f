"""Starting calls: a start that fails leaves nothing behind, and each shim is collected once it has ended."""

import errno
import fcntl
import os
import resource
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.agents import start as agents_start
from bmad_autopilot.agents.attempt import AttemptState, attempt_state
from bmad_autopilot.agents.shim import attempt_files
from bmad_autopilot.core.errors import FileError
from tests.support.agent_stubs import begin, finish, init_repository


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
    monkeypatch.setattr(agents_start, "_shims", kept)
    tree = init_repository(tmp_path / "tree")

    def start() -> None:
        kept.counted.wait(10.0)
        begin(tmp_path / "call", tree, "pass")
        kept.started.set()

    thread = threading.Thread(target=start)
    thread.start()
    agents_start.reap_shims()
    thread.join()
    assert len(kept) == 1
    finish(tmp_path / "call")


def _refuse(error: BaseException) -> Callable[..., Any]:
    def act(*_: object, **__: object) -> Any:
        raise error

    return act


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (attempt_files, "reserve_result"),
        (agents_start, "acquire_worktree_lock"),
        (agents_start, "write_call_spec"),
        (agents_start, "set_time_limit"),
        (subprocess, "Popen"),
        (fcntl, "flock"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
@pytest.mark.parametrize("kind", [OSError, KeyboardInterrupt])
def test_a_start_that_fails_releases_its_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, kind: type[BaseException]
) -> None:
    """Else the attempt looks as if it ran, and its own run waits for it."""
    tree, folder = init_repository(tmp_path / "tree"), tmp_path / "call"
    before = set(os.listdir("/proc/self/fd"))
    error = OSError(errno.ENOSPC, "No space left on device") if kind is OSError else KeyboardInterrupt()
    with monkeypatch.context() as patched:
        patched.setattr(module, name, _refuse(error))
        with pytest.raises(FileError if kind is OSError else KeyboardInterrupt):
            begin(folder, tree, "pass")
    assert set(os.listdir("/proc/self/fd")) == before
    assert attempt_state(str(folder)) is AttemptState.NEW
    begin(folder, tree, "pass")
    assert finish(folder).by == "exit"


def test_a_call_whose_result_finds_no_room_can_be_started_later(tmp_path: Path) -> None:
    """A real limit of the file system's instead of a patched function: no file may grow beyond a few bytes."""
    tree, folder = init_repository(tmp_path / "tree"), tmp_path / "call"
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, limit[1]))
    try:
        with pytest.raises(FileError, match="File too large"):
            begin(folder, tree, "pass")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert attempt_state(str(folder)) is AttemptState.NEW
    begin(folder, tree, "pass")
    assert finish(folder).by == "exit"

"""How lanes wait beside each other."""

import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from bmad_autopilot.agents.attempts import Spec
from bmad_autopilot.agents.protocol import Call
from bmad_autopilot.agents.starting import Limits, collect, start
from bmad_autopilot.agents.watching import cancel, wait_for_any
from bmad_autopilot.engine import waiting as engine_waiting
from bmad_autopilot.engine.waiting import Waiting
from tests.support import git


@pytest.fixture
def call(tmp_path: Path) -> str:
    """The folder of an agent's call that takes its time."""
    tree, folder = tmp_path / "tree", tmp_path / "call"
    tree.mkdir()
    git(tree, "init", "--quiet")
    git(tree, "commit", "--quiet", "--allow-empty", "--message", "Begin")
    spec = Spec(uuid.uuid4().hex, "stub", "dev", "1-1", "-", str(tree), (), time.time())
    sleeps = (sys.executable, "-S", "-E", "-c", "import time; time.sleep(600)")
    start(str(folder), spec, Call(sleeps), environment={}, limits=Limits(900, 900), prompt="")
    return str(folder)


def test_with_many_at_work_each_is_told_of_less_often_and_an_end_is_still_seen_at_once(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_waiting, "PROGRESS_SECONDS", 0.01)
    monkeypatch.setattr(engine_waiting, "MOST_TOLD", 100)
    slower = threading.Event()
    waits = [Waiting() for _ in range(2)]

    def told() -> None:
        if engine_waiting._pace() == 0.02:  # both wait: half as often each
            slower.set()

    threads = [threading.Thread(target=_wait, args=(one, call, told)) for one in waits]
    for thread in threads:
        thread.start()
    try:
        assert slower.wait(10)
    finally:
        cancel(call, "measured")
        wait_for_any([call], 30)
        for thread in threads:
            thread.join(10)
        collect()
    assert not any(thread.is_alive() for thread in threads)
    assert engine_waiting._pace() == 0.01, "nobody waits any more"
    for one in waits:
        one.close()


def _wait(one: Waiting, call: str, told: Callable[[], None]) -> None:
    one.for_call(call, (), told)  # ended at once, as by every new watch
    one.for_call(call, (), told)


def test_an_end_between_a_look_and_the_wait_is_looked_at_at_once(call: str, tmp_path: Path) -> None:
    one, files = Waiting(), (str(tmp_path / "board.yaml"),)
    one.for_call(call, files, None)  # ended at once, as by every new watch
    cancel(call, "over")
    wait_for_any([call], 30)
    collect()
    assert _ends(lambda: one.for_call(call, files, None)), "it is not waited for until the next rescan"
    again = threading.Thread(target=one.for_call, args=(call, files, None))
    again.start()
    again.join(0.2)
    assert again.is_alive(), "who has seen its end and waits all the same waits for the files"
    (tmp_path / "board.yaml").write_text("x")
    again.join(10)
    assert not again.is_alive()
    one.close()


def _ends(work: Callable[[], None]) -> bool:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(10)
    return not thread.is_alive()

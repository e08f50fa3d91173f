"""How lanes wait beside each other."""

import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from bmad_autopilot.agents.adapter import AgentCommand
from bmad_autopilot.agents.attempt import CallSpec
from bmad_autopilot.agents.monitor import cancel_attempt, wait_for_any
from bmad_autopilot.agents.start import TimeLimits, claim_attempt, reap_shims, start_attempt
from bmad_autopilot.engine import waiting as engine_waiting
from bmad_autopilot.engine.waiting import Waiter
from tests.support.bmad_project import git


@pytest.fixture
def call(tmp_path: Path) -> str:
    """The folder of an agent's call that takes its time."""
    tree, folder = tmp_path / "tree", tmp_path / "call"
    tree.mkdir()
    git(tree, "init", "--quiet")
    git(tree, "commit", "--quiet", "--allow-empty", "--message", "Begin")
    spec = CallSpec(uuid.uuid4().hex, "stub", "dev", "1-1", "-", str(tree), (), time.time())
    sleeps = (sys.executable, "-S", "-E", "-c", "import time; time.sleep(600)")
    with claim_attempt(str(folder), spec.worktree) as claim:
        start_attempt(claim, spec, AgentCommand(sleeps), environment={}, limits=TimeLimits(900, 900), prompt="")
    return str(folder)


def test_with_many_at_work_each_is_told_of_less_often_and_an_end_is_still_seen_at_once(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_waiting, "PROGRESS_SECONDS", 0.01)
    monkeypatch.setattr(engine_waiting, "MAX_PROGRESS_PER_SECOND", 100)
    slower = threading.Event()
    waits = [Waiter() for _ in range(2)]

    def told() -> None:
        if engine_waiting._progress_interval() == 0.02:  # both wait: half as often each
            slower.set()

    threads = [threading.Thread(target=_wait, args=(one, call, told)) for one in waits]
    for thread in threads:
        thread.start()
    try:
        assert slower.wait(10)
    finally:
        cancel_attempt(call, "measured")
        wait_for_any([call], 30)
        for thread in threads:
            thread.join(10)
        reap_shims()
    assert not any(thread.is_alive() for thread in threads)
    assert engine_waiting._progress_interval() == 0.01, "nobody waits any more"
    for one in waits:
        one.close()


def _wait(one: Waiter, call: str, told: Callable[[], None]) -> None:
    one.wait_for_call(call, (), told)  # ended at once, as by every new watch
    one.wait_for_call(call, (), told)


def test_an_end_between_a_look_and_the_wait_is_looked_at_at_once(call: str, tmp_path: Path) -> None:
    one, files = Waiter(), (str(tmp_path / "board.yaml"),)
    one.wait_for_call(call, files, None)  # ended at once, as by every new watch
    cancel_attempt(call, "over")
    wait_for_any([call], 30)
    reap_shims()
    assert _ends(lambda: one.wait_for_call(call, files, None)), "it is not waited for until the next rescan"
    again = threading.Thread(target=one.wait_for_call, args=(call, files, None))
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

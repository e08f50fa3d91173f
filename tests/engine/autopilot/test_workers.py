"""Lanes driven beside each other."""

import threading
from typing import Any, cast

from bmad_autopilot.engine.autopilot.workers import (
    InlineWorker,
    LaneResult,
    LaneWaiter,
    ThreadWorkers,
    Workers,
)
from bmad_autopilot.engine.runner import RunEnd
from bmad_autopilot.engine.waiting import Waiter

ENDED = cast(RunEnd, "ended")


def wait_for(crew: Workers, woken: threading.Semaphore, count: int = 1) -> list[LaneResult]:
    found: list[LaneResult] = []
    while len(found) < count:
        assert woken.acquire(timeout=30)
        found += crew.take_completed()
    return found


def test_alone_it_is_over_when_it_was_started() -> None:
    crew, seen = InlineWorker(), []

    def work(waiting: LaneWaiter | None) -> RunEnd:
        seen.append(waiting)
        return ENDED

    crew.start("a", work)
    assert seen == [None]
    assert crew.take_completed() == [LaneResult("a", ENDED)]
    assert crew.take_completed() == []


def test_beside_each_other_each_comes_back_when_it_ends() -> None:
    woken = threading.Semaphore(0)
    crew = ThreadWorkers(woken.release)
    first = threading.Event()

    def slow(waiting: LaneWaiter | None) -> RunEnd:
        assert first.wait(30)
        return ENDED

    crew.start("slow", slow)
    crew.start("quick", lambda waiting: ENDED)
    assert [drove.key for drove in wait_for(crew, woken)] == ["quick"]
    assert crew.active_lanes == {"slow"}
    first.set()
    assert [drove.key for drove in wait_for(crew, woken)] == ["slow"]
    assert crew.active_lanes == frozenset()


def test_what_breaks_off_is_told_and_holds_nobody_up() -> None:
    woken = threading.Semaphore(0)
    crew = ThreadWorkers(woken.release)

    def broken(waiting: LaneWaiter | None) -> RunEnd:
        raise RuntimeError("the disk is full")

    crew.start("a", broken)
    (drove,) = wait_for(crew, woken)
    assert (drove.end, str(drove.error)) == (None, "the disk is full")
    assert "in broken" in drove.trace
    crew.start("a", lambda waiting: ENDED)
    (drove,) = wait_for(crew, woken)
    assert drove.end == ENDED


def test_all_are_told_to_stop_also_those_begun_after() -> None:
    woken = threading.Semaphore(0)
    crew = ThreadWorkers(woken.release)

    def until_stopped(waiting: LaneWaiter | None) -> Any:
        assert isinstance(waiting, Waiter)
        assert waiting.wait_for_second_stop(30)
        return ENDED

    crew.start("a", until_stopped)
    crew.stop(2)
    crew.start("b", until_stopped)
    assert {drove.key for drove in wait_for(crew, woken, 2)} == {"a", "b"}
    assert crew.join(30)


def test_a_wait_that_is_over_can_be_poked_and_closed_again() -> None:
    waiting = Waiter()
    waiting.close()
    waiting.wake()
    waiting.close()


def test_a_pause_ends_when_somebody_asks_to_stop() -> None:
    woken = threading.Semaphore(0)
    crew = ThreadWorkers(woken.release)
    crew.start("later", lambda waiting: ENDED, 3600.0)
    crew.start("now", lambda waiting: ENDED)
    assert [drove.key for drove in wait_for(crew, woken)] == ["now"]
    crew.wake()
    assert crew.active_lanes == {"later"}
    crew.stop(1)
    assert [drove.key for drove in wait_for(crew, woken)] == ["later"]

"""At most so many at once, and of those that wait the one that comes first."""

import threading
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.engine.slots import SlotHandle, SlotPool


def slots(count: int) -> SlotPool:
    return SlotPool(count, min)


def nothing() -> None: ...


def test_as_many_as_there_are() -> None:
    two = slots(2)
    assert two.acquire("a")
    assert two.acquire("b")
    assert not two.is_free("c")
    assert not two.acquire("c")
    assert two.is_free("a")  # it has one
    two.release("a")
    assert two.acquire("c")
    assert two.holders == {"b", "c"}


def test_what_is_under_way_counts_though_there_was_no_slot_for_it() -> None:
    one = slots(1)
    assert one.acquire("a")
    assert one.acquire("b", force=True)
    one.release("a")
    assert not one.is_free("c")


def test_who_waits_is_woken_in_the_order_of_ranks_and_nobody_is_quicker() -> None:
    one, woken = slots(1), []
    assert one.acquire("d")
    for lane in ("c", "b"):
        one.request(lane, lambda lane=lane: woken.append(lane))  # type: ignore[misc]
    one.release("d")
    assert woken == ["b"]
    assert not one.acquire("c")
    assert not one.acquire("d")
    assert one.acquire("a")  # comes before all of them
    one.release("a")
    assert one.acquire("b")
    one.release("b")
    assert woken == ["b", "b", "c"]


def test_who_wants_what_is_free_is_woken_at_once() -> None:
    woken: list[str] = []
    slots(1).request("a", lambda: woken.append("a"))
    assert woken == ["a"]


def test_who_leaves_waits_no_more() -> None:
    one = slots(1)
    one.request("a", nothing)
    assert not one.acquire("b")
    one.release("a")
    assert one.acquire("b")


def test_without_others_nothing_is_waited_for() -> None:
    alone = SlotHandle()
    assert alone.is_free()
    assert alone.acquire()
    alone.request(nothing)
    alone.release()


def test_a_seat_may_have_somebody_else_woken() -> None:
    one, woken = slots(1), []
    assert SlotHandle(one, "a").acquire()
    SlotHandle(one, "b", lambda: woken.append("supervisor")).request(lambda: woken.append("b"))
    SlotHandle(one, "a").release()
    assert woken == ["supervisor"]


@given(
    st.integers(1, 4), st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(["take", "want", "back"])))
)
def test_there_are_never_more_and_none_is_left_idle(count: int, moves: list[tuple[str, str]]) -> None:
    few = slots(count)
    wanting: set[str] = set()
    for lane, move in moves:
        if move == "take" and few.acquire(lane):
            wanting.discard(lane)
        elif move == "want" and lane not in few.holders:
            few.request(lane, nothing)
            wanting.add(lane)
        elif move == "back":
            few.release(lane)
            wanting.discard(lane)
        assert len(few.holders) <= count
        if wanting and len(few.holders) < count:
            assert few.is_free(min(wanting))


def test_many_threads_take_turns() -> None:
    two, at_once, most = slots(2), 0, 0
    guard = threading.Lock()

    def work(lane: str) -> None:
        nonlocal at_once, most
        ready = threading.Event()
        for _ in range(20):
            while not two.acquire(lane):
                ready.clear()
                two.request(lane, ready.set)
                assert ready.wait(30)
            with guard:
                at_once += 1
                most = max(most, at_once)
            with guard:
                at_once -= 1
            two.release(lane)

    threads: list[threading.Thread] = []
    start: Callable[[str], threading.Thread] = lambda lane: threading.Thread(target=work, args=(lane,))  # noqa: E731
    threads = [start(lane) for lane in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert most <= 2

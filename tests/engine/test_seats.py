"""At most so many at once, and of those that wait the one that comes first."""

import threading
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.engine.seats import Seat, Slots


def slots(count: int) -> Slots:
    return Slots(count, min)


def nothing() -> None: ...


def test_as_many_as_there_are() -> None:
    two = slots(2)
    assert two.take("a")
    assert two.take("b")
    assert not two.is_free("c")
    assert not two.take("c")
    assert two.is_free("a")  # it has one
    two.give_back("a")
    assert two.take("c")
    assert two.held == {"b", "c"}


def test_what_is_under_way_counts_though_there_was_no_slot_for_it() -> None:
    one = slots(1)
    assert one.take("a")
    assert one.take("b", anyway=True)
    one.give_back("a")
    assert not one.is_free("c")


def test_who_waits_is_woken_in_the_order_of_ranks_and_nobody_is_quicker() -> None:
    one, woken = slots(1), []
    assert one.take("d")
    for lane in ("c", "b"):
        one.want(lane, lambda lane=lane: woken.append(lane))  # type: ignore[misc]
    one.give_back("d")
    assert woken == ["b"]
    assert not one.take("c")
    assert not one.take("d")
    assert one.take("a")  # comes before all of them
    one.give_back("a")
    assert one.take("b")
    one.give_back("b")
    assert woken == ["b", "b", "c"]


def test_who_wants_what_is_free_is_woken_at_once() -> None:
    woken: list[str] = []
    slots(1).want("a", lambda: woken.append("a"))
    assert woken == ["a"]


def test_who_leaves_waits_no_more() -> None:
    one = slots(1)
    one.want("a", nothing)
    assert not one.take("b")
    one.give_back("a")
    assert one.take("b")


def test_without_others_nothing_is_waited_for() -> None:
    alone = Seat()
    assert alone.is_free()
    assert alone.take()
    alone.want(nothing)
    alone.give_back()


def test_a_seat_may_have_somebody_else_woken() -> None:
    one, woken = slots(1), []
    assert Seat(one, "a").take()
    Seat(one, "b", lambda: woken.append("supervisor")).want(lambda: woken.append("b"))
    Seat(one, "a").give_back()
    assert woken == ["supervisor"]


@given(
    st.integers(1, 4), st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(["take", "want", "back"])))
)
def test_there_are_never_more_and_none_is_left_idle(count: int, moves: list[tuple[str, str]]) -> None:
    few = slots(count)
    wanting: set[str] = set()
    for lane, move in moves:
        if move == "take" and few.take(lane):
            wanting.discard(lane)
        elif move == "want" and lane not in few.held:
            few.want(lane, nothing)
            wanting.add(lane)
        elif move == "back":
            few.give_back(lane)
            wanting.discard(lane)
        assert len(few.held) <= count
        if wanting and len(few.held) < count:
            assert few.is_free(min(wanting))


def test_many_threads_take_turns() -> None:
    two, at_once, most = slots(2), 0, 0
    guard = threading.Lock()

    def work(lane: str) -> None:
        nonlocal at_once, most
        ready = threading.Event()
        for _ in range(20):
            while not two.take(lane):
                ready.clear()
                two.want(lane, ready.set)
                assert ready.wait(30)
            with guard:
                at_once += 1
                most = max(most, at_once)
            with guard:
                at_once -= 1
            two.give_back(lane)

    threads: list[threading.Thread] = []
    start: Callable[[str], threading.Thread] = lambda lane: threading.Thread(target=work, args=(lane,))  # noqa: E731
    threads = [start(lane) for lane in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert most <= 2

"""Which lane's agent is started first when a slot is free."""

from bmad_autopilot.core.graph import Edge, Graph, Source, build
from bmad_autopilot.engine.autopilot.ranking import Ranking


def chain() -> Graph:
    """1 waits for nobody; 3 waits for 2."""
    return build(("1", "2", "3"), (Edge("3", "2", Source.SETTINGS),))


def ranking(slots: int = 2, *, mending_first: bool = True) -> Ranking:
    found = Ranking(slots, mending_first=mending_first, seconds=lambda step: 1.0)
    found.know(chain(), {"1": 2, "2": 2, "3": 2})
    for number in ("1", "2"):
        found.begin(f"epic-{number}", number, 2)
    return found


def test_what_most_hangs_on_comes_first() -> None:
    assert ranking().first(["epic-1", "epic-2"]) == "epic-2"


def test_what_mends_a_pull_request_comes_before_it() -> None:
    found = ranking()
    found.heard("epic-1", "pull-round", "")
    assert found.first(["epic-1", "epic-2"]) == "epic-1"
    found.heard("epic-1", "pending", "")
    assert found.first(["epic-1", "epic-2"]) == "epic-2"


def test_unless_the_settings_say_otherwise() -> None:
    found = ranking(mending_first=False)
    found.heard("epic-1", "pull-round", "")
    assert found.first(["epic-1", "epic-2"]) == "epic-2"


def test_steps_that_are_done_hang_on_nobody() -> None:
    """Of lanes under way we have heard more than the board of the base knows."""
    found = Ranking(2, mending_first=True, seconds=lambda step: 1.0)
    found.know(build(("1", "2"), ()), {"1": 3, "2": 2})
    found.begin("epic-1", "1", 3)
    found.begin("epic-2", "2", 2)
    assert found.first(["epic-1", "epic-2"]) == "epic-1"
    for _ in range(2):
        found.heard("epic-1", "accepted", "dev")
    assert found.first(["epic-1", "epic-2"]) == "epic-2"
    found.know(build(("1", "2"), ()), {"1": 3, "2": 2})
    assert found.first(["epic-1", "epic-2"]) == "epic-2"


def test_a_lane_that_nobody_has_told_of_has_a_place_too() -> None:
    assert ranking().first(["epic-9"]) == "epic-9"

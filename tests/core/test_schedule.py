"""Which epic comes next."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.rules import Phase
from bmad_autopilot.core.schedule import Candidate, Choice, LaneView, Stage, choose_lane, is_vacant, matches

ONE, TWO = Candidate("epic-1", "1", "Sign in"), Candidate("epic-2", "2", "Sign out")


def lane(key: str, stage: Stage, *, delivered: bool = True, until: float | None = None) -> LaneView:
    return LaneView(key, stage, delivered, until)


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        ([], True),
        (["1"], True),
        (["^1$"], True),
        (["sign"], True),
        (["SIGN IN"], True),
        (["^epic-1$"], True),
        (["s.gn (in|on)$"], True),
        (["2"], False),
        (["2", "in"], True),
        (["^sign$"], False),
        (["(?-i:SIGN)"], False),
    ],
)
def test_a_pattern_is_looked_for_in_number_key_and_title_in_any_case(patterns: list[str], found: bool) -> None:
    assert matches(patterns, ONE) is found


def test_an_epic_without_a_title_matches_no_pattern_of_nothing() -> None:
    assert not matches(["^$"], Candidate("epic-1", "1", ""))


@pytest.mark.parametrize(
    ("lanes", "epics", "choice"),
    [
        ([], [], Choice(Phase.DONE)),
        ([], [ONE, TWO], Choice(Phase.FIND_EPIC, "epic-1")),
        ([], [TWO, ONE], Choice(Phase.FIND_EPIC, "epic-2")),  # in the order in which they are given
        ([lane("a", Stage.WAITS)], [ONE], Choice(Phase.FIND_EPIC, "epic-1")),
        ([lane("a", Stage.WAITS)], [], Choice(Phase.WAIT_COPILOT, "a")),
        ([lane("a", Stage.WAITS), lane("b", Stage.MOVED)], [ONE], Choice(Phase.CHECK_PENDING_PR, "b")),
        (
            [lane("a", Stage.WORK, delivered=False), lane("b", Stage.MOVED)],
            [],
            Choice(Phase.CHECK_PENDING_PR, "b"),
        ),
        ([lane("a", Stage.WORK, delivered=False)], [ONE], Choice(Phase.DEVELOP_STORIES, "a")),
        ([lane("a", Stage.ASKS, delivered=False)], [ONE], Choice(Phase.BLOCKED, "a")),  # its work lies here
        ([lane("a", Stage.BLOCKED, delivered=False)], [ONE], Choice(Phase.BLOCKED, "a")),
        ([lane("a", Stage.ASKS)], [ONE], Choice(Phase.FIND_EPIC, "epic-1")),
        ([lane("a", Stage.BLOCKED), lane("b", Stage.WAITS)], [], Choice(Phase.WAIT_COPILOT, "b")),
        ([lane("a", Stage.BLOCKED)], [], Choice(Phase.BLOCKED, "a")),
    ],
)
def test_what_comes_next(lanes: list[LaneView], epics: list[Candidate], choice: Choice) -> None:
    assert choose_lane(lanes, epics, most=5, room=is_vacant(lanes)) == choice


def test_no_other_epic_is_begun_while_as_many_as_allowed_are_pending() -> None:
    pending = [lane("a", Stage.WAITS), lane("b", Stage.ASKS)]
    assert choose_lane(pending, [ONE], most=2, room=True).phase is Phase.WAIT_COPILOT
    assert choose_lane(pending, [ONE], most=3, room=True).phase is Phase.FIND_EPIC


@pytest.mark.parametrize("stage", [Stage.WORK, Stage.MOVED])
def test_whose_agent_is_at_work_comes_first(stage: Stage) -> None:
    """Another may switch the checkout to its own branch under it."""
    busy = lane("epic-2", stage, delivered=False)._replace(is_busy=True)
    assert choose_lane([lane("epic-1", Stage.MOVED), busy], [], most=5, room=True).key == "epic-2"
    asks = busy._replace(stage=Stage.ASKS)
    assert choose_lane([lane("epic-1", Stage.MOVED), asks], [], most=5, room=True).key == "epic-1"


def test_a_wait_ends_with_the_first_of_its_times() -> None:
    waits = [lane("a", Stage.WAITS, until=90.0), lane("b", Stage.WAITS, until=50.0), lane("c", Stage.WAITS)]
    assert choose_lane(waits, [], most=5, room=True).until == 50.0
    assert choose_lane(waits[2:], [], most=5, room=True).until is None


lanes = st.lists(st.builds(LaneView, st.sampled_from("abcde"), st.sampled_from(Stage), st.booleans()), max_size=6)


@given(lanes, st.lists(st.sampled_from([ONE, TWO]), max_size=2), st.integers(1, 5))
def test_it_is_done_only_when_nothing_is_left(found: list[LaneView], epics: list[Candidate], most: int) -> None:
    choice = choose_lane(found, epics, most=most, room=is_vacant(found))
    assert (choice.phase is Phase.DONE) == (not found and not epics)
    begins = choice.phase is Phase.FIND_EPIC
    assert not begins or (all(one.is_delivered for one in found) and len(found) < most)


def test_a_choice_of_none_names_none() -> None:
    assert choose_lane([], [], most=1, room=True) == (Phase.DONE, "", None)


def test_phases_are_called_as_in_the_bash_autopilots_state_file() -> None:
    assert [phase.value for phase in Phase] == [
        "CHECK_PENDING_PR",
        "FIND_EPIC",
        "CREATE_BRANCH",
        "DEVELOP_STORIES",
        "CODE_REVIEW",
        "CREATE_PR",
        "WAIT_COPILOT",
        "FIX_ISSUES",
        "MERGE_PR",
        "BLOCKED",
        "DONE",
    ]


def test_those_that_somebody_drives_count_as_well() -> None:
    assert choose_lane([], [ONE], most=3, room=True, driven=2).phase is Phase.FIND_EPIC
    assert choose_lane([], [ONE], most=3, room=True, driven=3).phase is Phase.DONE


def test_without_room_nothing_is_begun() -> None:
    assert choose_lane([lane("a", Stage.WAITS)], [ONE], most=5, room=False).phase is Phase.WAIT_COPILOT

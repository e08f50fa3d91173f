"""What comes next: BMAD's priority, in natural order."""

from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.next_action import PRIORITY, Action, SprintStatus, get_next_action
from bmad_autopilot.core.results import EpicResult, ExecutionResult, StoryResult


def status(stories: dict[str, str], epics: dict[str, str] | None = None) -> SprintStatus:
    return SprintStatus(epics=epics or {}, stories=stories, counts={})


def chosen(stories: dict[str, str], epics: dict[str, str] | None = None) -> tuple[str, str] | None:
    action = get_next_action(status(stories, epics))
    return (action.type, action.story_id) if action else None


def test_what_is_under_way_comes_before_anything_new() -> None:
    rows = {"1-1-a": "backlog", "1-2-b": "ready-for-dev", "1-3-c": "review", "1-4-d": "in-progress"}
    order = []
    while (found := chosen(rows)) is not None:
        order.append(found)
        rows[found[1]] = "done"
    assert order == [
        ("dev-story", "1-4-d"),
        ("code-review", "1-3-c"),
        ("dev-story", "1-2-b"),
        ("create-story", "1-1-a"),
    ]


def test_ten_comes_after_two() -> None:
    assert chosen({"1-10-x": "backlog", "1-2-y": "backlog"}) == ("create-story", "1-2-y")


def test_nothing_is_next_when_all_are_done_or_there_are_none() -> None:
    assert chosen({"1-1-a": "done", "1-2-b": "completed"}) is None
    assert chosen({}) is None


def test_a_parked_story_does_not_hold_up_the_next_one() -> None:
    assert chosen({"1-1-a": "blocked", "1-2-b": "backlog"}) == ("create-story", "1-2-b")


def test_nothing_is_started_in_a_parked_epic() -> None:
    rows = {"1-1-a": "backlog", "2-1-b": "backlog"}
    assert chosen(rows, {"epic-1": "deferred", "epic-2": "backlog"}) == ("create-story", "2-1-b")


def test_an_optional_epic_waits_until_somebody_wants_it() -> None:
    assert chosen({"1-1-a": "backlog"}, {"epic-1": "optional"}) is None


def test_an_unknown_status_is_left_alone() -> None:
    assert chosen({"1-1-a": "deployed"}) is None


def test_legacy_words_count_as_what_they_mean() -> None:
    assert chosen({"1-1-a": "drafted"}) == ("dev-story", "1-1-a")


def test_the_action_names_the_skill_and_its_story() -> None:
    action = get_next_action(status({"1-1-a": "review"}))
    assert action is not None
    assert action.skill == "bmad:bmm:workflows:code-review"
    assert action.context == {"story_id": "1-1-a", "status": "review"}


_words = st.sampled_from(["backlog", "ready-for-dev", "in-progress", "review", "done", "blocked", "odd"])


@given(st.dictionaries(st.tuples(st.integers(1, 12), st.integers(1, 12)), _words, max_size=12))
def test_the_choice_is_the_first_of_the_most_urgent(rows: dict[tuple[int, int], str]) -> None:
    action = get_next_action(status({f"{e}-{s}-x": word for (e, s), word in rows.items()}))
    urgent = [sorted(n for n, word in rows.items() if word == wanted) for wanted, _ in PRIORITY]
    expected = next((found[0] for found in urgent if found), None)
    assert (action.story_id if action else None) == (f"{expected[0]}-{expected[1]}-x" if expected else None)


def test_records_need_no_more_than_what_is_known():
    assert Action("dev-story", "1-2", "skill").context == {}
    assert SprintStatus({}, {}, {}).retrospectives == {}
    result = ExecutionResult("success", "1-2")
    assert (result.exit_code, result.outcome, result.message) == (None, "", "")
    assert StoryResult("1-2", "done").results == ()
    assert EpicResult("1", "done").stories == ()


def test_an_optional_story_waits_until_somebody_wants_it():
    assert get_next_action(SprintStatus({}, {"1-1-a": "optional"}, {})) is None
    found = get_next_action(SprintStatus({}, {"1-1-a": "optional", "1-2-b": "backlog"}, {}))
    assert found is not None
    assert (found.story_id, found.context) == ("1-2-b", {"story_id": "1-2-b", "status": "backlog"})

"""Keys are cut into numbers as the board's own epics say, and sort as people count."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core import key_variants
from bmad_autopilot.core.keys import identify, natural_order, normalize_number
from bmad_autopilot.core.statuses import (
    RowKind,
)


def numbers(*keys: str) -> dict[str, tuple[str, str | None, str]]:
    return {key: (row.kind.value, row.epic, row.number) for key, row in identify(keys).items()}


@pytest.mark.parametrize(
    ("keys", "key", "expected"),
    [
        (["epic-1"], "1-2-account-management", ("story", "1", "1.2")),
        (["epic-1"], "1-4b-second-half", ("story", "1", "1.4b")),
        (["epic-3"], "3-2-24-hour-digest", ("story", "3", "3.2")),
        (["epic-0-5"], "0-5-1-safety-contact", ("story", "0.5", "0.5.1")),
        (["epic-0-5"], "0-5-7-72-hour-notice", ("story", "0.5", "0.5.7")),
        (["epic-0", "epic-0-5"], "0-5-user-login", ("story", "0", "0.5")),
        (["epic-0"], "0-5-1-still-epic-zero", ("story", "0", "0.5")),
        (["epic-2.5"], "2.5-1-bridge", ("story", "2.5", "2.5.1")),
        (["epic-1a"], "1a-3-protocol", ("story", "1a", "1a.3")),
        (["epic-1a-plus"], "1a-plus-1-extra", ("story", "1a.plus", "1a.plus.1")),
        (["epic-15"], "15-TD-1-debt", ("story", "15", "15.td.1")),
        (["epic-15"], "15-R1-rework", ("story", "15", "15.r1")),
        (["epic-15b"], "15b-b0-cycles", ("story", "15b", "15b.b0")),
        (["epic-15b"], "TD-15b-2a-items", ("story", "15b", "15b.td.2a")),
        (["orch-epic-1"], "orch-1-1-init", ("story", "orch.1", "orch.1.1")),
        (["epic-dm-01"], "dm-01-1-model", ("story", "dm.1", "dm.1.1")),
        (["epic-fill-confirm"], "fill-confirm-1-form", ("story", "fill.confirm", "fill.confirm.1")),
        ([], "7-2-no-row-for-its-epic", ("story", "7", "7.2")),
        ([], "01-02-zeros", ("story", "1", "1.2")),
        ([], "debug-1-trace", ("story", None, "debug.1")),
        ([], "deferred-work", ("other", None, "deferred-work")),
        (["epic-2"], "2-3-close-epic-1-bugs", ("story", "2", "2.3")),
        ([], "epic-3-retrospective", ("retrospective", "3", "3")),
        ([], "orch-epic-3-retrospective", ("retrospective", "orch.3", "orch.3")),
        ([], "epic-14c", ("epic", "14c", "14c")),
        (["epic-1"], "1-1-项目结构初始化", ("story", "1", "1.1")),
    ],
)
def test_a_key_is_cut_as_its_board_declares(
    keys: list[str], key: str, expected: tuple[str, str | None, str]
) -> None:
    assert numbers(*keys, key)[key] == expected


def test_one_more_number_is_read_where_stories_would_share_one() -> None:
    found = numbers("epic-1", "1-0-1-scaffold", "1-0-2-shell", "1-1-sign-in")
    assert [row[2] for row in found.values()] == ["1", "1.0.1", "1.0.2", "1.1"]


def test_stories_that_really_share_a_number_keep_it() -> None:
    found = numbers("1-2-sign-in", "1-2-sign-out", "1-2-3-day-trial")
    assert {row[2] for row in found.values()} == {"1.2"}


def test_one_more_number_must_tell_all_of_them_apart() -> None:
    found = numbers("1-2-3-day-trial", "1-2-3-week-trial", "1-2-4-x")
    assert {row[2] for row in found.values()} == {"1.2"}


def test_what_cannot_be_told_apart_does_not_keep_others_from_it() -> None:
    found = numbers("1-2-a", "1-2-b", "2-0-1-x", "2-0-2-y")
    assert [row[2] for row in found.values()] == ["1.2", "1.2", "2.0.1", "2.0.2"]


def test_stories_with_one_more_number_are_in_order_too() -> None:
    keys = ["1-0-1-a", "1-0-2-b", "1-0-10-c", "1-1-d", "2-0-1-e", "2-0-2-f"]
    rows = identify(keys)
    shuffled = sorted(keys, key=len)
    shuffled.sort(key=lambda key: rows[key].order)
    assert shuffled == keys


def test_a_retrospective_declares_no_epic() -> None:
    assert numbers("epic-0-5-retrospective", "0-5-1-x")["0-5-1-x"] == ("story", "0", "0.5")


def test_digits_that_are_no_numbers() -> None:
    found = numbers("1-0-²-a", "1-0-³-b", "1-①-c")
    assert found["1-0-²-a"][2] == found["1-0-³-b"][2] == "1.0"


def test_natural_order() -> None:
    keys = (
        "epic-1 1-1-a 1-2-b 1-4-c 1-4b-d 1-10-e epic-1-retrospective epic-1a 1a-1-x epic-2 2-1-x "
        "epic-2.5 2.5-1-x epic-3 epic-10 10-1-x epic-x x-1-y debug-1-z notes"
    ).split()
    rows = identify(keys)
    shuffled = list(reversed(keys))
    shuffled.sort(key=lambda key: rows[key].order)
    assert shuffled == keys


def test_numbers_are_equal_whatever_the_separator_and_case() -> None:
    assert normalize_number("0-5") == normalize_number("0.5") == normalize_number("00·5") == "0.5"
    assert normalize_number("1A") == "1a"


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6), st.sampled_from(["", "a", "b"])), unique=True)
)
def test_official_keys_give_their_numbers_in_order(parts: list[tuple[int, int, str]]) -> None:
    keys = [f"{epic}-{story}{suffix}-slug" for epic, story, suffix in parts]
    rows = identify(keys)
    assert [rows[key].number for key in keys] == [f"{e}.{s}{x}" for e, s, x in parts]
    assert sorted(keys, key=lambda key: rows[key].order) == [
        f"{epic}-{story}{suffix}-slug" for epic, story, suffix in sorted(parts)
    ]


@given(st.lists(st.text(max_size=30), max_size=12))
def test_any_keys_are_identified_and_comparable(keys: list[str]) -> None:
    rows = identify(keys)
    assert rows.keys() == set(keys)
    sorted(rows.values(), key=lambda row: row.order)


@given(
    st.lists(
        st.from_regex(r"(epic-)?[0-9a-z]{1,3}(-[0-9a-z]{1,4}){0,4}(-retrospective)?", fullmatch=True), max_size=9
    )
)
def test_near_keys_are_identified_the_same_alone_or_with_an_odd_neighbour(keys: list[str]) -> None:
    """The quick way for regular boards and the careful way agree."""
    quick = identify(keys)
    careful = identify([*keys, "epic-zz.9"])
    for key in keys:
        assert quick[key] == careful[key]


def test_order_key_of_a_huge_number_stays_bounded() -> None:
    assert natural_order("9" * 5000) == (int("9" * 18), "")


def test_kinds() -> None:
    kinds = {key: row.kind for key, row in identify(["epic-1", "1-1-a", "epic-1-retro", "x"]).items()}
    assert list(kinds.values()) == [RowKind.EPIC, RowKind.STORY, RowKind.RETROSPECTIVE, RowKind.OTHER]


def in_order(items: list[str], key: Callable[[str], Any]) -> list[str]:
    found = list(items)
    found.reverse()
    return sorted(found, key=key)


# Regular boards take the quick way: the careful one gives the same, and costs a start-up what it must not.
@pytest.mark.parametrize(
    "keys",
    [
        ["epic-1", "1-1-a", "1-2-b", "epic-1-retrospective"],
        ["epic-1", "1-4-a", "1-4b-c", "epic-10", "10-0-x"],
        [],
    ],
)
def test_regular_keys_need_no_careful_look(keys, monkeypatch):
    expected = key_variants.identify_irregular(keys)
    monkeypatch.setattr(key_variants, "identify_irregular", None)
    assert identify(keys) == expected


@pytest.mark.parametrize("keys", [["1-1-a", "odd"], ["1-1-a", "1-1-b"], ["epic-1a"], ["01-1-a"]])
def test_other_keys_do(keys, monkeypatch):
    monkeypatch.setattr(key_variants, "identify_irregular", None)
    with pytest.raises(TypeError):
        identify(keys)


@pytest.mark.parametrize(
    ("text", "number"),
    [("0-5", "0.5"), ("01", "1"), ("00", "0"), ("1A", "1a"), ("0x", "0x"), ("100", "100"), (" 1_2·3 ", "1.2.3")],
)
def test_the_number_of_a_label(text, number):
    assert normalize_number(text) == number


def test_numbers_sort_as_people_count():
    numbers = ["1", "1.2", "1.4", "1.4b", "1.10", "1.td.1", "2", "2.5", "10", "a"]
    assert in_order(numbers, natural_order) == numbers


def test_rows_without_a_number_come_last_and_retrospectives_after_the_stories():
    keys = ["epic-1", "1-1-a", "1-td-1-b", "epic-1-retrospective", "epic-2", "debug-1-x", "zebra"]
    rows = identify(keys)
    assert in_order(keys, lambda key: rows[key].order) == keys
    regular = ["epic-1", "1-1-a", "epic-1-retrospective", "epic-2", "2-1-b"]
    rows = identify(regular)
    assert in_order(regular, lambda key: rows[key].order) == regular


@pytest.mark.parametrize(
    ("keys", "key", "number"),
    [
        ([], "Epic-3-Retro", "3"),
        ([], "EPIC-4", "4"),
        ([], "sprint-2-retrospective", "sprint.2"),
        (["epic-7"], "7-2.5-x", "7.2.5"),
        (["epic-7"], "a-b-7-3-x", "7.a.b.3"),
        (["epic-a-b-c-d"], "a-b-c-d-1-x", "a.b.c.d.1"),
        ([], "a-b-c-1", "a.b.c.1"),
        ([], "a-b-c-d-1", "a-b-c-d-1"),
        ([], "7-3", "7.3"),
        ([], "7", "7"),
        (["epic-7"], "7-abc-1-x", "7.abc.1"),
        (["epic-7"], "7-td-1", "7.td.1"),
        (["epic-7"], "7-abcd-1-x", "7"),
        (["epic-3-retro"], "1-2-x", "1.2"),
        ([], "1-0-0-x", "1.0"),
    ],
)
def test_further_keys(keys, key, number):
    assert identify([*keys, key])[key].number == number


@pytest.mark.parametrize("epic", ["a", "a-b", "a-b-c", "a-b-c-d"])
def test_an_epic_may_have_up_to_four_words(epic):
    row = identify([f"epic-{epic}", f"{epic}-1-x"])[f"{epic}-1-x"]
    assert (row.epic, row.number) == (epic.replace("-", "."), f"{epic.replace('-', '.')}.1")


def test_a_number_further_on_may_have_zeros():
    rows = identify(["1-0-00-a", "1-0-02-b"])
    assert [row.number for row in rows.values()] == ["1.0.0", "1.0.2"]
    assert [row.number for row in identify(["1-0-1", "1-0-2-b"]).values()] == ["1.0", "1.0"]


def test_numbers_shared_by_some_do_not_keep_others_from_being_told_apart():
    keys = ["1-1-a", "3-0-1-x", "3-0-2-y", "3-0-10-z", "odd"]
    rows = identify(keys)
    assert [row.number for row in rows.values()] == ["1.1", "3.0.1", "3.0.2", "3.0.10", "odd"]
    assert in_order(keys, lambda key: rows[key].order) == keys

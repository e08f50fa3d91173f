"""deferred-work.md: what each branch appended is kept, once."""

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.board import three_way
from bmad_autopilot.board.merge_files import merge_deferred

BASE = "# Deferred\n\n## From 1-1\n\n- a\n"
ONE = "\n## From 1-2\n\n- b\n- c\n"
OTHER = "\n## From 2-1\n\n- d\n  and more of it\n"


def merged(base: str | None, ours: str, theirs: str) -> str | None:
    found = merge_deferred(base.encode() if base is not None else None, ours.encode(), theirs.encode())
    return found.decode() if found is not None else None


def test_both_sides_append() -> None:
    assert merged(BASE, BASE + ONE, BASE + OTHER) == BASE + ONE + OTHER
    assert merged(BASE, BASE, BASE + OTHER) == BASE + OTHER


def test_what_both_have_is_there_once() -> None:
    assert merged(BASE, BASE + ONE, BASE + ONE + OTHER) == BASE + ONE + OTHER
    assert merged(BASE, BASE + ONE, BASE + ONE.replace("- c", "- e")) == BASE + ONE + "- e\n"


def test_entries_go_under_their_own_heading() -> None:
    theirs = ONE.replace("- b\n- c", "- e") + OTHER
    assert merged(BASE, BASE + ONE + "\n## Last\n\n- z\n", BASE + theirs) == (
        f"{BASE}{ONE}- e\n\n## Last\n\n- z\n{OTHER}"
    )


def test_both_sides_began_the_file() -> None:
    assert merged(None, BASE, BASE + ONE) == BASE + ONE
    assert merged(None, BASE, BASE.replace("1-1", "9-9")) == f"{BASE}\n## From 9-9\n\n- a\n"


def test_an_entry_is_ticked_while_the_other_side_appends() -> None:
    ticked = BASE.replace("- a", "- [x] a")
    assert merged(BASE, ticked, BASE + OTHER) == merged(BASE, BASE + OTHER, ticked) == ticked + OTHER


def test_two_edits_of_one_entry_are_left_to_a_person() -> None:
    assert merged(BASE, BASE.replace("- a", "- b"), BASE.replace("- a", "- c")) is None


def test_a_file_without_a_last_line_end() -> None:
    assert merged("- a", "- a\n- b", "- a\n- c\n") == "- a\n- b\n- c\n"


def test_a_file_too_long_to_compare_is_left_to_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(three_way, "MAX_LINES", 5)
    assert merged(BASE, BASE + ONE, BASE) is None


_ITEMS = st.lists(st.integers(0, 30), max_size=6)


@given(_ITEMS, st.lists(st.tuples(st.integers(1, 4), _ITEMS), max_size=3), st.data())
def test_no_entry_is_lost(base: list[int], ours: list[tuple[int, list[int]]], data: st.DataObject) -> None:
    theirs = data.draw(st.lists(st.tuples(st.integers(1, 4), _ITEMS), max_size=3))
    start = "# Deferred\n" + "".join(f"- {item}\n" for item in base)
    mine, other = (
        start + "".join(f"\n## From {head}\n\n" + "".join(f"- {item}\n" for item in items) for head, items in side)
        for side in (ours, theirs)
    )
    found = merged(start, mine, other)
    assert found is not None
    assert set(found.split("\n")) == set(chain(mine.split("\n"), other.split("\n")))


@given(st.binary(max_size=60), st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes_give_an_answer(base: bytes, ours: bytes, theirs: bytes) -> None:
    found = merge_deferred(base, ours, theirs)
    assert found is None or isinstance(found, bytes)
    assert merge_deferred(base, ours, base) in (ours, ours.rstrip(b"\n"), ours.rstrip(b"\n") + b"\n")

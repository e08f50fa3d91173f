"""Rows of the board: an agent's own is a claim, another's is not its to move."""

import pytest

from bmad_autopilot.gates.rows import Moved, as_before, moved_rows, strayed_rows, with_rows_back
from bmad_autopilot.gates.work import judge_work
from tests.gates.looks import codes, look

ROWS = {
    "epic-1": "in-progress",
    "1-1-sign-up": "done",
    "1-2-sign-in": "in-progress",
    "1-3-sign-out": "ready-for-dev",
}


def judged(**after: str | None) -> list[str]:
    rows = {**ROWS, **{key.replace("_", "-"): value for key, value in after.items()}}
    return codes(look(rows_before=ROWS, rows_after={k: v for k, v in rows.items() if v is not None}))


@pytest.mark.parametrize(
    "after",
    [
        {"1-3-sign-out": "done"},
        {"1-3-sign-out": "review"},
        {"1-3-sign-out": "Completed"},
        {"1-1-sign-up": "in-progress"},
        {"1-1-sign-up": None},
        {"1-4-new": "done"},
        {"1-1-sign-up": None, "1-1-signing-up": "in-progress"},
        {"epic-1": "done"},
        {"epic-1-retrospective": "done"},
    ],
)
def test_another_row_must_not_go_into_or_out_of_review_or_done(after):
    assert judged(**after) == ["other-row"]


@pytest.mark.parametrize(
    "after",
    [
        {},
        {"1-2-sign-in": "done"},
        {"1-2-sign-in": "nonsense"},
        {"1-2-sign-in": None},
        {"1-2-sign-in": None, "1-2-signing-in": "done"},
        {"1-3-sign-out": "in-progress"},
        {"1-1-sign-up": "Done"},
        {"1-4-new": "backlog"},
        {"1-4-new": "drafted"},
        {"1-1-sign-up": None, "1-1-signing-up": "done"},
        {"1-3-sign-out": None, "1-3-signing-out": "backlog"},
        {"epic-2": "in-progress"},
        {"epic-1": "backlog"},
        {"epic-1-retrospective": "optional"},
    ],
)
def test_its_own_row_and_harmless_moves_are_fine(after):
    assert judged(**after) == []


@pytest.mark.parametrize(
    "after",
    [
        {"1-3-sign-out": None},
        {"epic-1": None},
        {"1-2-sign-in": "done", "1-3-sign-out": None, "epic-1": "done"},
        {"1-3-sign-out": None, "1-4-sign-out": "ready-for-dev"},
    ],
)
def test_another_row_must_not_be_gone(after):
    assert judged(**after) == ["other-row"]


@pytest.mark.parametrize("status", ["in-progress", "review", "blocked", "nonsense"])
def test_a_new_story_is_one_that_nobody_has_begun(status):
    assert judged(**{"1-4-new": status}) == ["other-row"]


def test_a_story_may_ask_for_another_to_go():
    gone = {key: status for key, status in ROWS.items() if key != "1-3-sign-out"}
    for asked, found in (
        ("Remove `1-3-sign-out` from the board: it is part of this one", []),
        ("Merge 1-3-Sign-Out into this story", []),
        ("Do not remove 1-3-sign-out", ["other-row"]),
        ("Make ready for 1-3-sign-out", ["other-row"]),
        ("Remove 1-3-sign-out-later", ["other-row"]),
    ):
        work = look(rows_before=ROWS, rows_after=gone, asked=f"## Tasks\n\n- [ ] {asked}\n")
        assert codes(work) == found


def test_a_row_without_a_status_that_stays_as_it_is_has_not_moved():
    before = {**ROWS, "1-5-odd": ""}
    assert codes(look(rows_before=before, rows_after={**before, "1-3-sign-out": "in-progress"})) == []


def test_what_happened_to_rows_is_told_apart():
    after = {"epic-1": "in-progress", "1-1-sign-up": "in-progress", "1-2-sign-in": "done", "1-4-new": "done"}
    found = judge_work(look(rows_before=ROWS, rows_after=after))
    assert [one.message for one in found] == [
        "On the board `1-1-sign-up` went into or out of review or done; `1-3-sign-out` is gone; `1-4-new` is new "
        "and already begun. Only 1-2-sign-in may change."
    ]


def test_every_row_that_changed_is_listed_for_putting_back():
    after = {"1-1-sign-up": "review", "1-2-sign-in": "done", "1-5-new": "backlog", "1-4-new": "done"}
    moved = moved_rows(look(rows_before=ROWS, rows_after={**after, "epic-1": "in-progress"}))
    assert moved == [
        ("1-1-sign-up", "done", "review"),
        ("1-3-sign-out", "ready-for-dev", ""),
        ("1-4-new", "", "done"),
    ]
    assert moved_rows(look(rows_before=ROWS, rows_after=None)) == []
    assert [as_before(row.key, row.before) for row in moved] == ["done", "ready-for-dev", "backlog"]
    assert as_before("epic-1-retrospective", "") == "optional"


def test_a_board_that_cannot_be_read_is_judged_elsewhere():
    assert codes(look(rows_before=ROWS, rows_after=None)) == []


def test_what_strayed_from_its_epic_is_told_and_looks_as_if_it_had_never_been():
    second = {"epic-2": "backlog", "2-1-mail": "backlog", "2-2-post": "done", "epic-2-retrospective": "optional"}
    before = {**ROWS, **second}
    after = {
        **before,
        "1-2-sign-in": "review",
        "1-3-sign-out": "in-progress",  # its own epic's: for others to judge
        "epic-2": "in-progress",
        "2-1-mail": "in-progress",
        "2-3-new": "backlog",  # planned, and not begun
        "2-4-begun": "review",
        "epic-2-retrospective": "done",
    }
    del after["2-2-post"]
    seen = look(rows_before=before, rows_after=after)
    strayed = strayed_rows(seen, "1")
    assert set(strayed) == {
        Moved("epic-2", "backlog", "in-progress"),
        Moved("2-1-mail", "backlog", "in-progress"),
        Moved("2-2-post", "done", ""),
        Moved("2-4-begun", "", "review"),
        Moved("epic-2-retrospective", "optional", "done"),
    }
    back = with_rows_back(seen, strayed)
    assert codes(back) == []
    assert back.rows_after == {
        **before,
        "1-2-sign-in": "review",
        "1-3-sign-out": "in-progress",
        "2-3-new": "backlog",
        "2-4-begun": "backlog",
    }
    assert strayed_rows(back, "1") == []
    assert strayed_rows(look(rows_before=ROWS, rows_after=None), "1") == []

"""Rows of the board: an agent's own is a claim, another's is not its to move."""

import pytest

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
        {"epic-1": "backlog"},
        {"1-2-sign-in": "done", "1-3-sign-out": None, "epic-1": "done"},
    ],
)
def test_its_own_row_and_harmless_moves_are_fine(after):
    assert judged(**after) == []


def test_a_board_that_cannot_be_read_is_judged_elsewhere():
    assert codes(look(rows_before=ROWS, rows_after=None)) == []

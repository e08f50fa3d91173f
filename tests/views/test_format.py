"""What others have said, in the line that says most."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.views.format import MAX_TEXT, describe_outcome, failed_checks, most_relevant_line

TRACEBACK = "Traceback (most recent call last):"


@pytest.mark.parametrize(
    ("message", "exit", "says"),
    [
        (TRACEBACK, 1, "crashed (exit code 1)"),
        (f'{TRACEBACK}\n  File "x.py", line 1\nKeyError: 3\n', 1, "crashed (exit code 1): KeyError: 3"),
        ("exit code 3 and not a word", 3, "crashed: exit code 3 and not a word"),
        ("ended by SIGKILL", None, "crashed: ended by SIGKILL"),
    ],
)
def test_a_crash_says_what_is_telling_and_its_exit_code(message: str, exit: int | None, says: str) -> None:
    assert describe_outcome({"outcome": "crashed", "message": message, "exit": exit}, "failed") == says


def test_a_list_is_told_without_its_mark() -> None:
    assert most_relevant_line("- no test was added\n- more") == "no test was added"


@pytest.mark.parametrize(
    ("ran", "says"),
    [
        ([["npm test", 1, 2.0]], "npm test (exit code 1) fails"),
        ([["lint", 0, 1.0], ["test", 2, 1.0], ["e2e", None, 9.0]], "test (exit code 2), e2e (did not end) fail"),
        ([["npm test", 0, 2.0]], ""),
        ([], ""),
    ],
)
def test_which_checks_fail(ran: list[list[object]], says: str) -> None:
    assert failed_checks({"ran": ran}) == says


@given(st.text(max_size=2000))
def test_one_line_of_bounded_length(text: str) -> None:
    assert len(most_relevant_line(text).splitlines()) <= 1
    assert len(most_relevant_line(text)) <= MAX_TEXT

"""A round of mending stands as a story of its own in the records."""

from typing import Any

import pytest

from bmad_autopilot.core.journal_fold import fold
from bmad_autopilot.core.run_record import PullRound, RunRecord
from bmad_autopilot.engine.delivery.rounds import (
    current_fix_round,
    fix_round_key,
    is_fix_round,
    round_logs,
    round_points,
)

KEY = fix_round_key("epic-1", 1)
Entry = tuple[str, dict[str, Any]]
OPENED: list[Entry] = [
    ("delivering", {"head": "h1"}),
    ("story", {"story": KEY, "status": "", "baseline": "h1", "tree": "t1", "code": "c1"}),
    ("pull-round", {"story": KEY, "why": "points", "points": [], "logs": []}),
    ("step", {"story": KEY, "number": 9, "step": "fix-issues"}),
    ("call", {"story": KEY, "number": 9, "attempt": 1}),
]


def run_of(*entries: Entry) -> RunRecord:
    return fold((kind, data, 1.0) for kind, data in [*OPENED, *entries])


def ended(tree: str) -> list[Entry]:
    call: Entry = ("ended", {"story": KEY, "number": 9, "finding": "good", "row": "", "tree": tree})
    return [call, ("accepted", {"story": KEY, "number": 9, "row": ""}), ("story-done", {"story": KEY})]


def is_in_hand(run: RunRecord, *, finished: bool = False) -> bool:
    run.stories[KEY].finished = finished
    return current_fix_round(run) is run.stories[KEY]


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("epic-1.pr-1", True),
        ("epic-7A.pr-12", True),
        ("1-2-sign-in", False),
        ("epic-1.pr-x", False),
        (".pr-1", False),
    ],
)
def test_its_key_is_told_from_a_storys(key: str, found: bool) -> None:
    assert is_fix_round(key) is found


def test_a_round_is_in_hand_until_its_change_is_committed() -> None:
    assert is_in_hand(run_of())
    assert is_in_hand(run_of(*ended("t2")), finished=True)
    assert not is_in_hand(
        run_of(*ended("t2"), ("commit", {"story": KEY, "label": "done", "sha": "h2"})), finished=True
    )


def test_one_that_changed_nothing_is_over_without_a_commit() -> None:
    assert not is_in_hand(run_of(*ended("t1")), finished=True)


def test_one_that_a_person_skipped_is_over() -> None:
    run = run_of()
    run.stories[KEY].skipped = True
    assert not is_in_hand(run)


def test_without_rounds_none_is_in_hand() -> None:
    assert current_fix_round(RunRecord()) is None


def test_what_an_agent_is_told_of_it() -> None:
    told = {"name": "T1", "thread": "x", "title": "About it:", "text": "Rename it."}
    opened = PullRound(KEY, "points", [told], [{"title": "The check test:", "text": "boom"}], "")
    assert [tuple(one) for one in round_points(opened)] == [("T1", "About it:", "Rename it.", False, "")]
    assert [tuple(one) for one in round_logs(opened)] == [("", "The check test:", "boom", False, "")]
    assert round_points(None) == round_logs(None) == ()

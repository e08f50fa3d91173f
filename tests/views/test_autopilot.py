"""What the autopilot is about to do, what happens, and what it came to."""

from typing import Any

import pytest

from bmad_autopilot.views.autopilot import (
    Came,
    LaneTold,
    LeftAlone,
    Outset,
    Planned,
    came_document,
    came_lines,
    outset_document,
    outset_lines,
)
from bmad_autopilot.views.delivery_log import delivery_lines
from bmad_autopilot.views.run_events import event
from bmad_autopilot.views.terminal import Terminal
from tests.cli.shipped import validated

PLAN = Outset(
    (Planned("epic-1", "Accounts", "2 of 3 stories left"),), "a pull request each", "once green", "", "claude", ""
)
WAITS = LaneTold("epic-1", "waits", 12, "its checks", "epic-1-20260101-120000")


def lines(view: Came) -> list[str]:
    return list(came_lines(view, Terminal("never")))


def test_what_is_planned() -> None:
    assert list(outset_lines(PLAN, Terminal("never"))) == [
        "autopilot: 1 epic to do",
        "  epic-1  Accounts  (2 of 3 stories left)",
        "  delivery  a pull request each",
        "  merge     once green",
        "  agents    claude",
    ]
    assert next(outset_lines(PLAN._replace(epics=()), Terminal("never"))) == "autopilot: no epic is left to begin"


def test_what_is_left_alone_is_named_and_steers_nothing() -> None:
    left = (LeftAlone("epic-2", "2-1-pay is blocked\x1b[2J", "bmad board set 2-1-pay ready-for-dev"),)
    planned = list(outset_lines(PLAN._replace(left_alone=left), Terminal("never")))
    came = lines(Came(0, (), (), (), left))
    assert planned[-1] == came[-1]
    assert planned[-1].startswith("  epic-2 is left alone: 2-1-pay is blocked")
    assert "\x1b" not in planned[-1]
    assert came[0] == "nothing can be begun by itself"


def test_what_is_left_as_it_stands_asks_nothing() -> None:
    told = lines(Came(130, (), (WAITS._replace(stage="work", pull=0, why=""),), ()))
    assert told[1] == "  epic-1 is left as it stands"


def test_what_it_came_to() -> None:
    told = lines(Came(3, ("epic-1",), (WAITS._replace(key="epic-2"),), (("bmad autopilot", "go on"),)))
    assert told == [
        "1 epic is merged: epic-1",
        "  epic-2 (#12) waits for its checks",
        "  next      bmad autopilot   go on",
    ]
    assert lines(Came(0, (), (), ()))[0] == "nothing was left to do"
    assert lines(Came(1, (), (WAITS._replace(stage="blocked", why="given up"),), ()))[:2] == [
        "no epic was merged",
        "  epic-1 (#12) is blocked: given up",
    ]


def test_an_epic_that_could_not_be_begun_is_named_with_what_helps() -> None:
    unbegun = LaneTold("epic-2", "blocked", 0, "its branch is checked out elsewhere", "", "git switch --detach")
    assert lines(Came(1, (), (unbegun,), ())) == [
        "no epic was merged",
        "  epic-2 is blocked: its branch is checked out elsewhere",
        "    help: git switch --detach",
    ]


def test_a_bound_that_was_met_is_named_before_the_lanes() -> None:
    parked = WAITS._replace(stage="held", why="--max-cost 5 is reached")
    told = lines(Came(3, (), (parked,), (), (), "--max-cost 5 is reached: $5.20 in this command"))
    assert told == [
        "no epic was merged",
        "  ended: --max-cost 5 is reached: $5.20 in this command",
        "  epic-1 (#12) is parked: --max-cost 5 is reached",
    ]


def test_several_at_once_and_bounds_have_a_row_each() -> None:
    told = outset_lines(PLAN._replace(at_once="up to 3 agents at once", bounds="--until 07:00"), Terminal("never"))
    assert list(told)[-2:] == ["  parallel  up to 3 agents at once", "  until     --until 07:00"]


def test_the_events_are_as_their_schema_says() -> None:
    for kind, data in (
        ("autopilot-plan", outset_document(PLAN)),
        ("autopilot-summary", came_document(Came(3, ("epic-1",), (WAITS,), ()))),
        ("autopilot-summary", came_document(Came(3, (), (WAITS._replace(stage="held"),), (), (), "bound"))),
        ("phase", {"phase": "FIND_EPIC", "key": "epic-1"}),
        ("merged", {"sha": "a" * 40, "proof": "same"}),
        ("pending", {"why": "its checks", "until": None, "pull": 12}),
    ):
        assert validated("autopilot-events", event(kind, data, 1.0))["event"] == kind


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        (
            "delivering",
            {"head": "a" * 40, "branch": "feature/epic-1"},
            "its stories are over  feature/epic-1 at aaaaaaa",
        ),
        ("did", {"do": "push", "key": "b" * 40}, "pushed  bbbbbbb"),
        ("did", {"do": "open-pull", "key": "x", "number": 7}, "#7 opened"),
        ("did", {"do": "merge", "key": "x", "failed": True, "why": "no\nmore"}, "merge failed  no"),
        ("did", {"do": "request-review", "key": "x", "refused": "not here"}, "request-review refused  not here"),
        (
            "trouble",
            {"do": "merge", "key": "x", "why": "no answer"},
            "merge: no answer  no answer; looked at again",
        ),
        (
            "pull-round",
            {"story": "epic-1.pr-2", "why": "points", "points": [{}, {}]},
            "round 2  reviewers want something: 2 points",
        ),
        (
            "pull-round",
            {"story": "epic-1.pr-1", "why": "red", "points": [{}]},
            "round 1  checks have failed there, and reviewers want something: 1 point",
        ),
        ("pull-round", {"story": "epic-1.pr-1", "why": "red"}, "round 1  checks have failed there"),
        ("base-taken", {"sha": "c", "base": "d" * 40, "branch": "main"}, "base taken in  main at ddddddd"),
        (
            "merged",
            {"sha": "e" * 40, "proof": "same", "pull": 7, "base": "main"},
            "merged  #7 into main as eeeeeee, just what was tested",
        ),
        (
            "merged",
            {"sha": "e" * 40, "proof": "differs", "pull": 7},
            "merged  #7 as eeeeeee, and not what was tested",
        ),
        ("pending", {"why": "an approval", "pull": 7}, "waits  #7: an approval"),
    ],
)
def test_a_line_for_what_matters(kind: str, data: dict[str, Any], words: str) -> None:
    (line,) = delivery_lines(kind, {"lane": "epic-1", **data}, 0.0) or []
    assert f"{line.word}  {line.text}".strip() == words
    assert line.story == "epic-1"


def test_what_is_only_a_record_has_no_line() -> None:
    assert delivery_lines("did", {"do": "label", "key": ""}, 0.0) == []
    assert delivery_lines("step", {}, 0.0) is None

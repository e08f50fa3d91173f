"""What the autopilot is about to do, what happens, and what it came to."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.views.autopilot import (
    AutopilotPreview,
    AutopilotReport,
    Estimate,
    LaneReport,
    PlannedEpic,
    PlannedStory,
    RunPreview,
    SkippedEpic,
    preview_document,
    preview_lines,
    report_document,
    report_lines,
    run_preview_lines,
)
from bmad_autopilot.views.run_log import delivery_lines
from bmad_autopilot.views.run_view import event_json
from bmad_autopilot.views.terminal import Terminal, display_width
from tests.support.schemas import parse_validated

PLAN = AutopilotPreview(
    (PlannedEpic("epic-1", "Accounts", "2 of 3 stories left"),),
    "a pull request each",
    "once green",
    "",
    "claude",
    "",
)
WAITS = LaneReport("epic-1", "waits", 12, "its checks", "epic-1-20260101-120000")


def lines(view: AutopilotReport) -> list[str]:
    return list(report_lines(view, Terminal("never")))


def test_what_is_planned() -> None:
    assert list(preview_lines(PLAN, Terminal("never"))) == [
        "autopilot: 1 epic to do",
        "  epic-1  Accounts  (2 of 3 stories left)",
        "  delivery  a pull request each",
        "  merge     once green",
        "  agents    claude",
    ]
    assert next(preview_lines(PLAN._replace(epics=()), Terminal("never"))) == "autopilot: no epic is left to begin"


def test_what_is_left_alone_is_named_and_steers_nothing() -> None:
    left = (SkippedEpic("epic-2", "2-1-pay is blocked\x1b[2J", "bmad board set 2-1-pay ready-for-dev"),)
    planned = list(preview_lines(PLAN._replace(skipped=left), Terminal("never")))
    came = lines(AutopilotReport(0, (), (), (), left))
    assert planned[-1] == came[-1]
    assert planned[-1].startswith("  epic-2 is left alone: 2-1-pay is blocked")
    assert "\x1b" not in planned[-1]
    assert came[0] == "nothing can be begun by itself"


def test_what_is_left_as_it_stands_asks_nothing() -> None:
    told = lines(AutopilotReport(130, (), (WAITS._replace(stage="work", pull=0, why=""),), ()))
    assert told[1] == "  epic-1 is left as it stands"


def test_what_it_came_to() -> None:
    told = lines(AutopilotReport(3, ("epic-1",), (WAITS._replace(key="epic-2"),), (("bmad autopilot", "go on"),)))
    assert told == [
        "1 epic is merged: epic-1",
        "  epic-2 (#12) waits for its checks",
        "  next      bmad autopilot   go on",
    ]
    assert lines(AutopilotReport(0, (), (), ()))[0] == "nothing was left to do"
    assert lines(AutopilotReport(1, (), (WAITS._replace(stage="blocked", why="given up"),), ()))[:2] == [
        "no epic was merged",
        "  epic-1 (#12) is blocked: given up",
    ]


def test_an_epic_that_could_not_be_begun_is_named_with_what_helps() -> None:
    unbegun = LaneReport("epic-2", "blocked", 0, "its branch is checked out elsewhere", "", "git switch --detach")
    assert lines(AutopilotReport(1, (), (unbegun,), ())) == [
        "no epic was merged",
        "  epic-2 is blocked: its branch is checked out elsewhere",
        "    help: git switch --detach",
    ]


def test_a_bound_that_was_met_is_named_before_the_lanes() -> None:
    parked = WAITS._replace(stage="held", why="--max-cost 5 is reached")
    told = lines(AutopilotReport(3, (), (parked,), (), (), "--max-cost 5 is reached: $5.20 in this command"))
    assert told == [
        "no epic was merged",
        "  ended: --max-cost 5 is reached: $5.20 in this command",
        "  epic-1 (#12) is parked: --max-cost 5 is reached",
    ]


def test_several_at_once_and_bounds_have_a_row_each() -> None:
    told = preview_lines(
        PLAN._replace(parallel="up to 3 agents at once", bounds="--until 07:00"), Terminal("never")
    )
    assert list(told)[-2:] == ["  parallel  up to 3 agents at once", "  until     --until 07:00"]


def test_the_events_are_as_their_schema_says() -> None:
    for kind, data in (
        ("autopilot-plan", preview_document(PLAN)),
        ("autopilot-summary", report_document(AutopilotReport(3, ("epic-1",), (WAITS,), ()))),
        (
            "autopilot-summary",
            report_document(AutopilotReport(3, (), (WAITS._replace(stage="held"),), (), (), "bound")),
        ),
        ("phase", {"phase": "FIND_EPIC", "key": "epic-1"}),
        ("merged", {"sha": "a" * 40, "proof": "same"}),
        ("pending", {"why": "its checks", "until": None, "pull": 12}),
    ):
        assert parse_validated("autopilot-events", event_json(kind, data, 1.0))["event"] == kind


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


# What is said before the first call.

PREFACE = RunPreview(
    "epic-1: 2 of 3 stories left",
    (
        PlannedStory("1-2-login", "ready-for-dev", ("dev", "code-review")),
        PlannedStory("1-3-logout", "backlog", ("create-story", "dev", "code-review")),
    ),
    "lean",
    (("claude", ("sm", "dev")), ("claude opus", ("qa",))),
    ("npm run lint", "npm test"),
    "main",
    None,
    None,
    None,
)


def shown(view: RunPreview, width: int = 100) -> list[str]:
    out = Terminal("never", width)
    out.is_terminal = True
    return list(run_preview_lines(view, out))


def test_what_by_whom_where_and_for_how_much() -> None:
    assert shown(PREFACE) == [
        "epic-1: 2 of 3 stories left",
        "  1-2-login   ready-for-dev: dev → code-review",
        "  1-3-logout  backlog: create-story → dev → code-review",
        "  workflow  lean",
        "  agents    claude (sm, dev) · claude opus (qa)",
        "  checks    npm run lint, npm test",
        "  branch    main, in this work tree",
        "  cost      no cap on cost is set (--max-cost)",
    ]


def test_caps_and_an_estimate() -> None:
    view = PREFACE._replace(max_cost=5.0, max_hours=8.0, estimate=Estimate(2.1, 5, 12))
    assert shown(view, 120)[-1] == (
        "  cost      $5.00 at most, then you are asked; 8 hours at most; about $2.10 for 5 calls, "
        "by 12 earlier calls here"
    )


def test_no_checks_is_said_plainly() -> None:
    assert any("checks    no check commands were found" in line for line in shown(PREFACE._replace(checks=())))


def test_a_long_epic_is_not_a_long_preface() -> None:
    stories = tuple(PlannedStory(f"1-{n}-x", "backlog", ("dev",)) for n in range(200))
    assert "  … 180 more" in shown(PREFACE._replace(stories=stories))


@given(st.text(max_size=80), st.integers(40, 120))
def test_it_fits_and_steers_nothing(odd: str, width: int) -> None:
    view = PREFACE._replace(title=odd, checks=(odd,), branch=odd, stories=(PlannedStory(odd, odd, (odd,)),))
    for line in shown(view, width):
        assert display_width(line) <= width
        assert not any(char < " " or "\x7f" <= char <= "\x9f" for char in line)

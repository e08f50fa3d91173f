"""What is said at the end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.views.summary import RunSummary, SummaryQuestion, render
from bmad_autopilot.views.terminal import Terminal, display_width

DONE = RunSummary(
    "completed",
    "epic-1",
    "epic-1-20260101-120000",
    ("1-1-sign-up", "1-2-login"),
    (("1-4-export", "blocked"),),
    commits=4,
    rounds=3,
    calls=7,
    agent_seconds=1500.0,
    seconds=1700.0,
    dollars=3.21,
    priced=5,
    unpriced=2,
    tokens=480210,
    retrospective="epic-1-retrospective",
    action_items=("Measure the start-up",),
    deferred=3,
    next=(("bmad run-epic 1 --retrospective", "look back on the epic"), ("bmad run-epic 2", "the next epic")),
)
WAITING = DONE._replace(
    status="waiting",
    checks=False,
    questions=(SummaryQuestion("1-2-login", "Which store keeps the sessions?"),),
    next=(("bmad answer 1-2-login 1", "answer it (bmad questions shows it whole)"), ("bmad resume", "then go on")),
)


def shown(view: RunSummary, width: int = 100, *, is_terminal: bool = True) -> list[str]:
    out = Terminal("never", width)
    out.is_terminal = is_terminal
    return list(render(view, out))


def test_stories_work_cost_what_remains_and_what_next() -> None:
    assert shown(DONE) == [
        "epic-1 is done",
        "  stories   2 done, 1 left: 1-4-export (blocked)",
        "  work      4 commits · 3 review rounds · 7 agent calls (25 min 0 s) in 28 min 20 s",
        "  cost      $3.21, and 2 calls without a price; 480,210 tokens",
        "  remains   1 open action item: Measure the start-up · 3 entries in deferred-work.md ·",
        "            epic-1-retrospective is open",
        "  next      bmad run-epic 1 --retrospective   look back on the epic",
        "            bmad run-epic 2                   the next epic",
    ]


def test_what_did_not_go_as_it_should_is_said() -> None:
    lines = shown(
        DONE._replace(
            status="not-done",
            why="skipped, as you answered",
            not_held="the retrospective was not held: crashed",
            left_out=tuple(f"{number}.txt" for number in range(10)),
        ),
        200,
    )
    assert lines[0] == "epic-1 is not done"
    assert "  why       skipped, as you answered" in lines
    assert "  look back the retrospective was not held: crashed" in lines
    named = ", ".join(f"{number}.txt" for number in range(8))
    assert f"  left out  of every commit, changed before the run began: {named} and 2 more" in lines


def test_a_run_that_waits_ends_with_the_commands_that_go_on() -> None:
    lines = shown(WAITING)
    assert lines[0] == "epic-1 waits for you"
    assert "  asks      1-2-login: Which store keeps the sessions?" in lines
    assert any(line.startswith("  checks    no check commands were found: none was run") for line in lines)
    assert lines[-2].startswith("  next      bmad answer 1-2-login 1 ")
    assert lines[-1].startswith("            bmad resume ")


@pytest.mark.parametrize(
    ("priced", "unpriced", "says"),
    [
        (0, 3, "unknown: no call has named a price; 480,210 tokens"),
        (3, 0, "$3.21; 480,210 tokens"),
        (1, 1, "$3.21, and 1 call without a price; 480,210 tokens"),
    ],
)
def test_what_it_cost_is_never_made_up(priced: int, unpriced: int, says: str) -> None:
    assert f"  cost      {says}" in shown(DONE._replace(priced=priced, unpriced=unpriced))


def test_nothing_called_nothing_spent() -> None:
    assert not any("cost" in line for line in shown(DONE._replace(calls=0, priced=0, unpriced=0)))


def test_taking_over_by_hand() -> None:
    lines = shown(DONE._replace(status="handed-over", hand_over=("cd /x", "claude --resume abc")))
    assert "  by hand   cd /x" in lines
    assert "  by hand   claude --resume abc" in lines


@given(st.text(max_size=80), st.integers(40, 120), st.sampled_from([DONE, WAITING]))
def test_it_fits_and_steers_nothing(odd: str, width: int, view: RunSummary) -> None:
    told = view._replace(
        target=odd,
        left=((odd, odd),),
        action_items=(odd,),
        questions=(SummaryQuestion(odd, odd),),
        hand_over=(odd,),
        next=((odd, odd),),
    )
    for line in shown(told, width):
        assert display_width(line) <= width
        assert not any(char < " " or "\x7f" <= char <= "\x9f" for char in line)

"""What is said at the end, from how a run ended."""

from typing import Any

import pytest

from bmad_autopilot.cli.run_summary import summarise
from bmad_autopilot.core.journal_fold import fold
from bmad_autopilot.core.lane_scope import LaneScope
from bmad_autopilot.core.run_ending import RunEnding
from bmad_autopilot.core.run_record import RunRecord
from bmad_autopilot.engine.lane import DeliveryPlan, Lane
from bmad_autopilot.engine.runner import RunEnd
from bmad_autopilot.project.project import open_project
from bmad_autopilot.views.summary import RunSummary, render
from bmad_autopilot.views.terminal import Terminal
from bmad_autopilot.workflows.workflow import PIPELINES
from tests.support.bmad_project import ProjectMaker, SampleProject, git

BOARD = """\
development_status:
  epic-1: done
  1-1-sign-up: done
  1-2-login: done
  1-3-export: blocked
  epic-1-retrospective: optional
  epic-2: backlog
  2-1-search: backlog

action_items:
  - epic: 1
    action: Measure the start-up
    status: open
  - epic: 1
    action: Done long ago
    status: done
"""
LANE = Lane(LaneScope.EPIC, "epic-1", "1", PIPELINES["lean"], checks=("npm test",))
DELIVERED = LANE._replace(delivery=DeliveryPlan())
LOGIN: dict[str, Any] = {"story": "1-2-login"}
DEV: dict[str, Any] = {**LOGIN, "number": 1, "step": "dev", "attempt": 1}
REVIEW: dict[str, Any] = {**LOGIN, "number": 2, "step": "code-review", "attempt": 1}
ENTRIES: list[tuple[str, dict[str, Any], float]] = [
    ("run", {"run_id": "r"}, 1.0),
    ("story", {**LOGIN, "status": "ready-for-dev"}, 2.0),
    ("step", DEV, 3.0),
    ("call", DEV, 3.0),
    ("ended", {**DEV, "finding": "good", "dollars": 1.5, "seconds": 9, "session": "a b"}, 4.0),
    ("accepted", {**DEV, "row": "review"}, 4.0),
    ("step", REVIEW, 5.0),
    ("call", REVIEW, 5.0),
    ("ended", {**REVIEW, "finding": "good", "dollars": None, "session": "a b"}, 6.0),
    ("accepted", {**REVIEW, "row": "done", "finished": True}, 6.0),
    ("commit", {**LOGIN, "label": "done", "sha": "abc"}, 7.0),
]


def told(sample: SampleProject, status: str, lane: Lane = LANE, run: RunRecord | None = None) -> RunSummary:
    folder = sample.root / "run"
    return summarise(
        open_project(str(sample.root)), RunEnd(RunEnding(status), run or fold(ENTRIES), str(folder), lane)
    )


@pytest.fixture
def sample(project: ProjectMaker) -> SampleProject:
    return project(board=BOARD, stories={})


def test_figures_are_those_of_the_journal(sample: SampleProject) -> None:
    found = told(sample, "completed")
    assert (found.commits, found.rounds, found.calls, found.dollars) == (1, 0, 2, 1.5)
    assert (found.priced, found.unpriced, found.checks) == (1, 1, True)
    assert found.done == ("1-1-sign-up", "1-2-login")
    assert found.left == (("1-3-export", "blocked"),)
    assert found.action_items == ("Measure the start-up",)


@pytest.mark.parametrize(
    ("agents", "counts", "cost"),
    [
        (("command", "claude"), (2, 0, 1), ["unknown: no call has named a price"]),
        (("command", "command"), (2, 0, 0), []),  # a command has no price
        (("claude",), (1, 0, 1), ["unknown: no call has named a price"]),
    ],
)
@pytest.mark.parametrize("scope", [LaneScope.WORKFLOW, LaneScope.FLOW, LaneScope.STORY])
def test_every_kind_of_run_says_that_its_agents_named_no_price(
    sample: SampleProject, scope: LaneScope, agents: tuple[str, ...], counts: tuple[int, ...], cost: list[str]
) -> None:
    lane = LANE._replace(scope=scope, key="1-2-login", path="_bmad-output/state.md")
    entries: list[tuple[str, dict[str, Any], float]] = [*ENTRIES[:2]]
    for number, agent in enumerate(agents, 1):
        call = {**LOGIN, "number": number, "step": f"step {number}", "attempt": 1, "agent": agent}
        entries += [("step", call, 3.0), ("call", call, 3.0), ("ended", {**call, "dollars": None}, 4.0)]
    found = told(sample, "left", lane, fold(entries))
    assert (found.calls, found.priced, found.unpriced) == counts
    lines = render(found, Terminal())
    assert [line.split(maxsplit=1)[1] for line in lines if line.split()[0] == "cost"] == cost


def test_calls_of_the_run_it_was_forked_from_are_not_counted(sample: SampleProject) -> None:
    forked = ("forked", {"run": "r"}, 7.5)
    again = {**DEV, "number": 3}
    entries = [
        *ENTRIES,
        forked,
        ("step", again, 8.0),
        ("call", again, 8.0),
        ("ended", {**again, "dollars": 2.0}, 9.0),
    ]
    found = told(sample, "left", run=fold(entries))
    assert (found.calls, found.priced, found.unpriced, found.dollars) == (1, 1, 0, 2.0)


def test_a_review_round_is_one_that_was_sent_back(sample: SampleProject) -> None:
    sent_back = ("round", {**LOGIN, "round": 2, "why": "review", "row": "in-progress"}, 8.0)
    assert told(sample, "left", run=fold([*ENTRIES, sent_back])).rounds == 1


def test_after_an_epic_its_retrospective_and_the_next_epic(sample: SampleProject) -> None:
    commands = [command for command, _ in told(sample, "completed").next]
    assert commands == ["bmad run-epic 1 --retrospective", "bmad run-epic 2"]
    never = told(sample, "completed", LANE._replace(retrospective="never"))
    assert [command for command, _ in never.next] == ["bmad run-epic 2"]


def test_after_a_story_the_next_step(sample: SampleProject) -> None:
    lane = LANE._replace(scope=LaneScope.STORY, key="1-2-login")
    assert [command for command, _ in told(sample, "completed", lane).next] == ["bmad next"]


@pytest.mark.parametrize(
    ("status", "commands"),
    [
        ("left", ["bmad resume"]),
        ("handed-over", ["bmad board set 1-2-login review", "bmad resume"]),
        ("failed", ["bmad resume", "bmad restart 1-2-login"]),
    ],
)
def test_the_command_that_goes_on(sample: SampleProject, status: str, commands: list[str]) -> None:
    assert [command for command, _ in told(sample, status).next] == commands


@pytest.mark.parametrize(
    ("status", "commands"),
    [
        ("left", ["bmad autopilot --session night"]),
        ("waiting", ["bmad autopilot --session night"]),
        ("failed", ["bmad autopilot --session night --continue"]),
    ],
)
def test_a_lane_of_the_autopilots_goes_on_with_it(sample: SampleProject, status: str, commands: list[str]) -> None:
    found = told(sample, status, DELIVERED._replace(session="night"))
    assert [command for command, _ in found.next] == commands


def test_what_waits_for_others_is_watched_by_the_autopilot(sample: SampleProject) -> None:
    run = fold(ENTRIES)
    run.delivery.pull, run.delivery.current_wait = 12, {"why": "its checks"}
    found = told(sample, "pending", DELIVERED, run=run)
    assert found.why == "#12 waits for its checks"
    assert [command for command, _ in found.next] == ["bmad autopilot", "bmad pr status"]


def test_taking_over_in_the_agents_own_conversation(sample: SampleProject) -> None:
    lines = told(sample, "handed-over").hand_over
    assert lines == (f"cd {sample.root} && claude --resume 'a b'",)
    assert told(sample, "completed").hand_over == ()


def test_what_reviews_put_off(sample: SampleProject) -> None:
    text = "# Deferred\n\n## Deferred from: code review\n\n- one\n  - a part of it\n* two\n- [x] done\n"
    sample.write(f"{sample.era.implementation}/deferred-work.md", text)
    assert told(sample, "completed").deferred == 2


def test_a_board_that_cannot_be_read_costs_only_what_it_would_say(sample: SampleProject) -> None:
    sample.board.write_text("development_status: [\n")
    found = told(sample, "failed")
    assert (found.done, found.left, found.commits) == ((), (), 1)


def test_a_run_without_a_single_call(sample: SampleProject) -> None:
    found = told(sample, "left", run=RunRecord())
    assert (found.calls, found.rounds) == (0, 0)


def test_a_story_that_was_skipped_says_so(sample: SampleProject) -> None:
    lane = LANE._replace(scope=LaneScope.STORY, key="1-3-export")
    story = {"story": "1-3-export"}
    skipped = fold(
        [
            ("story", {**story, "status": "ready-for-dev"}, 1.0),
            ("asked", {**story, "question": "q1"}, 2.0),
            ("answered", {"question": "q1", "means": "skip"}, 3.0),
        ]
    )
    found = told(sample, "not-done", lane, skipped)
    assert found.why.startswith("skipped, as you answered")
    assert found.next[0][0] == "bmad board set 1-3-export ready-for-dev"
    assert told(sample, "not-done", lane, RunRecord()).why.startswith("its row says blocked")
    assert told(sample, "not-done", lane._replace(key="1-9-gone"), RunRecord()).why == "it left the board"
    assert told(sample, "completed", lane, skipped).why == ""


@pytest.mark.parametrize(
    ("ended", "says"),
    [
        ({"finding": "good", "summary": "accepted"}, ""),
        ({"finding": "asked", "question": {"question": "Who was there?"}}, "stopped to ask: Who was there?"),
        ({"finding": "failed", "outcome": "crashed", "exit": 3}, "was not held: crashed (exit code 3)"),
    ],
)
def test_a_retrospective_that_was_not_held_is_told(
    sample: SampleProject, ended: dict[str, Any], says: str
) -> None:
    retro: dict[str, Any] = {"story": "epic-1", "number": 3, "step": "retrospective", "attempt": 1}
    begun: dict[str, Any] = {"story": "epic-1", "status": "done"}
    entries = [
        ("story", begun, 8.0),
        ("step", retro, 8.0),
        ("call", retro, 8.0),
        ("ended", {**retro, **ended}, 9.0),
    ]
    run = fold([*ENTRIES, *entries])
    assert told(sample, "completed", run=run).not_held.removeprefix("the retrospective ") == says


def test_what_was_left_out_of_commits_is_named(sample: SampleProject) -> None:
    (sample.root / "README.md").write_text("one\n")
    (sample.root / "notes.txt").write_text("untracked\n")
    git(sample.root, "add", "README.md")
    git(sample.root, "commit", "--quiet", "--message", "Readme")
    (sample.root / "README.md").write_text("two\n")
    sample.board.write_text(BOARD + "# ours\n")
    lane = LANE._replace(dirty=("README.md", "notes.txt", "committed-since.txt"))
    assert told(sample, "completed", lane).left_out == ("README.md",)
    assert told(sample, "completed").left_out == ()

"""bmad plan: which epics run when."""

import json
from pathlib import Path

import pytest

from bmad_autopilot.board.overview import epic_views
from bmad_autopilot.board.sprint_status import read_board
from bmad_autopilot.cli.context import ProjectFacts
from bmad_autopilot.cli.plan import epic_plan
from bmad_autopilot.core.estimates import PastCall
from bmad_autopilot.engine.lane import DeliveryPlan
from bmad_autopilot.engine.progress import past_calls
from bmad_autopilot.io.json_files import document
from bmad_autopilot.project.project import open_project
from bmad_autopilot.views.plan import PlanView, epic_schedule, render
from bmad_autopilot.views.terminal import Terminal
from tests.cli.unfinished_runs import note, unfinished_run
from tests.support.bmad_project import ProjectMaker, SampleProject
from tests.support.cli_projects import empty_project, finished_project
from tests.support.schemas import parse_validated, schema
from tests.support.terminals import assert_golden, run_in_terminal, run_piped, strip_colors

BOARD = """\
project: Widgets
development_status:
  epic-1: in-progress
  1-1-sign-up: done
  1-2-sign-in: review
  1-3-sign-out: ready-for-dev
  epic-2: backlog
  2-1-search: backlog
  2-2-filters: backlog
  2-3-sorting: backlog
  epic-3: backlog
  3-1-invoices: backlog
  3-2-reminders: backlog
  epic-4: backlog
  4-1-charts: backlog
  4-2-tables: backlog
  4-3-export: backlog
  epic-5: deferred
  5-1-later: backlog
  epic-6: backlog
"""
EPICS = """\
## Epic 1: Accounts

## Epic 2: Finding things
**Dependencies:** Epic 1

## Epic 3: Billing
Depends on: Epic 1, Epic 9

## Epic 4: Reports for people outside of the organisation who pay
**Prerequisites:** Epics 1-3. Independent of Epic 5.
"""
DECLARED = 'dependencies = "declared"\n'


def sample_of(project: ProjectMaker, config: str = "", name: str = "project", **parts: object) -> SampleProject:
    sample = project(name, **{"board": BOARD, "epics": EPICS, "stories": {}, "with_git": False, **parts})
    if config:
        sample.write("bmad-autopilot.toml", config)
    return sample


def view(sample: SampleProject, *patterns: str, parallel: int = 1) -> PlanView:
    board = read_board(str(sample.board))
    found = epic_plan(ProjectFacts(open_project(str(sample.root)), board, epic_views(board)), patterns, parallel)
    schema("schedule").validate(document("schedule", epic_schedule(found)))
    return found


def lines(found: PlanView) -> str:
    return "\n".join(render(found, Terminal("never", 80)))


def keys(found: PlanView) -> list[str]:
    return [epic.number for epic in found.epics]


def test_the_order_and_what_would_be_gained(project: ProjectMaker) -> None:
    shown = run_in_terminal("plan", cwd=sample_of(project).root, columns=80)
    assert_golden("plan-order", strip_colors(shown))


def test_what_is_declared_on_two_slots(project: ProjectMaker) -> None:
    shown = run_in_terminal("plan", "--parallel", "2", cwd=sample_of(project, DECLARED).root, columns=80)
    assert_golden("plan-declared", strip_colors(shown))
    assert all(len(line) <= 80 for line in strip_colors(shown).splitlines())


def test_json_keeps_its_schema_and_says_where_each_edge_is_from(project: ProjectMaker) -> None:
    config = f'{DECLARED}[depends]\n"3" = ["2"]\n'
    done = run_piped("plan", "--parallel", "3", "--json", cwd=sample_of(project, config).root)
    found = parse_validated("schedule", done.stdout)
    epics = {epic["number"]: epic for epic in found["epics"]}
    assert epics["3"]["waits_for"] == [
        {"epic": "epic-2", "source": "settings", "file": "bmad-autopilot.toml", "line": 3},
        {"epic": "epic-1", "source": "epics", "file": "_bmad-output/planning-artifacts/epics.md", "line": 7},
    ]
    assert epics["2"]["begins"] == epics["1"]["ends"]
    assert [(one["fault"], one["epic"]) for one in found["problems"]] == [("missing", "epic-3")]
    assert (done.returncode, found["parallel"], found["left_alone"]) == (0, 3, 1)


def test_without_unicode(project: ProjectMaker) -> None:
    done = run_piped("plan", cwd=sample_of(project).root, PYTHONIOENCODING="ascii:replace", LC_ALL="C")
    assert (done.returncode, done.stderr) == (0, "")
    assert "#####" in done.stdout


def test_no_board_is_an_error_with_what_helps(tmp_path: Path) -> None:
    done = run_piped("plan", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (4, "")
    assert "bmad doctor" in done.stderr


def test_everything_is_done(project: ProjectMaker) -> None:
    assert lines(view(finished_project(project))) == "nothing to plan: no epic is left to begin"


def test_an_empty_board(project: ProjectMaker) -> None:
    assert (
        lines(view(empty_project(project))) == "nothing to plan: there is no epic on the board yet (bmad status)"
    )


def test_one_epic(project: ProjectMaker) -> None:
    board = "development_status:\n  epic-1: backlog\n  1-1-a: backlog\n"
    found = view(sample_of(project, board=board, epics=None), parallel=3)
    assert (keys(found), found.declared, found.by_parallel) == (["1"], None, ())


def test_three_hundred_epics_fit_on_a_screen(project: ProjectMaker) -> None:
    rows = "".join(f"  epic-{n}: backlog\n  {n}-1-a: backlog\n  {n}-2-b: backlog\n" for n in range(1, 301))
    epics = "".join(f"## Epic {n}: T\nDepends on: Epic {n // 2}\n" for n in range(1, 301))
    found = view(sample_of(project, DECLARED, board=f"development_status:\n{rows}", epics=epics), parallel=4)
    assert len(found.epics) == 300
    assert len(lines(found).splitlines()) < 60
    assert "280 more" in lines(found)


def test_patterns_choose_and_what_they_leave_out_is_told(project: ProjectMaker) -> None:
    found = view(sample_of(project, DECLARED), "billing", "^4$")
    assert keys(found) == ["3", "4"]
    assert "epic-3 needs epic-1, which is not part of this plan: it is not waited for" in lines(found)


@pytest.mark.parametrize(
    ("pattern", "says"), [("zebra", "no epic's number or title holds zebra"), ("(", "PATTERN")]
)
def test_a_pattern_that_nobody_has(project: ProjectMaker, pattern: str, says: str) -> None:
    done = run_piped("plan", pattern, cwd=sample_of(project).root)
    assert (done.returncode, says in done.stderr) == (2, True)


def test_a_cycle_and_an_epic_that_waits_for_itself(project: ProjectMaker) -> None:
    config = f'{DECLARED}[depends]\n"1" = ["3"]\n"2" = ["2"]\n'
    found = view(sample_of(project, config))
    assert keys(found) == ["1", "2", "3", "4"]
    assert "epic-1 → epic-3 → epic-1; here epic-1 does not wait for epic-3" in lines(found)
    assert "bmad-autopilot.toml:4: epic-2 is said to wait for itself" in lines(found)


def test_under_the_order_more_agents_bring_nothing_and_declared_does(project: ProjectMaker) -> None:
    sample = sample_of(project)
    one, three = view(sample), view(sample, parallel=3)
    assert one.seconds == three.seconds
    assert (one.by_parallel, three.by_parallel) == ((), ())
    declared = view(sample_of(project, DECLARED, "declared"), parallel=3)
    assert three.declared is not None
    assert three.declared.seconds == declared.seconds.middle < three.seconds.middle
    assert 'with dependencies = "declared" and --parallel 3: about' in lines(three)


def test_where_nothing_is_declared_that_is_said_first(project: ProjectMaker) -> None:
    assert "no epic says what it needs" in lines(view(sample_of(project, epics="## Epic 1: A\n")))


def earlier(runs: Path, number: int, step: str, seconds: float, dollars: float | None, outcome: str) -> Path:
    folder = runs / "main" / f"epic-1-20260101-{number:06}" / "steps" / f"01-{step}" / "attempt-1"
    folder.mkdir(parents=True)
    spec = {"id": "a", "agent": "claude", "story": f"1-{number}", "session": "s", "worktree": "/x", "argv": []}
    (folder / "spec.json").write_text(json.dumps({**spec, "created_at": 1.0, "step": step}))
    (folder / "verdict.json").write_text(json.dumps({"outcome": outcome, "spend": {"dollars": dollars}}))
    (folder / "result.json").write_text(json.dumps({"id": "a", "by": "itself", "seconds": seconds}))
    return folder


def test_earlier_calls_that_ended_well_are_what_figures_are_taken_from(tmp_path: Path) -> None:
    earlier(tmp_path, 1, "dev", 600.0, 2.0, "completed")
    earlier(tmp_path, 2, "dev", 3.0, 0.0, "crashed")
    (earlier(tmp_path, 3, "dev", 5.0, 5.0, "completed") / "spec.json").write_text("{")
    (earlier(tmp_path, 4, "dev", 5.0, 5.0, "completed") / "result.json").unlink()
    assert past_calls(str(tmp_path)) == [PastCall("epic-1-20260101-000001", "1-1", "dev", 600.0, 2.0)]
    assert past_calls(str(tmp_path / "none")) == []


def test_only_the_newest_calls_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bmad_autopilot.engine.progress.MAX_PAST_CALLS", 3)
    for number in range(5):
        earlier(tmp_path, number, "dev", 1.0, 1.0, "completed")
    assert [one.story for one in past_calls(str(tmp_path))] == ["1-4", "1-3", "1-2"]


def test_a_plan_by_earlier_calls(project: ProjectMaker) -> None:
    sample = sample_of(project)
    runs = sample.root / "_bmad-output" / ".runs"
    for number in range(6):
        for step in ("create-story", "dev", "code-review"):
            earlier(runs, 10 * number + len(step), step, 60.0, None, "completed")
    found = view(sample)
    assert (found.earlier_calls, found.dollars) == (18, None)
    assert found.seconds == pytest.approx((60.0 * 27,) * 3)
    assert "by 18 earlier calls here" in lines(found)
    assert "not known: of 18 earlier calls none told a price" in lines(found)


def test_an_epic_whose_pull_request_is_open_comes_first_and_nobody_waits_for_it(project: ProjectMaker) -> None:
    sample = sample_of(project, DECLARED)
    run = unfinished_run(sample, "1-3-sign-out", delivery=DeliveryPlan())
    note(run, "delivering", pull=7, head="a" * 40, known=[])
    found = view(sample)
    assert (found.pending, keys(found)) == ((("epic-1", 7),), ["2", "3", "4"])
    assert "epic-1: pull request #7 is open; it comes first" in lines(found)
    assert {wait.epic for epic in found.epics for wait in epic.waits} == {"epic-2", "epic-3"}

"""What `bmad autopilot` says before it begins: the epics that it takes up, and those that it leaves alone."""

import pytest

from bmad_autopilot.board.overview import epic_views
from bmad_autopilot.board.sprint_status import read_board
from bmad_autopilot.cli.autopilot import bounds_text, parallel_text
from bmad_autopilot.cli.autopilot_preview import build_preview
from bmad_autopilot.cli.context import ProjectFacts
from bmad_autopilot.core.errors import UsageError
from bmad_autopilot.core.lane_scope import LaneScope
from bmad_autopilot.core.run_record import DeliveryRecord, RunRecord
from bmad_autopilot.core.scheduling import LaneStage
from bmad_autopilot.engine.autopilot import lanes
from bmad_autopilot.engine.autopilot.lanes import LaneState
from bmad_autopilot.engine.autopilot.options import AutopilotOptions, Bounds
from bmad_autopilot.engine.lane import DeliveryPlan, Lane
from bmad_autopilot.project.project import open_project
from bmad_autopilot.views.autopilot import AutopilotPreview
from bmad_autopilot.workflows.workflow import PIPELINES
from tests.support.bmad_project import ProjectMaker, SampleProject, git
from tests.support.cli_projects import mixed_project
from tests.support.terminals import run_piped

BOARD = """\
development_status:
  epic-1: in-progress
  1-1-cart: done
  1-2-pay: blocked
  1-3-refund: deferred
  epic-2: deferred
  2-1-search: backlog
  epic-3: backlog
  3-1-rank: nearly-there
  4-1-stray: backlog
  epic-5: done
  5-1-late: backlog
  epic-6: backlog
  epic-7: done
  7-1-over: done
"""


def told(sample: SampleProject, *patterns: str) -> AutopilotPreview:
    project = open_project(str(sample.root))
    return build_preview(project, read_board(project.require_board()), AutopilotOptions(patterns))


def held(epic: str, stage: LaneStage, pull: int) -> LaneState:
    lane = Lane(LaneScope.EPIC, f"epic-{epic}", epic, PIPELINES["lean"], delivery=DeliveryPlan())
    return LaneState(f"run-{epic}", lane, RunRecord(delivery=DeliveryRecord(started_at=1.0, pull=pull)), stage)


def test_a_pattern_that_no_epic_has_is_an_error_that_names_those_there_are(project: ProjectMaker) -> None:
    sample = mixed_project(project)
    assert told(sample, "1").epics == ()  # it is done
    with pytest.raises(UsageError) as found:
        told(sample, "1", "zzz")
    assert found.value.message == "no epic's number or title holds zzz"
    assert str(found.value.expected).startswith("one of: 1")
    with pytest.raises(UsageError, match="PATTERN is no regular expression"):
        told(sample, "[")
    done = run_piped("autopilot", "zzz", cwd=sample.root)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("bmad: error: no epic's number or title holds zzz\n")


def test_what_cannot_be_begun_is_told_with_what_helps(project: ProjectMaker) -> None:
    sample = project(board=BOARD, stories={})
    found = told(sample)
    assert found.epics == ()
    assert [tuple(one) for one in found.skipped] == [
        ("epic-1", "1-2-pay is blocked, and 1 more", "bmad board set 1-2-pay ready-for-dev"),
        ("epic-2", "epic-2 is deferred", "bmad board set epic-2 backlog"),
        ("epic-3", "3-1-rank is nearly-there, which nobody understands", "bmad board check"),
        ("epic-4", "it has no row of its own on the board", "bmad board check"),
        ("epic-5", "its row says done, and 5-1-late is backlog", "bmad board check"),
        ("epic-6", "it has no stories on the board", "bmad board check"),
    ]
    assert [one.key for one in told(sample, "^2$").skipped] == ["epic-2"]


def test_the_command_for_a_parked_one_lets_it_begin(project: ProjectMaker) -> None:
    sample = project(board=BOARD, stories={})
    for key in ("epic-1", "epic-2"):
        command = next(one.command for one in told(sample).skipped if one.key == key)
        assert run_piped(*command.split()[1:], cwd=sample.root).returncode == 0
        assert key in [one.key for one in told(sample).epics]


def test_the_end_names_what_is_parked_and_no_line_is_empty_twice(project: ProjectMaker) -> None:
    board = "development_status:\n  epic-1: in-progress\n  1-1-cart: blocked\n"
    sample = project(board=board, stories={})
    sample.write("bmad-autopilot.toml", 'delivery = "local"\n')
    sample.commit()
    done = run_piped("autopilot", cwd=sample.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\n\n\n" not in done.stdout
    assert done.stdout.endswith(
        "nothing can be begun by itself\n"
        "  epic-1 is left alone: 1-1-cart is blocked\n"
        "  next      bmad board set 1-1-cart ready-for-dev   once it can go on\n"
    )


def test_without_a_forge_nobody_is_said_to_approve(project: ProjectMaker) -> None:
    sample = mixed_project(project)
    assert "approved" in told(sample).merge
    sample.write("bmad-autopilot.toml", 'delivery = "local"\n')
    assert told(sample).merge == "once the checks pass here"
    sample.write("bmad-autopilot.toml", 'delivery = "local"\nmerge = "manual"\n')
    assert told(sample).merge == "by a person"


def test_no_pull_request_is_promised_where_there_is_no_remote(project: ProjectMaker) -> None:
    sample = mixed_project(project)
    assert told(sample).delivery == 'not possible yet: there is no remote called origin (or delivery = "local")'
    git(sample.root, "remote", "add", "origin", "https://github.com/acme/widgets.git")
    assert told(sample).delivery == "a pull request each"


def test_several_at_once_are_told_with_where_they_work_and_what_holds_them_up(project: ProjectMaker) -> None:
    board = "".join(f"  epic-{n}: backlog\n  {n}-1-a: backlog\n" for n in (1, 2, 3))
    sample = project(board=f"development_status:\n{board}", stories={})
    opened = open_project(str(sample.root))
    found = read_board(opened.require_board())
    facts = ProjectFacts(opened, found, epic_views(found))
    assert parallel_text(facts, AutopilotOptions()) == ""
    name = f"../{sample.root.name}.worktrees"
    assert parallel_text(facts, AutopilotOptions(parallel=1)) == f"one agent, each epic in a worktree below {name}"
    told = parallel_text(facts, AutopilotOptions(("1|2|3",), parallel=3))
    assert told.startswith(f"up to 3 agents at once, each epic in a worktree below {name}; ")
    assert 'dependencies = "order": one epic is developed at a time; with "declared" about ' in told
    assert told.endswith(" (bmad plan --parallel 3 '1|2|3')")
    declared = opened._replace(config=opened.config._replace(dependencies="declared"))
    assert "order" not in parallel_text(facts._replace(project=declared), AutopilotOptions(parallel=3))
    away = opened.config.worktrees._replace(folder="/fast/lanes")
    elsewhere = declared._replace(config=declared.config._replace(worktrees=away))
    assert parallel_text(facts._replace(project=elsewhere), AutopilotOptions(parallel=3)).endswith(
        " below /fast/lanes"
    )


def test_how_many_is_taken_from_the_settings_and_the_command_line_says_otherwise(project: ProjectMaker) -> None:
    sample = project(board="development_status:\n  epic-1: backlog\n  1-1-a: backlog\n", stories={})
    sample.write("bmad-autopilot.toml", "parallel = 4\n")
    sample.commit()
    told = [
        run_piped("autopilot", "--dry-run", *words, cwd=sample.root).stdout for words in ((), ("--parallel", "0"))
    ]
    assert ["up to 4 agents at once" in text for text in told] == [True, False]
    assert ["  parallel" in text for text in told] == [True, False]
    assert "up to 4 agents at a time" in run_piped("plan", cwd=sample.root).stdout


def test_bounds_are_told() -> None:
    assert bounds_text(Bounds()) == ""
    told = bounds_text(Bounds(5.0, 1000, 1.0, "--until 07:00"))
    assert told.startswith("--max-cost 5, --max-tokens 1000, --until 07:00: ")


def test_pull_requests_of_earlier_commands_are_in_the_plan_and_their_epics_no_second_time(
    project: ProjectMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [held("2", LaneStage.MOVED, 7), held("3", LaneStage.BLOCKED, 8)]
    monkeypatch.setattr(lanes, "unfinished_lanes", lambda runs, session, *, resume_all: left)
    planned = [(one.key, one.progress) for one in told(mixed_project(project)).epics]
    assert planned[:2] == [
        ("epic-2", "pull request #7, gone on with"),
        ("epic-3", "pull request #8, given up: --continue"),
    ]
    assert not {"epic-2", "epic-3"} & {key for key, _ in planned[2:]}

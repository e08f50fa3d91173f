"""What `bmad autopilot` says before it begins: the epics that it takes up, and those that it leaves alone."""

import pytest

from bmad_autopilot.board.overview import overview
from bmad_autopilot.board.sprint import read_board
from bmad_autopilot.cli.at_once import at_once, bounds_told
from bmad_autopilot.cli.facts import Facts
from bmad_autopilot.cli.outset import outset
from bmad_autopilot.core.delivery import DeliveryRecord
from bmad_autopilot.core.errors import UsageError
from bmad_autopilot.core.records import RunRecord
from bmad_autopilot.core.schedule import Stage
from bmad_autopilot.engine.autopilot import lanes
from bmad_autopilot.engine.autopilot.budgets import Bounds
from bmad_autopilot.engine.autopilot.lanes import Held
from bmad_autopilot.engine.autopilot.wishes import Wishes
from bmad_autopilot.engine.delivery.plan import Plan
from bmad_autopilot.engine.lane import Lane
from bmad_autopilot.project.open import open_project
from bmad_autopilot.views.autopilot import Outset
from bmad_autopilot.workflows.pipelines import PIPELINES
from tests.cli.projects import mixed
from tests.support import ProjectMaker, SampleProject, git
from tests.terminals import piped

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


def told(sample: SampleProject, *patterns: str) -> Outset:
    project = open_project(str(sample.root))
    return outset(project, read_board(project.require_board()), Wishes(patterns))


def held(epic: str, stage: Stage, pull: int) -> Held:
    lane = Lane("epic", f"epic-{epic}", epic, PIPELINES["lean"], delivery=Plan())
    return Held(f"run-{epic}", lane, RunRecord(delivery=DeliveryRecord(began=1.0, pull=pull)), stage)


def test_a_pattern_that_no_epic_has_is_an_error_that_names_those_there_are(project: ProjectMaker) -> None:
    sample = mixed(project)
    assert told(sample, "1").epics == ()  # it is done
    with pytest.raises(UsageError) as found:
        told(sample, "1", "zzz")
    assert found.value.message == "no epic's number or title holds zzz"
    assert str(found.value.expected).startswith("one of: 1")
    with pytest.raises(UsageError, match="PATTERN is no regular expression"):
        told(sample, "[")
    done = piped("autopilot", "zzz", cwd=sample.root)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("bmad: error: no epic's number or title holds zzz\n")


def test_what_cannot_be_begun_is_told_with_what_helps(project: ProjectMaker) -> None:
    sample = project(board=BOARD, stories={})
    found = told(sample)
    assert found.epics == ()
    assert [tuple(one) for one in found.left_alone] == [
        ("epic-1", "1-2-pay is blocked, and 1 more", "bmad board set 1-2-pay ready-for-dev"),
        ("epic-2", "epic-2 is deferred", "bmad board set epic-2 backlog"),
        ("epic-3", "3-1-rank is nearly-there, which nobody understands", "bmad board check"),
        ("epic-4", "it has no row of its own on the board", "bmad board check"),
        ("epic-5", "its row says done, and 5-1-late is backlog", "bmad board check"),
        ("epic-6", "it has no stories on the board", "bmad board check"),
    ]
    assert [one.key for one in told(sample, "^2$").left_alone] == ["epic-2"]


def test_the_command_for_a_parked_one_lets_it_begin(project: ProjectMaker) -> None:
    sample = project(board=BOARD, stories={})
    for key in ("epic-1", "epic-2"):
        command = next(one.command for one in told(sample).left_alone if one.key == key)
        assert piped(*command.split()[1:], cwd=sample.root).returncode == 0
        assert key in [one.key for one in told(sample).epics]


def test_the_end_names_what_is_parked_and_no_line_is_empty_twice(project: ProjectMaker) -> None:
    board = "development_status:\n  epic-1: in-progress\n  1-1-cart: blocked\n"
    sample = project(board=board, stories={})
    sample.write("bmad-autopilot.toml", 'delivery = "local"\n')
    sample.commit()
    done = piped("autopilot", cwd=sample.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\n\n\n" not in done.stdout
    assert done.stdout.endswith(
        "nothing can be begun by itself\n"
        "  epic-1 is left alone: 1-1-cart is blocked\n"
        "  next      bmad board set 1-1-cart ready-for-dev   once it can go on\n"
    )


def test_without_a_forge_nobody_is_said_to_approve(project: ProjectMaker) -> None:
    sample = mixed(project)
    assert "approved" in told(sample).merges
    sample.write("bmad-autopilot.toml", 'delivery = "local"\n')
    assert told(sample).merges == "once the checks pass here"
    sample.write("bmad-autopilot.toml", 'delivery = "local"\nmerge = "manual"\n')
    assert told(sample).merges == "by a person"


def test_no_pull_request_is_promised_where_there_is_no_remote(project: ProjectMaker) -> None:
    sample = mixed(project)
    assert told(sample).goes_to == 'not possible yet: there is no remote called origin (or delivery = "local")'
    git(sample.root, "remote", "add", "origin", "https://github.com/acme/widgets.git")
    assert told(sample).goes_to == "a pull request each"


def test_several_at_once_are_told_with_where_they_work_and_what_holds_them_up(project: ProjectMaker) -> None:
    board = "".join(f"  epic-{n}: backlog\n  {n}-1-a: backlog\n" for n in (1, 2, 3))
    sample = project(board=f"development_status:\n{board}", stories={})
    opened = open_project(str(sample.root))
    found = read_board(opened.require_board())
    facts = Facts(opened, found, overview(found))
    assert at_once(facts, Wishes()) == ""
    name = f"../{sample.root.name}.worktrees"
    assert at_once(facts, Wishes(parallel=1)) == f"one agent, each epic in a worktree below {name}"
    told = at_once(facts, Wishes(("1|2|3",), parallel=3))
    assert told.startswith(f"up to 3 agents at once, each epic in a worktree below {name}; ")
    assert 'dependencies = "order": one epic is developed at a time; with "declared" about ' in told
    assert told.endswith(" (bmad plan --parallel 3 '1|2|3')")
    declared = opened._replace(config=opened.config._replace(dependencies="declared"))
    assert "order" not in at_once(facts._replace(project=declared), Wishes(parallel=3))
    away = opened.config.worktrees._replace(folder="/fast/lanes")
    elsewhere = declared._replace(config=declared.config._replace(worktrees=away))
    assert at_once(facts._replace(project=elsewhere), Wishes(parallel=3)).endswith(" below /fast/lanes")


def test_how_many_is_taken_from_the_settings_and_the_command_line_says_otherwise(project: ProjectMaker) -> None:
    sample = project(board="development_status:\n  epic-1: backlog\n  1-1-a: backlog\n", stories={})
    sample.write("bmad-autopilot.toml", "parallel = 4\n")
    sample.commit()
    told = [piped("autopilot", "--dry-run", *words, cwd=sample.root).stdout for words in ((), ("--parallel", "0"))]
    assert ["up to 4 agents at once" in text for text in told] == [True, False]
    assert ["  parallel" in text for text in told] == [True, False]
    assert "up to 4 agents at a time" in piped("plan", cwd=sample.root).stdout


def test_bounds_are_told() -> None:
    assert bounds_told(Bounds()) == ""
    told = bounds_told(Bounds(5.0, 1000, 1.0, "--until 07:00"))
    assert told.startswith("--max-cost 5, --max-tokens 1000, --until 07:00: ")


def test_pull_requests_of_earlier_commands_are_in_the_plan_and_their_epics_no_second_time(
    project: ProjectMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [held("2", Stage.MOVED, 7), held("3", Stage.BLOCKED, 8)]
    monkeypatch.setattr(lanes, "held_lanes", lambda runs, session, *, go_on: left)
    planned = [(one.key, one.told) for one in told(mixed(project)).epics]
    assert planned[:2] == [
        ("epic-2", "pull request #7, gone on with"),
        ("epic-3", "pull request #8, given up: --continue"),
    ]
    assert not {"epic-2", "epic-3"} & {key for key, _ in planned[2:]}

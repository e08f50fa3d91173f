"""A story begun anew: however often it is cut short, nothing is lost and nothing left over."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.engine.restart import RestartReport, restart_story
from bmad_autopilot.project.project import open_project
from bmad_autopilot.runs.journal import Journal
from bmad_autopilot.runs.layout import runs_folder
from bmad_autopilot.runs.question_file import AnswerSource
from bmad_autopilot.runs.questions import load_inbox, record_answer
from tests.support.lane_projects import LaneProject, Person

pytestmark = pytest.mark.real  # whole runs, by real processes

KEY = "1-1-list-accounts"


class Cut(BaseException):
    """A kill, as far as what stands on disk is concerned."""


@contextmanager
def cut_at(name: str) -> Iterator[None]:
    def cut(*arguments: Any, **options: Any) -> None:
        raise Cut

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(name, cut)
        yield


def restart(sample: LaneProject) -> RestartReport:
    return restart_story(open_project(str(sample.root)), KEY)


@pytest.mark.parametrize(
    "point",
    [
        "bmad_autopilot.git.refs.write_entries",  # new files are gone, changed ones still stand
        "bmad_autopilot.engine.restart._set_rows",
        "bmad_autopilot.engine.restart._commit",
        "bmad_autopilot.engine.restart._record",
        "bmad_autopilot.engine.restart.withdraw_questions",
    ],
)
def test_cut_short_it_is_finished_by_running_it_again(tmp_path: Path, point: str) -> None:
    sample = LaneProject(tmp_path / "p")
    tree = sample.git("rev-parse", "HEAD^{tree}")
    assert sample.run().end.status == "completed"
    work = sample.git("ls-tree", "-r", "HEAD", "src", "tests")
    with cut_at(point), pytest.raises(Cut):
        restart(sample)
    report = restart(sample)
    assert sample.git("status", "--porcelain") == ""
    changed = sample.git("diff", "--name-only", tree, "HEAD").splitlines()
    assert changed == [os.path.relpath(sample.board, sample.root)]  # its epic has begun
    assert (report.row_after, sample.row("1-1"), sample.rows()["epic-1"]) == ("backlog", "backlog", "in-progress")
    if point != "bmad_autopilot.engine.restart.withdraw_questions":  # it was all done by then
        assert sample.git("ls-tree", "-r", report.saved_ref, "src", "tests") == work
        assert report.files


def test_what_was_written_after_it_was_cut_short_is_saved_too(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    sample.run()
    (path,) = (
        name for name in sample.git("ls-tree", "-r", "--name-only", "HEAD", "src").splitlines() if "acc" in name
    )
    work = (sample.root / path).read_text()
    with cut_at("bmad_autopilot.engine.restart._set_rows"), pytest.raises(Cut):
        restart(sample)
    sample.write(path, "typed since\n")
    report = restart(sample)
    assert not (sample.root / path).exists()
    assert sample.git("show", f"{report.saved_ref}:{path}") == "typed since"
    older = sample.git("rev-list", "--parents", "-1", report.saved_ref).split()[1:]
    assert work.strip() in [sample.git("show", f"{parent}:{path}") for parent in older]


def test_begun_anew_twice_it_goes_back_no_further(tmp_path: Path) -> None:
    """Not to where an older run found it."""
    sample = LaneProject(tmp_path / "p")
    assert sample.run("step").end.status == "completed"  # a story file
    sample.run()
    restart(sample)
    head = sample.git("rev-parse", "HEAD")
    again = restart(sample)
    assert (again.saved_ref, again.files, again.row_after) == ("", (), sample.row("1-1"))
    assert sample.git("rev-parse", "HEAD") == head


def test_an_answer_of_before_is_not_taken_for_the_same_question_asked_anew(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", "asking")
    first = sample.run()
    runs = runs_folder(str(sample.root))
    (asked,) = load_inbox(runs).pending
    record_answer(asked.path, "1", AnswerSource.HUMAN)
    restart(sample)
    second = sample.run()
    assert (second.end.status, second.end.run_id) == ("waiting", first.end.run_id)
    (anew,) = load_inbox(runs).pending
    assert anew.question.id != asked.question.id


def test_an_open_question_of_before_is_withdrawn(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", "asking")
    sample.run()
    restart(sample)
    assert load_inbox(runs_folder(str(sample.root))).pending == []
    assert sample.run(person=Person("1")).end.status == "completed"


def test_an_epic_that_was_done_is_open_again(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", stories=1)
    sample.run("epic", "1")
    assert sample.rows()["epic-1"] == "done"
    report = restart(sample)
    assert (report.epic, sample.rows()["epic-1"]) == ("epic-1", "in-progress")
    assert sample.git("status", "--porcelain") == ""
    assert sample.run("epic", "1").end.status == "completed"
    assert sample.rows()["epic-1"] == "done"
    assert sample.git("status", "--porcelain") == ""


def test_an_epic_opened_again_in_its_own_run_is_closed_with_a_commit_again(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    settings = sample.root / "bmad-autopilot.toml"
    fails = 'p=$(cat); case $p in /bmad-retrospective*) exit 7;; esac; printf %s "$p" | "$@"'
    before = json.dumps(["/bin/sh", "-c", fails, "sh"]).removesuffix("]")
    settings.write_text(settings.read_text().replace("command = [", f"command = {before}, "))
    sample.git("commit", "-qam", "An agent that cannot look back")
    first = sample.run("epic", "1", person=Person(), retrospective="run")
    assert (first.end.status, first.questions) == ("waiting", ["retrospective"])
    restart(sample)
    second = sample.run("epic", "1", person=Person("leave"))
    assert (second.end.run_id, second.end.status) == (first.end.run_id, "completed")
    assert sample.rows()["epic-1"] == "done"
    assert sample.story_commits().count("Close epic-1") == 2
    assert sample.git("status", "--porcelain") == ""


def test_the_run_that_worked_on_it_last_counts_and_not_the_one_that_began_last(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    ran = sample.run()
    later = Path(ran.end.folder).with_name(f"{KEY}-29990101-000000")
    later.mkdir()
    journal = Journal(
        str(later), lambda value: value, clock=lambda: 5.0
    )  # it ran long ago, whatever its name says
    entries = Journal(ran.end.folder, lambda value: value).entries()
    journal.append("run", **entries[0].data)
    journal.append("story", story=KEY, baseline=None, tree=None, code=None, status="review")
    journal.close()
    report = restart(sample)
    assert (report.row_after, bool(report.files)) == ("backlog", True)

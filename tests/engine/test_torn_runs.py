"""What a power cut leaves of a run's files: it opens, no acknowledged step is lost, none is paid for twice."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.core.journal_fold import fold
from bmad_autopilot.core.run_record import RunRecord
from bmad_autopilot.engine.resume import resume_run
from bmad_autopilot.engine.runner import read_lane
from bmad_autopilot.project.project import open_project
from bmad_autopilot.runs.checkpoints import list_checkpoints
from bmad_autopilot.runs.index import find_run, load_run_state
from bmad_autopilot.runs.journal import Journal
from bmad_autopilot.runs.layout import runs_folder
from bmad_autopilot.runs.question_file import AnswerSource
from bmad_autopilot.runs.questions import questions_of, record_answer
from tests.support.lane_projects import LaneProject, RecordedRun


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> LaneProject:
    """A run that has completed a step, and waits for an answer."""
    sample = LaneProject(tmp_path_factory.mktemp("torn") / "p", "asking")
    assert sample.run("epic", "1").end.status == "waiting"
    return sample


def folder_of(sample: LaneProject) -> Path:
    return Path(find_run(runs_folder(str(sample.root)), None).folder)


def read(folder: Path) -> RunRecord:
    return fold(
        (entry.kind, entry.data, entry.at) for entry in Journal(str(folder), lambda value: value).entries()
    )


def resume(sample: LaneProject) -> RecordedRun:
    log: list[tuple[str, Mapping[str, Any]]] = []
    run = find_run(runs_folder(str(sample.root)), None)
    project = open_project(str(sample.root))
    return RecordedRun(resume_run(project, run, on_event=lambda kind, data, at: log.append((kind, data))), log)


def test_a_journal_cut_at_any_byte_of_its_last_record(waiting: LaneProject, tmp_path: Path) -> None:
    folder = tmp_path / "main" / folder_of(waiting).name
    shutil.copytree(folder_of(waiting), folder)
    journal = folder / "journal.jsonl"
    whole = journal.read_bytes()
    lines = whole.splitlines(keepends=True)
    last = next(at for at in range(len(lines) - 1, 0, -1) if b'"kind":"accepted"' in lines[at])
    before, record = b"".join(lines[:last]), lines[last]
    journal.write_bytes(before)
    steps = read(folder).steps
    for cut in range(len(record)):
        journal.write_bytes(before + record[:cut])
        again = read(folder)
        assert (again.steps, again.checkpoints) == (steps, [])
        assert read_lane(str(folder)) is not None
        writer = Journal(str(folder), lambda value: value)
        writer.append("left", agents="none")
        writer.close()
        assert journal.read_bytes().startswith(before)
        assert len(Journal(str(folder), lambda value: value).entries()) == last + 1
    journal.write_bytes(before + record)
    assert [made["step"] for made in read(folder).checkpoints] == [1]


def test_a_state_cut_at_any_byte(waiting: LaneProject, tmp_path: Path) -> None:
    folder = tmp_path / "main" / folder_of(waiting).name
    shutil.copytree(folder_of(waiting), folder)
    whole = (folder / "state.json").read_bytes()
    known = load_run_state(str(folder), "main")
    assert known is not None
    for cut in range(len(whole) - 2):
        (folder / "state.json").write_bytes(whole[:cut])
        state = load_run_state(str(folder), "main")
        assert state is not None
        assert (state.run_id, state.steps_completed) == (known.run_id, known.steps_completed)
    assert [one.step for one in list_checkpoints(str(folder))] == [1]


@pytest.mark.real
@pytest.mark.parametrize("kind", ["accepted", "ended", "call", "asked"])
def test_it_goes_on_from_facts_and_makes_no_call_again(tmp_path: Path, kind: str) -> None:
    """Half of the last record of its kind is there, and nothing after it."""
    sample = LaneProject(tmp_path / "p", "asking")
    assert sample.run("epic", "1").end.status == "waiting"
    folder = folder_of(sample)
    journal = folder / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    last = next(at for at in range(len(lines) - 1, 0, -1) if f'"kind":"{kind}"'.encode() in lines[at])
    journal.write_bytes(b"".join(lines[:last]) + lines[last][: len(lines[last]) // 2])
    attempts = {str(path.relative_to(folder)) for path in folder.glob("steps/*/attempt-*")}
    (folder / "state.json").unlink()

    ran = resume(sample)
    assert ran.end.status == "waiting"
    assert {str(path.relative_to(folder)) for path in folder.glob("steps/*/attempt-*")} == attempts
    (asked,) = [path for path, question in questions_of(str(folder))[0] if question.answer is None]
    record_answer(asked, "1", AnswerSource.HUMAN)
    assert resume(sample).end.status == "completed"

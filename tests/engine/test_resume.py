"""Going back to a checkpoint, on real git: everything as it was then, in a run and on a branch of their own."""

import filecmp
import json
import os
from pathlib import Path

import pytest

from bmad_autopilot.agents import start
from bmad_autopilot.agents.shim import attempt_files
from bmad_autopilot.core.errors import AutopilotError, ConflictError
from bmad_autopilot.engine.resume import resume_fork, resume_run
from bmad_autopilot.io.files import hold_lock
from bmad_autopilot.project.project import open_project
from bmad_autopilot.runs.checkpoints import Checkpoint, all_checkpoints, find_checkpoint, list_checkpoints
from bmad_autopilot.runs.index import find_run
from bmad_autopilot.runs.journal import Journal
from bmad_autopilot.runs.layout import runs_folder
from tests.support.lane_projects import LaneProject, Person, RecordedRun


def go_back(sample: LaneProject, at: Checkpoint, person: Person | None = None) -> RecordedRun:
    log: list[tuple[str, dict[str, object]]] = []
    end = resume_fork(
        open_project(str(sample.root)),
        at,
        on_event=lambda kind, data, now: log.append((kind, dict(data))),
        human=person,
    )
    return RecordedRun(end, log)  # type: ignore[arg-type]


def everything_in(folder: str) -> dict[str, bytes]:
    paths = (Path(place) / name for place, _, names in os.walk(folder) for name in names)
    return {str(path): path.read_bytes() for path in paths}


@pytest.mark.real
def test_a_step_in_the_middle_of_an_epic(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", stories=2)
    first = sample.run("epic", "1")
    head = sample.git("rev-parse", "main")
    before = everything_in(first.end.folder)
    at = next(one for one in list_checkpoints(first.end.folder) if one.name == "dev")
    sample.write("notes.txt", "mine\n")

    ran = go_back(sample, at)
    assert ran.end.status == "completed"
    assert [call["step"] for call in ran.entries("call")] == ["code-review", "create-story", "dev", "code-review"]
    assert ran.end.run_id != first.end.run_id
    assert sample.git("branch", "--show-current") == f"main-{at.id}"
    assert sample.git("rev-parse", "main") == head
    assert everything_in(first.end.folder) == before
    (forked,) = ran.entries("forked")
    assert sample.git("show", f"{forked['saved']}:notes.txt") == "mine"


def test_tree_rows_and_variables_are_as_they_were_then(tmp_path: Path) -> None:
    """Shown by diffing: against the tree that the checkpoint's ref holds, and against the old run's own record."""
    sample = LaneProject(tmp_path / "p", "asking", stories=1)
    first = sample.run("epic", "1")
    assert first.end.status == "waiting"
    (at,) = [one for one in list_checkpoints(first.end.folder) if one.name == "create-story"]
    sample.write("src/later.py", "x = 1\n")
    sample.board.write_text(sample.board.read_text().replace("in-progress", "done"))

    ran = go_back(sample, at)
    assert ran.end.status == "waiting"  # the same agent asks the same again, in a question of the new run
    assert not (sample.root / "src/later.py").exists()
    entries = Journal(ran.end.folder, lambda value: value).entries()
    old = Journal(first.end.folder, lambda value: value).entries()
    assert [entry.kind for entry in entries[: at.entry]] == [entry.kind for entry in old[: at.entry]]
    assert entries[0].data["forked_from"]["run"] == first.end.run_id
    assert entries[at.entry].kind == "forked"
    variables = json.loads((Path(ran.end.folder) / "state.json").read_text())["session_variables"]
    assert variables == dict(at.variables)
    call = next(data for data in ran.entries("call"))
    spec = json.loads((Path(ran.end.folder) / "steps/02-dev/attempt-1/spec.json").read_text())
    assert call["step"] == "dev"
    changed = sample.git("diff", "--name-status", str(at.tree), spec["tree"]).splitlines()
    assert [line.split("\t")[1] for line in changed if not line.endswith("sprint-status.yaml")] == []
    assert filecmp.cmp(
        Path(first.end.folder) / "artefacts/step-01-output.md",
        Path(ran.end.folder) / "artefacts/step-01-output.md",
    )


@pytest.mark.real
def test_what_was_taken_over_is_the_old_runs_and_found_once(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    first = sample.run()
    at = list_checkpoints(first.end.folder)[0]
    ran = go_back(sample, at)
    runs = runs_folder(str(sample.root))
    assert find_checkpoint(runs, at.id).run == first.end.run_id
    assert len({one.digest for one in all_checkpoints(runs)}) == 5
    assert ran.end.record.dollars < first.end.record.dollars


@pytest.mark.real
def test_a_checkpoint_whose_tree_is_gone_says_so_and_touches_nothing(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    first = sample.run()
    at = list_checkpoints(first.end.folder)[0]
    sample.git("update-ref", "-d", at.ref)
    sample.git("reflog", "expire", "--expire=now", "--all")
    sample.git("gc", "--quiet", "--prune=now")
    with pytest.raises(AutopilotError, match="is not kept any more"):
        go_back(sample, at._replace(tree="0" * 40))
    assert sample.git("branch", "--show-current") == "main"
    assert sample.git("status", "--porcelain") == ""


def test_not_under_the_hands_of_an_agent(tmp_path: Path) -> None:
    """Left at work by a run that was killed, say: it would go on writing into a tree of another time."""
    sample = LaneProject(tmp_path / "p", "asking")
    first = sample.run()
    at = list_checkpoints(first.end.folder)[0]
    attempt = Path(first.end.folder) / "steps/02-dev/attempt-1"
    (attempt / attempt_files.RESULT).unlink()
    lock = start.acquire_worktree_lock(str(sample.root), str(attempt))
    try:
        with (
            hold_lock(str(attempt / attempt_files.LOCK)),
            pytest.raises(ConflictError, match="an agent is at work in this work tree") as refused,
        ):
            go_back(sample, at)
    finally:
        os.close(lock)
    assert f"bmad agent cancel {first.end.run_id}" in str(refused.value.hint)
    assert sample.git("branch", "--show-current") == "main"
    assert os.listdir(os.path.dirname(first.end.folder)) == [first.end.run_id]


@pytest.mark.real
def test_the_old_run_does_not_go_on_on_the_new_branch(tmp_path: Path) -> None:
    """What it finds there are not its own rows: nothing is recorded of them."""
    sample = LaneProject(tmp_path / "p", "asking")
    first = sample.run("epic", "1")
    before = everything_in(first.end.folder)
    go_back(sample, list_checkpoints(first.end.folder)[0])
    project = open_project(str(sample.root))
    old = find_run(runs_folder(str(sample.root)), first.end.run_id)
    with pytest.raises(AutopilotError, match="another branch is checked out") as refused:
        resume_run(project, old, on_event=lambda *entry: None)
    assert refused.value.hint == "git switch main"
    assert everything_in(first.end.folder) == before


@pytest.mark.real
def test_of_two_runs_of_one_epic_the_one_of_this_branch_is_gone_on_with(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", "asking")
    first = sample.run("epic", "1")
    fork = go_back(sample, list_checkpoints(first.end.folder)[0])
    assert sample.run("epic", "1").end.run_id == fork.end.run_id
    (saved,) = (str(data["saved"]) for data in fork.entries("forked"))
    sample.git("add", "--all")
    sample.git("commit", "--quiet", "--message", "Of the fork")
    sample.git("switch", "--quiet", "main")
    sample.git("restore", "--source", saved, "--", ".")
    again = sample.run("epic", "1", person=Person("1"))
    assert again.end.run_id == first.end.run_id
    assert again.entries("edited") == []
    assert again.end.status == "completed"

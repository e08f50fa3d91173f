"""Killed anywhere while it goes back to a checkpoint: the same again finishes it, nothing is lost, and no run goes
on in a tree that is half as it was."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.core.errors import ConflictError
from bmad_autopilot.engine import resume
from bmad_autopilot.engine.resume import fork_run, resume_run
from bmad_autopilot.git.git import Git
from bmad_autopilot.project.project import open_project
from bmad_autopilot.runs import checkpoints
from bmad_autopilot.runs.checkpoints import (
    FORK_MARKER,
    Checkpoint,
    InterruptedFork,
    find_interrupted_fork,
    list_checkpoints,
)
from bmad_autopilot.runs.index import all_runs, find_run
from bmad_autopilot.runs.layout import runs_folder
from tests.support.lane_projects import LaneProject


@pytest.fixture
def sample(tmp_path: Path) -> LaneProject:
    sample = LaneProject(tmp_path / "p", "asking")
    sample.run("epic", "1")
    sample.write("notes.txt", "mine\n")
    return sample


def checkpoint(sample: LaneProject) -> Checkpoint:
    runs = runs_folder(str(sample.root))
    return list_checkpoints(find_run(runs, None).folder)[0]


def killed_at(sample: LaneProject, at: Checkpoint, name: str, nth: int) -> bool:
    """In a process of its own, before its nth call of something that git or the disk is asked for."""
    child = os.fork()
    if child == 0:
        calls = 0
        place: Any = Git if name == "ask" else checkpoints if hasattr(checkpoints, name) else resume
        real = getattr(place, name)

        def counting(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == nth:
                os._exit(9)
            return real(*arguments, **options)

        setattr(place, name, counting)
        try:
            fork_run(open_project(str(sample.root)), at)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def half_of(sample: LaneProject) -> InterruptedFork | None:
    return find_interrupted_fork(Git(str(sample.root)).git_dir, runs_folder(str(sample.root)))


def saved_notes(sample: LaneProject, ref: str) -> str:
    return sample.git("show", f"{ref}:notes.txt")


OFTEN = [pytest.param("ask", n, marks=pytest.mark.real) for n in range(1, 36, 2)]


@pytest.mark.real
@pytest.mark.parametrize(("name", "nth"), [*OFTEN, ("move_ref", 1), ("_copy_artefacts", 1), ("forget_half", 1)])
def test_the_same_again_finishes_it(sample: LaneProject, name: str, nth: int) -> None:
    at = checkpoint(sample)
    runs = runs_folder(str(sample.root))
    before = all_runs(runs)
    killed_at(sample, at, name, nth)
    half = half_of(sample)
    if half is not None:
        assert saved_notes(sample, half.saved) == "mine"
        with pytest.raises(ConflictError, match="was cut short"):
            resume_run(open_project(str(sample.root)), before[0], on_event=lambda *entry: None)

    fork = fork_run(open_project(str(sample.root)), at)
    assert half is None or (fork.folder, fork.event_data["saved"]) == (half.folder(runs), half.saved)
    assert half_of(sample) is None
    assert sample.git("branch", "--show-current") == fork.event_data["branch"]
    assert sample.git("rev-parse", "HEAD") == at.head
    sample.git("add", "--all")
    changed = sample.git("diff", "--name-only", str(at.tree), sample.git("write-tree")).splitlines()
    assert [path for path in changed if not path.endswith("sprint-status.yaml")] == []
    refs = sample.git("for-each-ref", "--format=%(refname)", "refs/autopilot/saved/").splitlines()
    assert "mine" in [saved_notes(sample, ref) for ref in refs if sample.git("ls-tree", ref, "notes.txt")]


def test_what_is_written_over_it_meanwhile_is_kept_too(sample: LaneProject) -> None:
    at = checkpoint(sample)
    assert killed_at(sample, at, "_copy_artefacts", 1)
    sample.write("notes.txt", "later\n")
    fork = fork_run(open_project(str(sample.root)), at)
    saved = str(fork.event_data["saved"])
    assert not (sample.root / "notes.txt").exists()
    assert [saved_notes(sample, one) for one in (saved, f"{saved}^2")] == ["later", "mine"]


@pytest.mark.parametrize("run", ["..", "../..", "/etc", "", "a/b", "archive"])
def test_a_note_that_leads_elsewhere_is_none(tmp_path: Path, run: str) -> None:
    note = {
        "checkpoint": "a" * 64,
        "session": "main",
        "run": run,
        "branch": "b",
        "saved": "refs/autopilot/saved/x",
    }
    (tmp_path / FORK_MARKER).write_text(json.dumps(note))
    assert find_interrupted_fork(str(tmp_path), str(tmp_path)) is None
    (tmp_path / FORK_MARKER).write_text(json.dumps({**note, "run": "lean-20260101-120000"}))
    assert find_interrupted_fork(str(tmp_path), str(tmp_path)) is not None

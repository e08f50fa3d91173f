"""Git's door in real runs: what people left lying about stays theirs, what calls are judged by stays there."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.core.lane_scope import LaneScope
from bmad_autopilot.engine.runner import start_run
from bmad_autopilot.git.refs import PINNED
from bmad_autopilot.project.project import open_project
from bmad_autopilot.sim.sample import make_sample, scripted_agent_command
from tests.support.lane_projects import LaneProject, paths_changed_by

CHANGED = "src/ledger/money.py"


class Meddling(LaneProject):
    """Its agent writes into these files in every call, before its own work."""

    def __init__(self, root: Path, *files: str) -> None:
        self.root = root
        script = root.parent / "agent.sh"
        lines = [f"echo '# by the agent' >>{file}" for file in files]
        script.write_text("\n".join([*lines, 'exec "$@"', ""]))
        make_sample(str(root), 1, 1, agent_command=("sh", str(script), *scripted_agent_command()))

    def staged(self) -> list[str]:
        return self.git("diff", "--cached", "--name-only").splitlines()


class Committing(LaneProject):
    """Its agent commits everything in the work tree in each call, halfway and at the end."""

    def __init__(self, root: Path, era: str = "classic") -> None:
        self.root = root
        script = root.parent / "agent.sh"
        commit = "git add --all && git commit --quiet --allow-empty --no-verify -m 'feat: work in progress'"
        script.write_text(f'{commit}\n"$@"\ncode=$?\n{commit}\nexit $code\n')
        make_sample(str(root), 1, 1, agent_command=("sh", str(script), *scripted_agent_command()), era=era)
        self.board = Path(open_project(str(root)).require_board())


@pytest.mark.real
def test_files_that_were_new_or_changed_before_we_began_are_neither_staged_nor_committed(tmp_path: Path) -> None:
    sample = Meddling(tmp_path / "p", "mine.txt", CHANGED)
    sample.write("mine.txt", "a person's\n")
    sample.write(CHANGED, (sample.root / CHANGED).read_text() + "# a person's\n")
    before = sample.git("rev-parse", "HEAD")
    staged: list[list[str]] = []

    def told(kind: str, data: Mapping[str, Any], at: float) -> None:
        if kind in ("ended", "commit"):
            staged.append(sample.staged())

    end = start_run(open_project(str(sample.root)), LaneScope.STORY, "1-1", on_event=told, allow_dirty=True)
    assert end.status == "completed"
    assert staged
    assert not {"mine.txt", CHANGED} & {path for paths in staged for path in paths}
    made = sample.git("rev-list", f"{before}..HEAD").split()
    assert made
    assert not {"mine.txt", CHANGED} & paths_changed_by(sample, made)
    assert "a person's" in (sample.root / CHANGED).read_text()


@pytest.mark.parametrize("era", [pytest.param("classic", marks=pytest.mark.real), "build"])
def test_an_agents_own_commits_never_hold_files_that_were_the_users_before(tmp_path: Path, era: str) -> None:
    """build-auto commits by itself with `git add --all`; so may any other agent."""
    sample = Committing(tmp_path / "p", era=era)
    sample.write("my-private-notes.txt", "a person's\n")
    sample.write("deep/caf\udce9 notes.txt", "a person's\n")
    sample.write("README.md", (sample.root / "README.md").read_text() + "a person's draft\n")
    before, status = sample.git("rev-parse", "HEAD"), sample.git("status", "--porcelain")
    ran = sample.run(allow_dirty=True)
    assert ran.end.status == "completed"
    made = sample.git("rev-list", f"{before}..HEAD").split()
    assert "feat: work in progress" in sample.git("log", "--format=%s", f"{before}..HEAD")
    assert not {name for name in paths_changed_by(sample, made) if "notes" in name or name == "README.md"}
    assert sample.git("status", "--porcelain") == status
    assert "a person's draft" in (sample.root / "README.md").read_text()
    taken = [entry["taken_out"] for entry in ran.entries("ended") if entry.get("taken_out")]
    assert {"README.md", "my-private-notes.txt"} <= {path for paths in taken for path in paths}


@pytest.mark.real
def test_a_file_that_a_person_makes_between_two_calls_stays_out_of_an_agents_own_commits(tmp_path: Path) -> None:
    sample = Committing(tmp_path / "p")
    before = sample.git("rev-parse", "HEAD")

    def told(kind: str, data: Mapping[str, Any], at: float) -> None:
        if kind == "accepted" and data["step"] == "create-story":
            sample.write("between.txt", "a person's\n")

    assert start_run(open_project(str(sample.root)), LaneScope.STORY, "1-1", on_event=told).status == "completed"
    made = sample.git("rev-list", f"{before}..HEAD").split()
    assert "between.txt" not in paths_changed_by(sample, made)
    assert sample.git("status", "--porcelain") == "?? between.txt"


@pytest.mark.real
def test_a_file_that_a_person_makes_between_two_calls_is_neither_staged_nor_committed(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    before = sample.git("rev-parse", "HEAD")
    staged: list[str] = []

    def told(kind: str, data: Mapping[str, Any], at: float) -> None:
        if kind == "accepted" and data["step"] == "dev":
            sample.write("between.txt", "a person's\n")
        if kind == "ended" and data["step"] == "code-review":
            staged.extend(sample.git("diff", "--cached", "--name-only").splitlines())

    assert start_run(open_project(str(sample.root)), LaneScope.STORY, "1-1", on_event=told).status == "completed"
    assert staged
    assert "between.txt" not in staged
    assert (sample.root / "between.txt").exists()
    assert "between.txt" not in paths_changed_by(sample, sample.git("rev-list", f"{before}..HEAD").split())


@pytest.mark.real
def test_trees_are_held_while_a_story_is_under_way_and_let_go_when_it_is_done(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    held: list[int] = []

    def told(kind: str, data: Mapping[str, Any], at: float) -> None:
        if kind in ("story", "ended"):
            held.append(len(sample.git("for-each-ref", PINNED).splitlines()))

    assert start_run(open_project(str(sample.root)), LaneScope.STORY, "1-1", on_event=told).status == "completed"
    assert held[0] == 1
    assert held == sorted(held)
    assert sample.git("for-each-ref", PINNED) == ""


def test_a_story_that_waits_for_a_person_still_holds_its_trees(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", "no-change")
    end = sample.run().end
    assert end.status == "waiting"
    names = sample.git("for-each-ref", "--format=%(refname)", PINNED).splitlines()
    assert names
    assert all(name.startswith(f"{PINNED}{os.path.basename(end.folder)}/") for name in names)
    sample.git("gc", "--quiet", "--prune=now")
    assert sample.git("cat-file", "-t", names[0]) == "tree"

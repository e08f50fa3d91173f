"""Projects that an earlier release left halfway are resumed by this one: nothing is lost, repeated or misread."""

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bmad_autopilot.cli import bmad
from bmad_autopilot.project.project import open_project
from scripts.upgrade_fixture import plain
from tests.support.schemas import parse_validated
from tests.upgrade.restore import HERE, RELEASES, Restored, restore

BOARD = "_bmad-output/implementation-artifacts/sprint-status.yaml"
CASES = ("story", "epic", "flight", "flow", "workflow", "protocol")
READING = (("runs",), ("runs", "show"), ("questions",), ("resume", "--list"))

# Deliberate changes of how settings are read. Since 0.1.1 each command that is not set is detected by itself.
CHANGED = {f".commands.{name}: [] → None" for name in ("check", "test", "build")}

pytestmark = pytest.mark.parametrize("release", RELEASES)


def calls(project: Restored) -> Counter[tuple[str, str]]:
    """How often an agent was called for each step of each story, by the journals."""
    return Counter((entry.data["story"], entry.data["step"]) for entry in project.entries("call"))


def finished(project: Restored) -> Counter[tuple[str, str]]:
    return Counter((entry.data["story"], entry.data["step"]) for entry in project.entries("accepted"))


def rows(text: str) -> dict[str, str]:
    """Of a board: its stories and epics."""
    return dict(re.findall(r"^  (epic-\d+|\d+-\d+-\S+): (\S+)", text, re.MULTILINE))


def only_users_files_are_left(project: Restored, *changed: str) -> None:
    status = project.git("status", "--porcelain").splitlines()
    assert sorted(line.split()[-1] for line in status) == sorted(changed), status


def test_a_release_is_recorded(release: str) -> None:
    assert {path.name for path in (HERE / release).iterdir()} == {*CASES, "settings"}


@pytest.mark.parametrize("case", CASES)
def test_commands_that_read_understand_it(release: str, case: str, tmp_path: Path) -> None:
    project = restore(release, case, tmp_path)
    (run, *_) = sorted(path.parent.name for path in project.work.glob("_bmad-output/.runs/*/*/journal.jsonl"))

    def said(*words: str, code: int = 0) -> str:
        done = CliRunner().invoke(bmad, ["-C", str(project.work), *words])
        assert done.exit_code == code, (words, done.output, done.exception)
        return done.output

    shown = said("status", "--json", code=3 if case == "flow" else 0)
    parse_validated("status", shown)
    texts = {words: said(*words) for words in READING}
    assert run in texts["runs",]
    assert run in texts["resume", "--list"]
    assert ("no question is open" in texts["questions",]) == (case in ("epic", "protocol"))


def test_an_answered_story_is_finished(release: str, tmp_path: Path) -> None:
    project = restore(release, "story", tmp_path)
    project.bmad("answer", "1-1", "1")
    project.bmad("resume")
    key = "1-1-list-accounts"
    assert finished(project) == {(key, "create-story"): 1, (key, "dev"): 1, (key, "code-review"): 1}
    assert calls(project) == {(key, "create-story"): 1, (key, "dev"): 2, (key, "code-review"): 1}
    assert project.commits() == [f"Story {key}", "Close epic-1"]
    assert "As decided: count them" in project.git("show", f"HEAD:{Path(BOARD).parent}/{key}.md")
    assert set(rows(project.git("show", f"HEAD:{BOARD}")).values()) == {"done"}
    only_users_files_are_left(project, "README.md", "notes.txt")
    assert "Changed by the user" not in project.git("show", "HEAD:README.md")


@pytest.mark.real
def test_a_killed_epic_is_finished(release: str, tmp_path: Path) -> None:
    project = restore(release, "epic", tmp_path)
    before = finished(project)
    project.bmad("run-epic", "1")
    keys = ("1-2-count-accounts", "1-3-search-accounts")
    steps = ("create-story", "dev", "code-review")
    assert finished(project) == {(key, step): 1 for key in keys for step in steps}
    assert set(before) < set(finished(project))
    lost = ("1-3-search-accounts", "dev")
    assert calls(project) == {**{(key, step): 1 for key in keys for step in steps}, lost: 2}
    assert project.commits() == [*(f"Story {key}" for key in keys), "Close epic-1"]
    assert set(rows(project.git("show", f"HEAD:{BOARD}")).values()) == {"done"}
    only_users_files_are_left(project, "notes.txt")
    assert len({entry.run for entry in project.entries("run")}) == 1
    again = project.bmad("status").out
    assert "bmad resume" not in again


@pytest.mark.real
def test_a_killed_autopilot_is_finished_by_the_same_command(release: str, tmp_path: Path) -> None:
    project = restore(release, "flight", tmp_path)
    base = project.git("rev-parse", "main")
    project.bmad("answer", "2-1", "1")
    project.bmad("autopilot", "--parallel", "2")
    keys = ("1-1-list-accounts", "2-1-list-payments")
    steps = ("create-story", "dev", "code-review")
    assert finished(project) == {(key, step): 1 for key in keys for step in steps}
    expected = {(key, step): 2 if step == "dev" else 1 for key in keys for step in steps}  # one lost, one asked
    # A call during which the other lane is merged into the checkout may be refused for that, and repeated.
    more = {key: count - expected[key] for key, count in calls(project).items()}
    assert set(more) == set(expected)
    assert min(more.values()) == 0
    assert sum(more.values()) <= 1
    assert len({entry.run for entry in project.entries("run")}) == 2
    assert project.git("rev-list", "--count", f"{base}..main") == "2"
    assert project.git("branch", "--format=%(refname:short)") == "main"
    assert len(project.git("worktree", "list").splitlines()) == 1
    assert set(rows(project.git("show", f"main:{BOARD}")).values()) == {"done"}
    only_users_files_are_left(project, "notes.txt")


@pytest.mark.real
def test_a_flow_goes_on_from_its_gate(release: str, tmp_path: Path) -> None:
    project = restore(release, "flow", tmp_path)
    project.bmad("intervene", "greenfield", "proceed")
    project.bmad("flow", "run", code=3)  # the session ends after Decompose
    ran = (project.work / ".git" / "ran").read_text().splitlines()
    assert ran == ["Problem", "Research", "Plan", "Decompose"]
    assert len({entry.run for entry in project.entries("run")}) == 1


@pytest.mark.real
def test_a_workflow_file_goes_on_after_its_checkpoint(release: str, tmp_path: Path) -> None:
    project = restore(release, "workflow", tmp_path)
    (project.work / ".git" / "ready").touch()
    project.bmad("intervene", "notes", "retry")
    project.bmad("resume")
    assert (project.work / ".git" / "ran").read_text() == "collect\npublish since v2.0\n"


@pytest.mark.real
def test_checkpoints_of_an_agent_are_handed_on_and_closed(release: str, tmp_path: Path) -> None:
    project = restore(release, "protocol", tmp_path)
    told = project.bmad("resume").out
    assert "shop" in told
    assert "no accounts" in told
    project.bmad("checkpoint", "save", "--workflow", "create-prd", "--step", "2", "--total", "8")
    project.bmad("checkpoint", "close", "--summary", "written")
    (state,) = project.work.glob("_bmad-output/.runs/*/*/state.json")
    assert json.loads(state.read_text())["status"] == "completed"


@pytest.mark.parametrize("name", ["full", "legacy"])
def test_settings_mean_the_same(release: str, name: str, tmp_path: Path) -> None:
    stored = HERE / release / "settings" / name
    shutil.copytree(stored / "files", tmp_path, dirs_exist_ok=True)
    (tmp_path / ".git").mkdir()
    expected = json.loads((stored / "values.json").read_text())
    differences = differing("", expected, plain(open_project(str(tmp_path)).config, str(tmp_path)))
    assert [line for line in differences if line not in CHANGED] == []


def differing(name: str, old: Any, new: Any) -> list[str]:
    """Settings that are read to another value than the release did. A record may have new fields."""
    if isinstance(old, dict) and isinstance(new, dict):
        gone = [f"{name}.{key} is gone" for key in old if key not in new]
        return gone + [
            line for key in old if key in new for line in differing(f"{name}.{key}", old[key], new[key])
        ]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return [line for at, (one, two) in pairs for line in differing(f"{name}.{at}", one, two)]
    return [] if old == new else [f"{name}: {old!r} → {new!r}"]


@pytest.mark.real
@pytest.mark.parametrize("damage", ["run", "story", "left-out"])
def test_a_run_without_an_essential_record_is_not_finished(release: str, damage: str, tmp_path: Path) -> None:
    """The resumes above depend on the recorded state: without a part of it nothing is committed."""
    project = restore(release, "story", tmp_path)
    journal = project.journal()
    if damage == "left-out":
        (journal.parent / damage).unlink()
    else:
        lines = journal.read_text().splitlines(keepends=True)
        journal.write_text("".join("{}\n" if f'"kind":"{damage}"' in line else line for line in lines))
    project.bmad("answer", "1-1", "1")
    project.bmad("resume", code={"run": 1, "story": 3, "left-out": 4}[damage])
    assert project.commits() == []
    assert rows((project.work / BOARD).read_text())["1-1-list-accounts"] == "in-progress"

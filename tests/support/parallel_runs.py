"""Autopilot runs with parallel lanes, passing checks and no required approval, and checks of their result."""

import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bmad_autopilot.runs.index import all_runs
from bmad_autopilot.runs.layout import runs_folder
from bmad_autopilot.sim.github.checks import CIJob, SimCI
from bmad_autopilot.sim.sample import BOARD
from tests.support.autopilot_runs import AutopilotProject, AutopilotRun, run_git
from tests.support.bmad_project import git

TOP = 'require_review = "none"\nmerge = "auto"\n'


def parallel_project(
    folder: Path,
    *,
    epics: int = 3,
    stories: int = 1,
    dependencies: str = "none",
    agent: Sequence[str] = (),
    **more: str,
) -> AutopilotProject:
    top = f'dependencies = "{dependencies}"\n{TOP}{more.pop("top", "")}'
    pilot = AutopilotProject(folder, epics=epics, stories=stories, top=top, agent=agent, **more)
    SimCI(pilot.model, [CIJob("test", duration=5.0)])
    return pilot


def check_merged(project: AutopilotProject, run: AutopilotRun, *merged: str) -> None:
    """Check that these epics were merged once, as tested, that all their rows are done on the base, and that no
    thread or change is left."""
    assert sorted(run.end.merged) == sorted(merged), run.end
    opened = [one.data["head_ref"] for one in project.effects("open-pull")]
    assert len(opened) == len(set(opened))
    merges = project.effects("merge")
    assert len(merges) == len(merged)
    for one in merges:
        assert (one.data["rollup"], one.data["same_tree"], one.data["held_base"]) == ("SUCCESS", True, True)
        assert one.data["base_ref"] == "main"
    assert not [one for one in project.effects("push", by=None) if one.data["forced"]]
    board = run_git(project.work, "show", f"origin/main:{BOARD}")
    rows = re.findall(r"^  (epic-\d+|\d+-\d+-\S+): (\S+)", board, re.MULTILINE)
    numbers = tuple(key.removeprefix("epic-") for key in merged)
    assert {key for key, status in rows if status == "done"} == {
        key for key, _ in rows if key.removeprefix("epic-").split("-")[0] in numbers
    }
    assert lane_threads() == []
    assert git(project.work, "status", "--porcelain") == ""


def lane_threads() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name.startswith("epic-")]


def lane_worktrees(project: AutopilotProject) -> list[str]:
    """Folder names of the lanes' worktrees."""
    found = run_git(project.work, "worktree", "list", "--porcelain").splitlines()
    return [Path(line.removeprefix("worktree ")).name for line in found if line.startswith("worktree ")][1:]


def runs_of(project: AutopilotProject, key: str) -> list[str]:
    return [
        run.folder
        for run in all_runs(runs_folder(str(project.work)))
        if Path(run.folder).name.startswith(f"{key}-")
    ]


def first_entry(kind: str, **wanted: str) -> Any:
    """A predicate for the first entry of this kind with these values."""
    seen: list[Mapping[str, Any]] = []

    def is_it(found: str, data: Mapping[str, Any]) -> bool:
        if found != kind or seen or any(data.get(name) != value for name, value in wanted.items()):
            return False
        seen.append(data)
        return True

    return is_it

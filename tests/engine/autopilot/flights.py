"""Flights with lanes beside each other: checks that pass, nobody who has to approve, and what came of each."""

import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bmad_autopilot.runs.finding import all_runs
from bmad_autopilot.runs.layout import runs_folder
from bmad_autopilot.sim.github.ci import Job, SimCI
from bmad_autopilot.sim.sample import BOARD
from tests.engine.autopilot.piloting import Flight, Pilot, run_git
from tests.support import git

TOP = 'require_review = "none"\nmerge = "auto"\n'


def side_by_side(
    folder: Path,
    *,
    epics: int = 3,
    stories: int = 1,
    dependencies: str = "none",
    agent: Sequence[str] = (),
    **more: str,
) -> Pilot:
    top = f'dependencies = "{dependencies}"\n{TOP}{more.pop("top", "")}'
    pilot = Pilot(folder, epics=epics, stories=stories, top=top, agent=agent, **more)
    SimCI(pilot.model, [Job("test", takes=5.0)])
    return pilot


def checked(pilot: Pilot, flight: Flight, *merged: str) -> None:
    """These were merged, once each, and as they were tested; all of each is done on the base; nothing is left."""
    assert sorted(flight.end.merged) == sorted(merged), flight.end
    opened = [one.data["head_ref"] for one in pilot.effects("open-pull")]
    assert len(opened) == len(set(opened))
    merges = pilot.effects("merge")
    assert len(merges) == len(merged)
    for one in merges:
        assert (one.data["rollup"], one.data["same_tree"], one.data["held_base"]) == ("SUCCESS", True, True)
        assert one.data["base_ref"] == "main"
    assert not [one for one in pilot.effects("push", by=None) if one.data["forced"]]
    board = run_git(pilot.work, "show", f"origin/main:{BOARD}")
    rows = re.findall(r"^  (epic-\d+|\d+-\d+-\S+): (\S+)", board, re.MULTILINE)
    numbers = tuple(key.removeprefix("epic-") for key in merged)
    assert {key for key, status in rows if status == "done"} == {
        key for key, _ in rows if key.removeprefix("epic-").split("-")[0] in numbers
    }
    assert lane_threads() == []
    assert git(pilot.work, "status", "--porcelain") == ""


def lane_threads() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name.startswith("epic-")]


def worktrees(pilot: Pilot) -> list[str]:
    """Of lanes, by the names of their folders."""
    found = run_git(pilot.work, "worktree", "list", "--porcelain").splitlines()
    return [Path(line.removeprefix("worktree ")).name for line in found if line.startswith("worktree ")][1:]


def runs_of(pilot: Pilot, key: str) -> list[str]:
    return [
        run.folder for run in all_runs(runs_folder(str(pilot.work))) if Path(run.folder).name.startswith(f"{key}-")
    ]


def once(kind: str, **wanted: str) -> Any:
    """Whether this entry is the first of its kind with just these values."""
    seen: list[Mapping[str, Any]] = []

    def is_it(found: str, data: Mapping[str, Any]) -> bool:
        if found != kind or seen or any(data.get(name) != value for name, value in wanted.items()):
            return False
        seen.append(data)
        return True

    return is_it

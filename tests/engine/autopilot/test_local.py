"""Without a forge: an epic's branch, its checks, and the merge here; by us or by a person."""

import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.board.sprint_status import read_board
from bmad_autopilot.core.errors import EXIT_DONE, EXIT_FAILED, EXIT_HUMAN
from bmad_autopilot.core.scheduling import LaneStage
from bmad_autopilot.engine.autopilot import supervisor
from bmad_autopilot.engine.autopilot.checkouts import LaneCheckouts
from bmad_autopilot.engine.autopilot.monitor import LaneMonitor
from bmad_autopilot.git import git as git_door
from bmad_autopilot.project.project import open_project
from tests.support.autopilot_runs import BRANCH, AutopilotProject, run_git
from tests.support.terminals import COMMAND


def local(folder: Path, merge: str, *, epics: int = 1) -> AutopilotProject:
    pilot = AutopilotProject(folder, epics=epics)
    settings = pilot.work / "bmad-autopilot.toml"
    settings.write_text(f'delivery = "local"\nmerge = "{merge}"\n{settings.read_text()}')
    run_git(pilot.work, "commit", "--quiet", "--all", "--message", "Merged here")
    run_git(pilot.work, "remote", "remove", "origin")
    return pilot


def statuses(pilot: AutopilotProject) -> set[str]:
    rows = read_board(open_project(str(pilot.work)).require_board()).rows.values()
    return {row.meaning for row in rows if row.epic}


def test_epic_after_epic_is_merged_here_as_one_commit_each(tmp_path: Path) -> None:
    pilot = local(tmp_path / "p", "auto", epics=2)
    before = run_git(pilot.work, "rev-parse", "main")
    end = pilot.run().end
    assert (end.exit_code, end.merged, end.lanes) == (EXIT_DONE, ("epic-1", "epic-2"), ())
    assert run_git(pilot.work, "rev-list", "--count", f"{before}..main") == "2"
    assert run_git(pilot.work, "branch", "--format=%(refname:short)") == "main"
    assert run_git(pilot.work, "status", "--porcelain", "--untracked-files=no") == ""
    assert statuses(pilot) == {"done", "optional"}  # its retrospective


@pytest.mark.parametrize("how", [("merge", "--no-ff", "--no-edit"), ("merge", "--ff-only")], ids=["merge", "ff"])
def test_a_persons_own_merge_is_noticed(tmp_path: Path, how: tuple[str, ...]) -> None:
    pilot = local(tmp_path / "p", "manual")
    waited: list[str] = []

    def merge_when_asked(kind: str, data: Mapping[str, Any]) -> None:
        if kind == "pending" and not waited:
            waited.append(str(data["why"]))
            run_git(pilot.work, "switch", "--quiet", "main")
            run_git(pilot.work, *how, BRANCH)

    end = pilot.run(merge_when_asked).end
    assert waited == ["a person to merge it"]
    assert (end.exit_code, end.merged) == (EXIT_DONE, ("epic-1",))


def merge_is_tried(kind: str, data: Mapping[str, Any]) -> bool:
    return kind == "effect" and data.get("do") == "merge"


@pytest.mark.parametrize("parallel", [0, 1])
def test_a_base_that_moves_at_the_moment_of_the_merge_is_taken_in(tmp_path: Path, parallel: int) -> None:
    """As another lane's merge does, or a person's commit. The branch moves by compare and set, which fails once;
    the base is then merged into the branch, checked, and the epic is merged, without a question."""
    pilot = local(tmp_path / "p", "auto")
    moved: list[str] = []

    def commit_first(kind: str, data: Mapping[str, Any]) -> None:
        if merge_is_tried(kind, data) and not moved:
            tree = run_git(pilot.work, "rev-parse", "main^{tree}")
            made = run_git(pilot.work, "commit-tree", tree, "-p", "main", "-m", "Theirs")
            run_git(pilot.work, "update-ref", "refs/heads/main", made)
            moved.append(made)

    flight = pilot.run(commit_first, parallel=parallel)
    assert (flight.end.exit_code, flight.end.merged) == (EXIT_DONE, ("epic-1",)), flight.end
    assert flight.entries("asked") == []
    assert run_git(pilot.work, "rev-parse", "main^") == moved[0]


def test_a_lock_in_the_checkout_holds_a_merge_up_and_asks_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The base is checked out there, and a person's git is at work in it."""
    monkeypatch.setattr(git_door, "LOCK_SECONDS", 0.1)
    pilot = local(tmp_path / "p", "auto")
    lock = pilot.work / ".git/index.lock"
    was: list[str] = []

    def hold_it(kind: str, data: Mapping[str, Any]) -> None:
        if merge_is_tried(kind, data) and not was:
            lock.touch()
        elif kind == "trouble":
            was.append(str(data["why"]))
            lock.unlink(missing_ok=True)

    flight = pilot.run(hold_it, parallel=1)
    assert (flight.end.exit_code, flight.end.merged) == (EXIT_DONE, ("epic-1",)), flight.end
    assert len(was) == 1
    assert str(lock) in was[0]
    assert flight.entries("asked") == []


def writing(pilot: AutopilotProject, command: str) -> None:
    """The project's check writes to a file that git tracks."""
    (pilot.work / "snapshot.txt").write_text("as committed\n")
    settings = pilot.work / "bmad-autopilot.toml"
    settings.write_text(re.sub(r"test = .*", f"test = ['{command}']", settings.read_text()))
    run_git(pilot.work, "add", "snapshot.txt")
    run_git(pilot.work, "commit", "--quiet", "--all", "--message", "A check that writes")


def end_if_it_waits(kind: str, data: Mapping[str, Any]) -> None:
    assert kind != "pending" or "the work tree" not in data["why"], data


ALWAYS_ANOTHER, ALWAYS_THE_SAME = "date +%s%N >> snapshot.txt", "echo as tested > snapshot.txt"


@pytest.mark.parametrize("command", [ALWAYS_ANOTHER, ALWAYS_THE_SAME, "rm snapshot.txt", "chmod +x snapshot.txt"])
def test_what_a_check_writes_in_a_lane_is_put_back(tmp_path: Path, command: str) -> None:
    """Two epics: the second takes the first one in, with its work tree. What is merged is what was tested."""
    pilot = local(tmp_path / "p", "auto", epics=2)
    writing(pilot, command)
    flight = pilot.run(end_if_it_waits, parallel=2)
    assert (flight.end.exit_code, sorted(flight.end.merged)) == (EXIT_DONE, ["epic-1", "epic-2"]), flight.end
    assert flight.entries("asked") == []
    assert run_git(pilot.work, "show", "main:snapshot.txt") == "as committed"
    assert run_git(pilot.work, "ls-tree", "main", "snapshot.txt").startswith("100644 ")
    wrote = [check for check in flight.entries("check") if check["wrote"]]
    assert wrote
    assert all((check["wrote"], check["put_back"]) == ([[command, "snapshot.txt"]], True) for check in wrote)


def test_what_a_check_writes_in_the_users_checkout_is_asked_about(tmp_path: Path) -> None:
    """A person may have written it: it is left as it is, and the question names the file and the check."""
    pilot = local(tmp_path / "p", "auto")
    writing(pilot, ALWAYS_THE_SAME)
    flight = pilot.run(end_if_it_waits)
    (asked,) = flight.entries("asked")
    assert (flight.end.exit_code, asked["code"]) == (EXIT_HUMAN, "restless")
    assert f"snapshot.txt (by `{ALWAYS_THE_SAME}`)" in asked["context"]
    assert (pilot.work / "snapshot.txt").read_text() == "as tested\n"


class Killed(Exception):
    pass


def test_a_lane_whose_place_stays_in_the_way_is_given_up_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its branch cannot be checked out, and no other lane's work is the reason: a person has to see to it."""
    pilot = local(tmp_path / "p", "auto")

    def kill(kind: str, data: Mapping[str, Any]) -> None:
        if kind == "call":
            raise Killed

    with pytest.raises(Killed):
        pilot.run(kill)
    monkeypatch.setattr(supervisor, "PATIENCE", 0.3)
    monkeypatch.setattr(supervisor, "AGAIN", 0.1)
    monkeypatch.setattr(LaneMonitor, "_interval", lambda self: 0.05)
    monkeypatch.setattr(LaneCheckouts, "check_out", lambda self, held, lanes: "tracked files have changes: a.py")
    flight = pilot.run()
    (held,) = flight.end.lanes
    assert (flight.end.exit_code, held.stage) == (EXIT_FAILED, LaneStage.BLOCKED)
    assert held.why == "the work tree: tracked files have changes: a.py"

    monkeypatch.undo()
    assert pilot.run(resume_all=True).end.merged == ("epic-1",)


@pytest.mark.parametrize("times", [1, 2], ids=["of a story", "of the delivery"])
def test_what_a_check_wrote_before_a_kill_is_put_back(tmp_path: Path, times: int) -> None:
    """The supervisor is killed while a check runs, for the story or for what is delivered."""
    pilot = local(tmp_path / "p", "auto")
    count = tmp_path / "count"
    kills = f"{ALWAYS_THE_SAME}; echo >> {count}; [ $(wc -l < {count}) != {times} ] || kill -9 $BMAD_TO_KILL"
    writing(pilot, kills)
    settings = pilot.work / "bmad-autopilot.toml"
    settings.write_text(f'{settings.read_text()}\n[environment]\npass = ["BMAD_TO_KILL"]\n')
    run_git(pilot.work, "commit", "--quiet", "--all", "--message", "Kills")
    code = "exec env BMAD_TO_KILL=$$ " + shlex.join([*COMMAND, "autopilot", "--parallel", "1"])
    killed = subprocess.run(["sh", "-c", code], cwd=pilot.work, capture_output=True, text=True)
    assert killed.returncode == -9, killed.stdout + killed.stderr
    flight = pilot.run(end_if_it_waits, parallel=1, resume_all=True)
    assert (flight.end.exit_code, flight.end.merged) == (EXIT_DONE, ("epic-1",)), flight.end
    assert run_git(pilot.work, "show", "main:snapshot.txt") == "as committed"

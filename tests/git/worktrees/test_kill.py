"""Killed anywhere while a worktree is made or removed: the next call puts it right, and nothing is lost."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.core.errors import ConflictError
from bmad_autopilot.git import git
from bmad_autopilot.git.commits import stage_paths
from bmad_autopilot.git.git import Git, GitError
from bmad_autopilot.git.worktrees import create, lane_worktrees, marker, populate, site
from bmad_autopilot.io.processes import run_process
from tests.conftest import REPOSITORY
from tests.support.agent_stubs import wait_until
from tests.support.worktree_projects import BRANCH, EPIC, WorktreeProject, contents, git_dir, worktree_repository

SKILL = ".claude/skills/bmad-dev-story/SKILL.md"
MOST = 30


class Killed(BaseException):
    """Nothing of ours catches it."""


class Killer:
    """Lets so many effects pass, and none after them."""

    def __init__(self, patch: pytest.MonkeyPatch, passed: int) -> None:
        self._left = passed
        for module, name in (
            (marker, "write_atomic"),
            (populate, "copy_into"),
            (create, "drop_intent"),
            (lane_worktrees, "drop_intent"),
            (site, "set_aside"),
            (site, "throw_away"),
        ):
            patch.setattr(module, name, self._guarded(getattr(module, name)))
        ask = self._guarded(Git.ask)

        def guarded(git: Git, *words: str, **options: Any) -> object:
            writes = words[:2] in (("worktree", "add"), ("worktree", "remove")) or words[0] == "reset"
            return (ask if writes else Git_ask)(git, *words, **options)

        Git_ask = Git.ask
        patch.setattr(Git, "ask", guarded)

    def _guarded(self, act: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*arguments: Any, **options: Any) -> Any:
            if self._left == 0:
                raise Killed
            self._left -= 1
            return act(*arguments, **options)

        return guarded


def kill_each(monkeypatch: pytest.MonkeyPatch, act: Callable[[int], object], check: Callable[[int], None]) -> int:
    """Kill `act` before each of its effects, and look each time. How many effects it had."""
    for passed in range(MOST):
        with monkeypatch.context() as patch:
            Killer(patch, passed)
            try:
                act(passed)
                return passed
            except Killed:
                pass
        check(passed)
    raise AssertionError("it never came to its end")


def test_killed_while_it_is_made(sample: WorktreeProject, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(number: int) -> str:
        return sample.make(f"epic-{number}", f"feature/{number}").folder

    def check(number: int) -> None:
        folder = make(number)
        work = Path(folder)
        assert sample.registered_worktrees()[folder] == f"feature/{number}"
        assert sorted(contents(work)) == [SKILL, ".gitignore", "_bmad/bmm/config.yaml", "readme.txt", "src/app.py"]
        assert Git(folder).ask("status", "--porcelain").text == ""

    count = kill_each(monkeypatch, make, check)
    assert count >= 7
    assert len(sample.registered_worktrees()) == count + 1
    sample.worktrees().prune()
    assert len(list(sample.folder.iterdir())) == count + 1
    state = sample.top / ".git/bmad-autopilot/worktrees"
    assert [path for path in state.iterdir() if path.suffix == ".json"] == []
    assert sample.is_untouched()


@pytest.mark.real
def test_killed_while_it_is_removed(sample: WorktreeProject, monkeypatch: pytest.MonkeyPatch) -> None:
    heads = {}

    def prepare(number: int) -> None:
        work = worktree_repository(sample.make(f"epic-{number}", f"feature/{number}"))
        work.write(f"new-{number}", "x\n")
        heads[number] = work.commit()

    def remove(number: int) -> None:
        assert sample.worktrees().remove(f"epic-{number}").is_gone

    def check(number: int) -> None:
        epic = f"epic-{number}"
        assert sample.repository.run("rev-parse", f"feature/{number}") == heads[number]
        if number % 2:
            assert worktree_repository(sample.make(epic, f"feature/{number}")).head == heads[number]
        remove(number)
        prepare(number + 1)

    prepare(0)
    assert kill_each(monkeypatch, remove, check) >= 4
    sample.worktrees().prune()
    assert sample.registered_worktrees() == {}
    assert list(sample.folder.iterdir()) == []


def test_half_checked_out_by_a_git_that_was_killed(sample: WorktreeProject) -> None:
    made = sample.make()
    admin = git_dir(made)
    (admin / "index").rename(admin / "index.lock")
    (admin / "bmad-autopilot-worktree.json").unlink()
    (admin / "locked").write_text("initializing")
    Path(made.folder, "src/app.py").write_text("prin")
    Path(made.folder, "readme.txt").unlink()
    intent = sample.top / f".git/bmad-autopilot/worktrees/{EPIC}.json"
    marker.write_intent(str(intent), marker.Intent(EPIC, "."))
    assert worktree_repository(sample.make()).status() == []
    assert sample.registered_worktrees() == {made.folder: BRANCH}
    assert not intent.exists()


def test_what_a_person_did_in_an_unfinished_one_is_kept(sample: WorktreeProject) -> None:
    """The intent of a make that was killed, and then somebody made the worktree by hand."""
    intent = sample.top / f".git/bmad-autopilot/worktrees/{EPIC}.json"
    marker.write_intent(str(intent), marker.Intent(EPIC, "."))
    sample.repository.run("worktree", "add", "--quiet", "-b", BRANCH, str(sample.folder / EPIC))
    (sample.folder / EPIC / "mine").write_text("x")
    made = sample.make()
    assert Path(made.folder, "mine").read_text() == "x"
    assert Path(made.folder, SKILL).is_file()


CHILD = """
import sys
from pathlib import Path
from bmad_autopilot.git.worktrees.lane_worktrees import Worktrees
from bmad_autopilot.project.config import WorktreeSettings
from bmad_autopilot.project.root import find_root
worktrees = Worktrees(find_root(sys.argv[1]), WorktreeSettings(), run=None, is_busy=lambda folder: False)
print("ready", flush=True)
while True:
    worktrees.create("epic-1", "feature/epic-1", "main")
    worktrees.remove("epic-1")
"""


@pytest.mark.soak
def test_real_kills(sample: WorktreeProject) -> None:
    for number in range(300):
        sample.repository.write(f"files/{number}", "x\n" * 50)
    sample.repository.commit()
    dice = random.Random(7)
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "src")}
    for _ in range(100):
        with subprocess.Popen(
            [sys.executable, "-c", CHILD, str(sample.top)], env=environment, stdout=subprocess.PIPE
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
            time.sleep(dice.random() * 0.3)  # the moment is what is tried here
            os.kill(child.pid, signal.SIGKILL)
        made = sample.make()
        assert worktree_repository(made).status() == []
        assert sample.registered_worktrees() == {made.folder: BRANCH}
    assert sample.worktrees().remove_unused(())[0].is_gone
    assert list(sample.folder.iterdir()) == []


def test_a_git_that_outlives_us_is_waited_for(sample: WorktreeProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed with a git under way: whoever comes next must not begin before that has ended."""
    left: list[subprocess.Popen[bytes]] = []

    def killed(argv: list[bytes], *arguments: Any, lock_fds: tuple[int, ...] = (), **options: Any) -> Any:
        if b"reset" in argv:
            left.append(subprocess.Popen(["sleep", "600"], pass_fds=lock_fds))
            raise Killed
        return run_process(argv, *arguments, lock_fds=lock_fds, **options)

    with monkeypatch.context() as patch:
        patch.setattr(git, "run_process", killed)
        with pytest.raises(Killed):
            sample.make()
    monkeypatch.setattr(site, "SECONDS", 0.0)
    try:
        with pytest.raises(ConflictError, match="held the lock"):
            sample.make()
        assert sample.worktrees().prune() == []
        assert len(sample.registered_worktrees()) == 1
    finally:
        left[0].kill()
        left[0].wait()
    assert sample.make().is_new


def test_a_worktree_that_another_git_is_making(sample: WorktreeProject, monkeypatch: pytest.MonkeyPatch) -> None:
    half = sample.top / ".git/worktrees/half"
    half.mkdir(parents=True)
    (half / "gitdir").write_text(f"{sample.top.parent}/half/.git\n")
    (half / "commondir").write_text("")

    def moment(seconds: float) -> None:
        shutil.rmtree(half)

    with pytest.raises(GitError, match="half"):
        sample.repository.git.ask("rev-list", "--all", "--max-count=1")
    monkeypatch.setattr("bmad_autopilot.git.git.time.sleep", moment)
    assert sample.repository.git.ask("rev-list", "--all", "--max-count=1").text == sample.start


def test_a_lock_that_a_killed_git_left_in_a_lane_is_removed(
    sample: WorktreeProject, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """git is killed while it holds the index of a lane's worktree. The lane goes on; the user's checkout, where it
    may be anybody's lock, is left alone."""
    monkeypatch.setattr(git, "LOCK_SECONDS", 0.1)
    made = sample.make()
    work = worktree_repository(made)
    started = tmp_path / "started"
    work.run("config", "filter.slow.clean", f"touch {started}; sleep 600")
    attributes = tmp_path / "attributes"
    attributes.write_text("*.slow filter=slow\n")
    work.write("x.slow", "x\n")
    slow = ["git", "-c", f"core.attributesFile={attributes}", "add", "x.slow"]
    with subprocess.Popen(slow, cwd=work.path, start_new_session=True) as child:
        wait_until(started.exists, "git holds the lock")
        lock = git_dir(made) / "index.lock"
        assert lock.exists()
        with pytest.raises(ConflictError, match="has held this lock"):
            stage_paths(work.git, ["x.slow"])
        os.killpg(child.pid, signal.SIGKILL)
    assert lock.exists()
    stage_paths(work.git, ["x.slow"])
    assert "A  x.slow" in work.status()

    theirs = sample.top / ".git/index.lock"
    theirs.touch()
    sample.repository.write("y", "y\n")
    with pytest.raises(ConflictError, match="has held this lock"):
        stage_paths(sample.repository.git, ["y"])
    assert theirs.exists()

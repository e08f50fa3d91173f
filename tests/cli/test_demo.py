"""The demo, from a clean home: what it shows, what it leaves, and that it does not praise what went wrong."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from bmad_autopilot.agents.attempt import AttemptState, attempt_state
from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.runs.layout import find_attempts, runs_folder
from bmad_autopilot.sim.demo import DemoFacts, check_demo
from tests.cli.conversations import CTRL_C, Conversation
from tests.support.agent_stubs import wait_until
from tests.support.bmad_project import git
from tests.support.sample_projects import mask_volatile
from tests.support.terminals import COMMAND, assert_golden

pytestmark = pytest.mark.real

SECONDS = 240.0


class Show(NamedTuple):
    code: int
    out: str
    err: str
    home: Path
    root: Path


def environment(folder: Path) -> dict[str, str]:
    """A fresh machine: no settings, no identity, a home and a place for temporary files that are empty."""
    for name in ("home", "tmp"):
        (folder / name).mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return kept | {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"), "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def no_process_is_left(home: Path) -> None:
    """Everything that the demo starts has its home."""
    mark = f"HOME={home}".encode()
    wait_until(
        lambda: not any(mark in _variables(pid) for pid in os.listdir("/proc") if pid.isdigit()), "all ended"
    )


def _variables(pid: str) -> list[bytes]:
    try:
        return Path("/proc", pid, "environ").read_bytes().split(b"\0")
    except OSError:
        return []


@pytest.fixture(scope="module")
def show(tmp_path_factory: pytest.TempPathFactory) -> Show:
    folder = tmp_path_factory.mktemp("show")
    done = subprocess.run(
        [*COMMAND, "demo", "--fast", "--keep"],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    kept = re.search(r"(?m)^\$ cd (.+)$", done.stdout)
    root = Path(kept[1]) if kept else folder
    return Show(done.returncode, done.stdout, done.stderr, folder / "home", root)


def test_a_transcript_that_a_newcomer_can_follow(show: Show) -> None:
    assert (show.code, show.err) == (0, "")
    text = re.sub(r"(?m)^[0-9a-f]{7} ", "abc1234 ", mask_volatile(show.out))
    text = re.sub(r"(commit )[0-9a-f]{40}", r"\g<1>abc1234", text)
    text = re.sub(r"(at|pushed |as) [0-9a-f]{7}\b", r"\g<1> abc1234", text)
    text = re.sub(r"(?m)^Date: .*$", "Date:   some day", text)
    text = re.sub(r"\d+ min N.N s", "N.N s", text)
    text = re.sub(r"kill -9 \d+", "kill -9 PID", text)
    text = text.replace(str(show.root), "FOLDER/ledger")
    assert_golden("demo", text)


def test_it_leaves_what_it_says_and_nothing_else(show: Show) -> None:
    facts = check_demo(str(show.root), 3)
    assert facts._replace(dollars=round(facts.dollars, 3)) == DemoFacts(3, 6, 13, 4.38)
    assert list(show.home.iterdir()) == []
    no_process_is_left(show.home)
    assert sorted(show.root.parent.iterdir()) == [show.root, show.root.with_name("ledger.git")]
    assert list(show.root.parent.parent.iterdir()) == [show.root.parent]


# What must not be taken for success


@pytest.fixture
def kept(show: Show, tmp_path: Path) -> Path:
    return Path(shutil.copytree(show.root, tmp_path / "kept"))


def refused(project: Path, what: str) -> None:
    with pytest.raises(AutopilotError, match=what):
        check_demo(str(project), 3)


def test_a_story_that_is_not_done(kept: Path) -> None:
    board = kept / "_bmad-output/implementation-artifacts/sprint-status.yaml"
    board.write_text(board.read_text().replace("1-2-count-accounts: done", "1-2-count-accounts: review"))
    refused(kept, "1-2-count-accounts on the board")


def test_a_commit_too_many(kept: Path) -> None:
    git(kept, "commit", "--quiet", "--allow-empty", "--message", "Story 1-2-count-accounts")
    refused(kept, "the base branch")


def test_a_merge_that_the_remote_does_not_have(kept: Path) -> None:
    git(kept, "update-ref", "refs/remotes/origin/main", "main~1")
    refused(kept, "whether the remote has it")


def test_work_that_is_not_committed(kept: Path) -> None:
    (kept / "more.py").touch()
    refused(kept, "what is not committed")


def test_a_call_made_twice(kept: Path) -> None:
    place = next(place for place in find_attempts(runs_folder(str(kept))) if place.step.endswith("-dev"))
    shutil.copytree(place.folder, Path(place.folder).with_name("attempt-9"))
    refused(kept, "the agent calls")


def test_a_call_that_named_no_price(kept: Path) -> None:
    verdict = Path(find_attempts(runs_folder(str(kept)))[0].folder, "verdict.json")
    verdict.write_text(re.sub(r'"dollars": [\d.]+', '"dollars": null', verdict.read_text()))
    refused(kept, "has a price")


def test_a_git_that_fails_is_no_success_and_leaves_nothing(tmp_path: Path) -> None:
    own = environment(tmp_path)
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "git"
    script.write_text(f'#!/bin/sh\n[ "$1" = --no-pager ] && exit 7\nexec {shutil.which("git")} "$@"\n')
    script.chmod(0o755)
    own["PATH"] = f"{script.parent}:{own['PATH']}"
    done = subprocess.run(
        [*COMMAND, "demo", "--fast"],
        cwd=tmp_path,
        env=own,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 1
    assert "the demo went wrong" in done.stderr
    assert "Traceback" not in done.stderr
    assert list((tmp_path / "tmp").iterdir()) == []


def test_without_git_it_says_so(tmp_path: Path) -> None:
    own = environment(tmp_path) | {"PATH": str(tmp_path / "home")}
    done = subprocess.run([*COMMAND, "demo"], cwd=tmp_path, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "git is not installed" in done.stderr
    assert list((tmp_path / "tmp").iterdir()) == []


# Left early


def test_ctrl_c_stops_everything_and_removes_the_folder(tmp_path: Path) -> None:
    with Conversation("demo", "--fast", cwd=tmp_path, environment=environment(tmp_path)) as person:
        person.wait_for("create-story  started")
        person.type(CTRL_C)
        assert person.end() == 130
    assert "Left early" in person.written
    assert list((tmp_path / "tmp").iterdir()) == []
    no_process_is_left(tmp_path / "home")


@pytest.fixture
def kept_demo(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    child = subprocess.Popen(
        [*COMMAND, "demo", "--fast", "--keep"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield child
    if child.poll() is None:
        child.kill()
    child.communicate(timeout=60)


def test_told_to_end_it_stops_its_agent_and_keeps_what_is_wanted(
    kept_demo: subprocess.Popen[str], tmp_path: Path
) -> None:
    runs = tmp_path / "tmp"
    started = "bmad-demo-*/ledger/_bmad-output/.runs/main/*/steps/*/*/started"
    wait_until(lambda: any(runs.glob(started)), "an agent's start")
    kept_demo.send_signal(signal.SIGTERM)
    out, _ = kept_demo.communicate(timeout=60)
    assert kept_demo.returncode == 130
    assert "The project stays" in out
    (project,) = runs.glob("bmad-demo-*/ledger")
    states = [attempt_state(place.folder) for place in find_attempts(runs_folder(str(project)))]
    assert states == [AttemptState.FINISHED]  # at once: it was not left to end by itself
    no_process_is_left(tmp_path / "home")
    assert git(project, "log", "--format=%s").splitlines() == ["Plan the ledger"]

"""Attempts over the life of several orchestrators: started once, adopted, lost, cancelled."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bmad_autopilot.agents import monitor, start
from bmad_autopilot.agents.attempt import AttemptState, attempt_state, read_call_spec, read_result
from bmad_autopilot.agents.monitor import finalize_lost
from bmad_autopilot.agents.shim import attempt_files
from bmad_autopilot.core.errors import ConflictError, FileError
from tests.support.agent_stubs import TIMEOUT, begin, finish, init_repository, is_alive, wait_until
from tests.support.bmad_project import git

WAIT_FOR_GO = "import os, time\nprint('ready', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return init_repository(tmp_path / "tree")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "attempt-1"


def shim_of(folder: Path) -> int:
    wait_until(lambda: attempt_files.read_started(str(folder)), "started")
    started = attempt_files.read_started(str(folder))
    assert started is not None
    return started[0]


def test_the_states_of_an_attempt(tree: Path, folder: Path) -> None:
    assert attempt_state(str(folder)) is AttemptState.NEW
    begin(folder, tree, WAIT_FOR_GO)
    assert attempt_state(str(folder)) is AttemptState.RUNNING
    (tree / "go").touch()
    finish(folder)
    assert attempt_state(str(folder)) is AttemptState.FINISHED


def test_an_attempt_is_started_once(tree: Path, folder: Path) -> None:
    begin(folder, tree, WAIT_FOR_GO)
    with pytest.raises(ConflictError, match="started before"):
        begin(folder, tree, "open('second', 'w')")
    (tree / "go").touch()
    finish(folder)
    with pytest.raises(ConflictError, match="started before"):
        begin(folder, tree, "open('second', 'w')")
    assert not (tree / "second").exists()


def test_two_agents_never_work_in_one_work_tree(tree: Path, folder: Path, tmp_path: Path) -> None:
    begin(folder, tree, WAIT_FOR_GO)
    link = tmp_path / "link"
    link.symlink_to(tree)
    for place in (tree, link):
        with pytest.raises(ConflictError, match="another agent works in this work tree") as raised:
            begin(tmp_path / "attempt-2", place, "open('second', 'w')")
        assert raised.value.found == str(folder)
    assert attempt_state(str(tmp_path / "attempt-2")) is AttemptState.NEW
    (tree / "go").touch()
    finish(folder)
    begin(tmp_path / "attempt-2", tree, "open('second', 'w')")
    assert finish(tmp_path / "attempt-2").exit == 0


def test_linked_work_trees_have_locks_of_their_own(tree: Path, tmp_path: Path) -> None:
    lane = tmp_path / "lane"
    git(tree, "worktree", "add", "--quiet", str(lane), "-b", "lane")
    begin(tmp_path / "one", tree, WAIT_FOR_GO)
    begin(tmp_path / "two", lane, "print('beside')")
    assert finish(tmp_path / "two").exit == 0
    (tree / "go").touch()
    finish(tmp_path / "one")
    assert start.worktree_lock_path(str(lane)) != start.worktree_lock_path(str(tree))
    assert git(tree, "status", "--porcelain") == "?? go\n", "the locks are no part of the tree"


def test_a_lost_attempt_is_swept_kept_and_settled_once(tree: Path, folder: Path) -> None:
    code = (
        "import os, subprocess, sys, time\n"
        "sleeper = [sys.executable, '-c', 'import time; time.sleep(1000)']\n"
        "child = subprocess.Popen(sleeper, start_new_session=True)\n"
        "open('half.txt', 'w').write('half'); open('pid', 'w').write(str(child.pid)); os.rename('pid', 'child')\n"
        "time.sleep(1000)"
    )
    spec = begin(folder, tree, code)
    wait_until((tree / "child").exists, "the grandchild runs")
    grandchild = int((tree / "child").read_text())
    os.kill(shim_of(folder), signal.SIGKILL)
    wait_until(lambda: attempt_state(str(folder)) is AttemptState.LOST, "lost")
    assert is_alive(grandchild), "it has a session of its own and outlives its parent"
    result = finalize_lost(str(folder))
    assert result.by == "lost"
    assert result.left_over in (1, 2)  # the agent itself dies with its shim, and may just not have gone yet
    wait_until(lambda: not is_alive(grandchild), "swept")
    assert result.kept is not None
    assert git(tree, "show", f"{result.kept['commit']}:half.txt") == "half"
    assert not Path(spec.temp_folder).exists()
    assert finalize_lost(str(folder)) == result
    assert attempt_state(str(folder)) is AttemptState.FINISHED


def test_what_is_left_of_a_lost_attempt_is_ended_before_the_next_starts(tree: Path, tmp_path: Path) -> None:
    code = (
        "import os, subprocess, sys, time\n"
        "sleeper = [sys.executable, '-c', 'import time; time.sleep(1000)']\n"
        "child = subprocess.Popen(sleeper, start_new_session=True)\n"
        "open('pid', 'w').write(str(child.pid)); os.rename('pid', 'child'); time.sleep(1000)"
    )
    begin(tmp_path / "one", tree, code)
    wait_until((tree / "child").exists, "the grandchild runs")
    grandchild = int((tree / "child").read_text())
    os.kill(shim_of(tmp_path / "one"), signal.SIGKILL)
    wait_until(lambda: attempt_state(str(tmp_path / "one")) is AttemptState.LOST, "lost")
    begin(tmp_path / "two", tree, f"import os; print(os.path.exists('/proc/{grandchild}/cwd'))")
    finish(tmp_path / "two")
    assert not is_alive(grandchild)
    assert attempt_state(str(tmp_path / "one")) is AttemptState.FINISHED


def test_an_attempt_that_never_began_can_be_started(tree: Path, folder: Path) -> None:
    """Its starter died before the shim had its order: nothing ran, so nothing is lost."""
    folder.mkdir()
    (folder / attempt_files.LOCK).touch()
    assert attempt_state(str(folder)) is AttemptState.NEW
    begin(folder, tree, "print('now')")
    assert finish(folder).exit == 0


def test_a_shim_without_its_whole_order_starts_nothing(tree: Path, folder: Path) -> None:
    from bmad_autopilot.agents.start import SHIM

    folder.mkdir()
    shim = subprocess.run([sys.executable, "-S", "-E", SHIM, ""], input=b"\0\0\0\0\0\0\1\0torn", check=False)
    assert shim.returncode == 0
    assert list(folder.iterdir()) == []


def test_someone_else_s_attempt_is_waited_for_without_polling(tree: Path, folder: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    starter = (
        "import sys; from pathlib import Path; from tests.support.agent_stubs import begin\n"
        "begin(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])"
    )
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", starter, str(folder), str(tree), WAIT_FOR_GO],
        cwd=root,
        env={**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"},
        check=True,
    )
    watch = monitor.watch_shim(str(folder))
    assert watch is not None
    watch.close()
    assert monitor.wait_for_any([str(folder)], 0.05) == []
    (tree / "go").touch()
    assert monitor.wait_for_any([str(folder)], TIMEOUT) == [str(folder)]
    assert finish(folder).exit == 0


def test_without_pidfds_the_lock_is_waited_for(tree: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor, "HAS_PIDFD", False)
    begin(folder, tree, WAIT_FOR_GO)
    assert monitor.wait_for_any([str(folder)], 0.05) == []
    assert monitor.cancel_attempt(str(folder), "enough")
    assert monitor.wait_for_any([str(folder)], TIMEOUT) == [str(folder)]
    assert finish(folder).by == "cancel"


def test_a_stopped_starter_that_wakes_up_does_not_start_again(tree: Path, folder: Path) -> None:
    """SIGSTOP for the orchestrator: another one sees the attempt as running and adopts it."""
    root = Path(__file__).resolve().parents[2]
    starter = (
        "import sys; from pathlib import Path; from tests.support.agent_stubs import begin, finish\n"
        "begin(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]); print('begun', flush=True)\n"
        "print(finish(Path(sys.argv[1])).exit)"
    )
    first = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", starter, str(folder), str(tree), WAIT_FOR_GO + "\nprint('ran')"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert first.stdout is not None
    assert first.stdout.readline() == "begun\n"
    first.send_signal(signal.SIGSTOP)
    with pytest.raises(ConflictError):
        begin(folder, tree, "print('second')")
    (tree / "go").touch()
    assert finish(folder).exit == 0
    first.send_signal(signal.SIGCONT)
    assert first.communicate(timeout=TIMEOUT)[0] == "0\n"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 1}'])
def test_a_broken_record_is_an_error_with_its_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "spec.json").write_text(text)
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(FileError, match=r"spec\.json"):
        read_call_spec(str(tmp_path))
    with pytest.raises(FileError, match=r"result\.json"):
        read_result(str(tmp_path))


def test_fields_of_a_newer_version_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text('{"id": "x", "by": "exit", "exit": 0, "new": {"deep": [1]}}')
    result = read_result(str(tmp_path))
    assert result is not None
    assert (result.by, result.exit) == ("exit", 0)


def test_nothing_is_left_running_or_lying_about(tree: Path, folder: Path) -> None:
    spec = begin(folder, tree, "print('x')")
    pid = shim_of(folder)
    finish(folder)
    wait_until(lambda: not is_alive(pid), "the shim has ended")
    assert sorted(os.listdir(folder)) == [
        "events.jsonl",
        "lock",
        "prompt.md",
        "result.json",
        "spec.json",
        "started",
        "time-limit",
    ]
    assert not Path(spec.temp_folder).exists()
    assert time.time() - spec.created_at < TIMEOUT


@pytest.mark.parametrize(
    ("field", "value"), [("story", 5), ("argv", "x"), ("created_at", "now"), ("model", []), ("version", None)]
)
def test_a_record_with_a_wrong_type_is_an_error_that_names_the_field(
    tree: Path, folder: Path, field: str, value: object
) -> None:
    begin(folder, tree, "pass")
    finish(folder)
    path = folder / "spec.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    with pytest.raises(FileError, match=f"`{field}` is not what it should be"):
        read_call_spec(str(folder))


def test_a_removed_owner_file_does_not_open_the_work_tree(tree: Path, folder: Path, tmp_path: Path) -> None:
    begin(folder, tree, WAIT_FOR_GO)
    (tree / ".git" / start.OWNER_FILE).unlink()
    with pytest.raises(ConflictError, match="another agent works"):
        begin(tmp_path / "attempt-2", tree, "open('second', 'w')")
    (tree / "go").touch()
    finish(folder)


def test_what_a_record_says_is_not_trusted_with_our_keys(
    tree: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_TOKEN", "ghp_" + "a1" * 18)
    precious = tmp_path / "precious"
    precious.mkdir()
    begin(folder, tree, "import time; time.sleep(600)")
    pid = shim_of(folder)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: attempt_state(str(folder)) is AttemptState.LOST, "lost")
    path = folder / "spec.json"
    stop = ["/bin/sh", "-c", f"env > {tmp_path}/stolen"]
    path.write_text(json.dumps({**json.loads(path.read_text()), "private": str(precious), "stop": stop}))
    finalize_lost(str(folder))
    assert precious.is_dir()
    assert "ghp_" not in (tmp_path / "stolen").read_text()


def test_a_broken_record_of_a_lost_call_does_not_keep_the_work_tree_closed(
    tree: Path, folder: Path, tmp_path: Path
) -> None:
    begin(folder, tree, "import time; time.sleep(600)")
    os.kill(shim_of(folder), signal.SIGKILL)
    wait_until(lambda: attempt_state(str(folder)) is AttemptState.LOST, "lost")
    (folder / "spec.json").write_text("{")
    begin(tmp_path / "attempt-2", tree, "pass")
    assert finish(tmp_path / "attempt-2").exit == 0


def test_a_call_without_room_for_its_result_is_not_begun(tree: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=40k", "none", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small file system can only be mounted by root")
    try:
        (disk / "full").write_bytes(b"x" * 20_000)
        with pytest.raises(FileError, match="cannot be written"):
            begin(disk / "attempt-1", tree, "open('ran', 'w')")
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
    assert not (tree / "ran").exists()


def test_the_mark_of_a_start_is_left_once(tmp_path: Path) -> None:
    folder = attempt_files.open_folder(str(tmp_path))
    assert attempt_files.claim_start(folder, 1)
    assert not attempt_files.claim_start(folder, 2)
    os.close(folder)
    assert attempt_files.read_started(str(tmp_path))[0] == 1  # type: ignore[index]


@pytest.mark.parametrize("which", ["attempt-1", "steps", "run", ".runs"])
def test_a_lost_call_whose_folder_became_a_link_is_not_settled_through_it(
    tree: Path, tmp_path: Path, which: str
) -> None:
    folder = tree / "_bmad-output" / ".runs" / "main" / "run" / "steps" / "01-dev" / "attempt-1"
    begin(folder, tree, "import time; time.sleep(600)")
    os.kill(shim_of(folder), signal.SIGKILL)
    wait_until(lambda: attempt_state(str(folder)) is AttemptState.LOST, "lost")
    place = next(path for path in (folder, *folder.parents) if path.name == which)
    place.rename(tmp_path / "outside")
    place.symlink_to(tmp_path / "outside")
    with pytest.raises(FileError, match="symbolic link"):
        finalize_lost(str(folder))
    assert not list((tmp_path / "outside").rglob("result.json"))
    place.unlink()
    (tmp_path / "outside").rename(place)
    finalize_lost(str(folder))


def test_of_two_who_settle_a_lost_call_one_does_it(tree: Path, folder: Path, tmp_path: Path) -> None:
    stop = ["/bin/sh", "-c", f"echo once >> {tmp_path}/stopped; sleep 1"]
    begin(folder, tree, "import time; time.sleep(600)", stop=stop)
    os.kill(shim_of(folder), signal.SIGKILL)
    wait_until(lambda: attempt_state(str(folder)) is AttemptState.LOST, "lost")
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(finalize_lost, [str(folder)] * 2)
    assert first == second
    assert (tmp_path / "stopped").read_text() == "once\n"

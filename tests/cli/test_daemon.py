"""bmad autopilot --daemon: real processes, started by a command that has ended since."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bmad_autopilot.project.root import find_root
from bmad_autopilot.runs.index import unfinished_runs
from bmad_autopilot.runs.journal import last_entry
from bmad_autopilot.runs.layout import runs_folder
from bmad_autopilot.runs.supervisor_lock import LockOwner, lock_owner
from bmad_autopilot.sim.sample import make_sample, scripted_agent_command
from tests.support.agent_stubs import is_alive, wait_until
from tests.support.bmad_project import git
from tests.support.schemas import parse_validated
from tests.support.terminals import COMMAND, run_piped

SETTINGS = 'delivery = "local"\nmerge = "manual"\ndependencies = "none"\n'
SECONDS = 60


class Shop:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.state = find_root(str(root)).state_folder
        self.log = root / ".autopilot" / "daemon.log"
        self.pids: list[int] = []

    def owner(self) -> LockOwner | None:
        found = lock_owner(self.state)
        if found is not None and found.pid not in (0, *self.pids):
            self.pids.append(found.pid)
        return found

    def pid(self) -> int:
        found = self.owner()
        assert found is not None
        return found.pid

    def waits(self) -> None:
        """Every epic is developed, and waits for a person."""
        both = ("epic-1", "epic-2")
        wait_until(lambda: all(f'"lane": "{key}"' in self.pending() for key in both), "both are pending", SECONDS)

    def pending(self) -> str:
        return "\n".join(line for line in self.log.read_text().splitlines() if '"event": "pending"' in line)

    def end(self) -> None:
        for pid in self.pids:
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)
                wait_until(lambda pid=pid: not is_alive(pid), "the daemon is gone")  # type: ignore[misc]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    work = tmp_path / "work"
    make_sample(str(work), 2, 1, agent_command=scripted_agent_command("honest"))
    file = work / "bmad-autopilot.toml"
    file.write_text(SETTINGS + file.read_text())
    git(work, "commit", "--quiet", "--all", "--message", "Settings")
    made = Shop(work)
    yield made
    made.owner()
    made.end()


@pytest.mark.real
def test_it_goes_on_alone_is_refused_a_second_time_and_is_stopped_from_anywhere(shop: Shop) -> None:
    begun = run_piped("autopilot", "--daemon", "--parallel", "2", "--json", cwd=shop.root)
    assert (begun.returncode, begun.stderr) == (0, "")
    told = parse_validated("autopilot-events", begun.stdout)
    pid = shop.pid()
    assert (told["event"], told["pid"], told["ready"], told["log"]) == ("daemon", pid, True, str(shop.log))
    assert os.getsid(pid) == pid, "a session of its own"
    assert os.readlink(f"/proc/{pid}/fd/0") == os.devnull
    assert shop.log.stat().st_mode & 0o077 == 0
    again = run_piped("autopilot", "--daemon", cwd=shop.root)
    assert again.returncode == 1
    assert again.stderr.startswith("bmad: error: another supervisor is at work in this project\n")
    assert not shop.log.with_suffix(".log.1").exists(), "the log of the first one is left alone"
    shop.waits()
    busy = run_piped("runs", "--json", cwd=shop.root)
    assert {row["status"] for row in json.loads(busy.stdout)["runs"]} <= {"running", "paused"}
    found = shop.owner()
    assert found is not None
    assert sorted(run.rsplit("-", 2)[0] for run in found.run_ids) == ["epic-1", "epic-2"]
    stopped = run_piped("stop", cwd=shop.root)
    assert (stopped.returncode, stopped.stderr) == (0, "")
    wait_until(lambda: not is_alive(pid), "it has ended", SECONDS)
    events = [json.loads(line) for line in shop.log.read_text().splitlines()]
    assert (events[0]["event"], events[-1]["event"]) == ("autopilot-plan", "autopilot-summary")
    assert events[-1]["exit_code"] == 130


@pytest.mark.real
def test_a_terminal_that_is_closed_is_none_of_its_business(shop: Shop) -> None:
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(shop.root)
        os.execv(COMMAND[0], [*COMMAND, "autopilot", "--daemon"])
    wait_until(lambda: not is_alive(child), "the command has ended", SECONDS)
    said = os.read(terminal, 65536).decode()
    os.close(terminal)
    os.waitpid(child, 0)
    pid = shop.pid()
    assert f"is at work in the background (pid {pid})" in said
    for command in ("bmad status", "bmad stop", "tail -f .autopilot/daemon.log"):
        assert command in said
    os.kill(pid, signal.SIGHUP)
    assert f"(pid {pid} on " in run_piped("stop", "--now", cwd=shop.root).stdout, "it is there to be told"
    wait_until(lambda: not is_alive(pid), "it has ended", SECONDS)


@pytest.mark.real
def test_after_a_kill_the_next_one_goes_on_with_everything(shop: Shop) -> None:
    run_piped("autopilot", "--daemon", "--parallel", "2", "--json", cwd=shop.root)
    first = shop.pid()
    wait_until(lambda: '"event": "call"' in shop.log.read_text(), "an agent is at work", SECONDS)
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: not is_alive(first), "it is gone")
    again = run_piped("autopilot", "--daemon", "--parallel", "2", "--json", cwd=shop.root)
    assert again.returncode == 0, again.stderr
    assert shop.pid() != first
    assert shop.log.with_suffix(".log.1").exists()
    shop.waits()
    assert sorted(run.target for run in unfinished_runs(runs_folder(str(shop.root)))) == ["epic-1", "epic-2"]
    run_piped("stop", cwd=shop.root)
    wait_until(lambda: shop.owner() is None, "it has ended", SECONDS)


@pytest.mark.real
def test_what_keeps_it_from_beginning_is_shown(shop: Shop) -> None:
    (shop.root / "README.md").write_text("changed\n")
    git(shop.root, "add", "README.md")
    done = run_piped("autopilot", "--daemon", cwd=shop.root)
    assert done.returncode == 1
    assert "tracked files have changes that are not committed" in done.stderr
    assert shop.owner() is None


def test_it_shows_nothing_beforehand(shop: Shop) -> None:
    done = subprocess.run(
        [*COMMAND, "autopilot", "--daemon", "--dry-run"],
        cwd=shop.root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "--daemon and --dry-run exclude each other" in done.stderr
    assert not shop.log.exists()


# Whoever reads the output goes away while the command waits: it leaves as for Ctrl-C, its records intact.

WAITS = """\
import signal, sys, threading
from bmad_autopilot.cli.daemon import stop_when_output_closes
try:
    with stop_when_output_closes():
        print(threading.active_count(), flush=True)
        signal.pause() if "wait" in sys.argv else None
except KeyboardInterrupt:
    print("left", threading.active_count(), file=sys.stderr)
"""


def test_a_wait_ends_when_the_reader_goes() -> None:
    command = [sys.executable, "-c", WAITS, "wait"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stderr is not None
    assert child.stdout.readline() == b"2\n"
    child.stdout.close()
    try:
        child.wait(SECONDS)
        assert child.stderr.read().split() == [b"left", b"1"]
    finally:
        child.kill()
        child.stderr.close()


def test_a_file_has_no_reader(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        subprocess.run([sys.executable, "-c", WAITS], stdout=log, check=True, timeout=SECONDS)
    assert (tmp_path / "log").read_bytes() == b"1\n"


@pytest.mark.real
def test_the_autopilot_leaves_what_waits(tmp_path: Path) -> None:
    work = tmp_path / "work"
    make_sample(str(work), 1, 1, agent_command=scripted_agent_command("honest"))
    with (work / "bmad-autopilot.toml").open("r+") as file:
        text = file.read()
        file.seek(0)
        file.write(f'delivery = "local"\nmerge = "manual"\n{text}')
    git(work, "commit", "--quiet", "--all", "--message", "Settings")
    command = [*COMMAND, "autopilot", "--json"]
    child = subprocess.Popen(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ)
    assert child.stdout is not None
    assert child.stderr is not None
    try:
        while json.loads(child.stdout.readline())["event"] != "pending":
            pass
        child.stdout.close()
        child.wait(SECONDS)
        said = child.stderr.read().decode()
    finally:
        child.kill()
        child.stderr.close()
    assert child.returncode == 130
    assert said == (
        "bmad: nobody reads the output any more: left, as by Ctrl-C; "
        "bmad autopilot goes on (bmad status shows where)\n"
    )
    (run,) = unfinished_runs(runs_folder(str(work)))
    last = last_entry(run.folder)
    assert last is not None
    assert last.kind == "pending"

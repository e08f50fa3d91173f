"""bmad autopilot --daemon: real processes, started by a command that has ended since."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bmad_autopilot.project.root import find_root
from bmad_autopilot.runs.finding import unfinished
from bmad_autopilot.runs.layout import runs_folder
from bmad_autopilot.runs.supervisor import Owner, owner
from bmad_autopilot.sim.sample import make_sample, scripted
from tests.agents.stubs import alive, until
from tests.cli.shipped import validated
from tests.support import git
from tests.terminals import COMMAND, piped

SETTINGS = 'delivery = "local"\nmerge = "manual"\ndependencies = "none"\n'
SECONDS = 60


class Shop:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.state = find_root(str(root)).state_folder
        self.log = root / ".autopilot" / "daemon.log"
        self.pids: list[int] = []

    def owner(self) -> Owner | None:
        found = owner(self.state)
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
        until(lambda: all(f'"lane": "{key}"' in self.pending() for key in both), "both are pending", SECONDS)

    def pending(self) -> str:
        return "\n".join(line for line in self.log.read_text().splitlines() if '"event": "pending"' in line)

    def end(self) -> None:
        for pid in self.pids:
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
                until(lambda pid=pid: not alive(pid), "the daemon is gone")  # type: ignore[misc]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    work = tmp_path / "work"
    make_sample(str(work), 2, 1, agent_command=scripted("honest"))
    file = work / "bmad-autopilot.toml"
    file.write_text(SETTINGS + file.read_text())
    git(work, "commit", "--quiet", "--all", "--message", "Settings")
    made = Shop(work)
    yield made
    made.owner()
    made.end()


@pytest.mark.real
def test_it_goes_on_alone_is_refused_a_second_time_and_is_stopped_from_anywhere(shop: Shop) -> None:
    begun = piped("autopilot", "--daemon", "--parallel", "2", "--json", cwd=shop.root)
    assert (begun.returncode, begun.stderr) == (0, "")
    told = validated("autopilot-events", begun.stdout)
    pid = shop.pid()
    assert (told["event"], told["pid"], told["ready"], told["log"]) == ("daemon", pid, True, str(shop.log))
    assert os.getsid(pid) == pid, "a session of its own"
    assert os.readlink(f"/proc/{pid}/fd/0") == os.devnull
    assert shop.log.stat().st_mode & 0o077 == 0
    again = piped("autopilot", "--daemon", cwd=shop.root)
    assert again.returncode == 1
    assert again.stderr.startswith("bmad: error: another supervisor is at work in this project\n")
    assert not shop.log.with_suffix(".log.1").exists(), "the log of the first one is left alone"
    shop.waits()
    busy = piped("runs", "--json", cwd=shop.root)
    assert {row["status"] for row in json.loads(busy.stdout)["runs"]} <= {"running", "paused"}
    found = shop.owner()
    assert found is not None
    assert sorted(run.rsplit("-", 2)[0] for run in found.run_ids) == ["epic-1", "epic-2"]
    stopped = piped("stop", cwd=shop.root)
    assert (stopped.returncode, stopped.stderr) == (0, "")
    until(lambda: not alive(pid), "it has ended", SECONDS)
    events = [json.loads(line) for line in shop.log.read_text().splitlines()]
    assert (events[0]["event"], events[-1]["event"]) == ("autopilot-plan", "autopilot-summary")
    assert events[-1]["exit_code"] == 130


@pytest.mark.real
def test_a_terminal_that_is_closed_is_none_of_its_business(shop: Shop) -> None:
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(shop.root)
        os.execv(COMMAND[0], [*COMMAND, "autopilot", "--daemon"])
    until(lambda: not alive(child), "the command has ended", SECONDS)
    said = os.read(terminal, 65536).decode()
    os.close(terminal)
    os.waitpid(child, 0)
    pid = shop.pid()
    assert f"is at work in the background (pid {pid})" in said
    for command in ("bmad status", "bmad stop", "tail -f .autopilot/daemon.log"):
        assert command in said
    os.kill(pid, signal.SIGHUP)
    assert f"(pid {pid} on " in piped("stop", "--now", cwd=shop.root).stdout, "it is there to be told"
    until(lambda: not alive(pid), "it has ended", SECONDS)


@pytest.mark.real
def test_after_a_kill_the_next_one_goes_on_with_everything(shop: Shop) -> None:
    piped("autopilot", "--daemon", "--parallel", "2", "--json", cwd=shop.root)
    first = shop.pid()
    until(lambda: '"event": "call"' in shop.log.read_text(), "an agent is at work", SECONDS)
    os.kill(first, signal.SIGKILL)
    until(lambda: not alive(first), "it is gone")
    again = piped("autopilot", "--daemon", "--parallel", "2", "--json", cwd=shop.root)
    assert again.returncode == 0, again.stderr
    assert shop.pid() != first
    assert shop.log.with_suffix(".log.1").exists()
    shop.waits()
    assert sorted(run.target for run in unfinished(runs_folder(str(shop.root)))) == ["epic-1", "epic-2"]
    piped("stop", cwd=shop.root)
    until(lambda: shop.owner() is None, "it has ended", SECONDS)


@pytest.mark.real
def test_what_keeps_it_from_beginning_is_shown(shop: Shop) -> None:
    (shop.root / "README.md").write_text("changed\n")
    git(shop.root, "add", "README.md")
    done = piped("autopilot", "--daemon", cwd=shop.root)
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

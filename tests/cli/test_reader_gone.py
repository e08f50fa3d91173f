"""Whoever reads the output goes away while the command waits: it leaves as for Ctrl-C, its records intact."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bmad_autopilot.runs.finding import unfinished
from bmad_autopilot.runs.journal import last_entry
from bmad_autopilot.runs.layout import runs_folder
from bmad_autopilot.sim.sample import make_sample, scripted
from tests.support import git
from tests.terminals import COMMAND

WAITS = """\
import signal, sys, threading
from bmad_autopilot.cli.reader_gone import leaves_without_reader
try:
    with leaves_without_reader():
        print(threading.active_count(), flush=True)
        signal.pause() if "wait" in sys.argv else None
except KeyboardInterrupt:
    print("left", threading.active_count(), file=sys.stderr)
"""
SECONDS = 60


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
    make_sample(str(work), 1, 1, agent_command=scripted("honest"))
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
    (run,) = unfinished(runs_folder(str(work)))
    last = last_entry(run.folder)
    assert last is not None
    assert last.kind == "pending"

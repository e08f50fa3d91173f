"""Runs commands alternately and measures their wall time and peak memory."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

# The kernel carries a parent's peak memory over exec into the child's, so a small launcher starts the child.
_LAUNCHER = """\
import os, sys
out = os.open(os.devnull, os.O_WRONLY)
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, out, 1)])
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss)
"""


class Case(NamedTuple):
    name: str
    command: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]


class Timing(NamedTuple):
    median: float  # milliseconds
    least: float
    peak_mb: float


def run_interleaved(cases: Sequence[Case], rounds: int) -> dict[str, Timing]:
    """Run each case once per round, so that a busy moment affects all of them. The first round warms up."""
    times: dict[str, list[float]] = {case.name: [] for case in cases}
    for turn in range(rounds + 1):
        for case in cases:
            took = _milliseconds(case)
            if turn:
                times[case.name].append(took)
    return {
        case.name: Timing(statistics.median(times[case.name]), min(times[case.name]), _peak_mb(case))
        for case in cases
    }


def _milliseconds(case: Case) -> float:
    """One child, from spawn to reap."""
    with tempfile.TemporaryFile() as output:
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, output.fileno(), 1),
            (os.POSIX_SPAWN_DUP2, output.fileno(), 2),
        ]
        os.chdir(case.cwd)
        begun = time.perf_counter()
        pid = os.posix_spawn(case.command[0], case.command, dict(case.env), file_actions=actions)
        _, status = os.waitpid(pid, 0)
        took = (time.perf_counter() - begun) * 1000
        if os.waitstatus_to_exitcode(status) != 0:
            output.seek(0)
            text = output.read(4000).decode(errors="replace")
            raise SystemExit(f"bench: {' '.join(case.command)} failed in {case.cwd}:\n{text}")
    return took


def _peak_mb(case: Case) -> float:
    command = [sys.executable, "-I", "-S", "-c", _LAUNCHER, *case.command]
    done = subprocess.run(command, cwd=case.cwd, env=case.env, check=True, capture_output=True, text=True)
    return int(done.stdout) / 1024

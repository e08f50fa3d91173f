"""Run commands in turn and keep what they took: wall time, peak memory."""

import os
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Case(NamedTuple):
    name: str
    command: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]


class Sample(NamedTuple):
    milliseconds: float
    peak_mb: float


class Timing(NamedTuple):
    median: float
    least: float
    peak_mb: float


def interleaved(cases: Sequence[Case], rounds: int) -> dict[str, Timing]:
    """Each case once per round, so that a busy moment of the machine falls on all of them. One round warms up."""
    samples: dict[str, list[Sample]] = {case.name: [] for case in cases}
    for turn in range(rounds + 1):
        for case in cases:
            sample = run(case)
            if turn:
                samples[case.name].append(sample)
    return {name: summary(taken) for name, taken in samples.items()}


def summary(samples: Sequence[Sample]) -> Timing:
    times = [sample.milliseconds for sample in samples]
    return Timing(statistics.median(times), min(times), max(sample.peak_mb for sample in samples))


def run(case: Case) -> Sample:
    """One child, from spawn to reap. Its peak memory is at least ours: the kernel carries it over exec."""
    with tempfile.TemporaryFile() as output:
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, output.fileno(), 1),
            (os.POSIX_SPAWN_DUP2, output.fileno(), 2),
        ]
        os.chdir(case.cwd)
        begun = time.perf_counter()
        pid = os.posix_spawn(case.command[0], case.command, dict(case.env), file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
        took = (time.perf_counter() - begun) * 1000
        if os.waitstatus_to_exitcode(status) != 0:
            output.seek(0)
            text = output.read(4000).decode(errors="replace")
            raise SystemExit(f"bench: {' '.join(case.command)} failed in {case.cwd}:\n{text}")
    return Sample(took, usage.ru_maxrss / 1024)

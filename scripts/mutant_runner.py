"""Runs tests on mutants.

Each test is bounded by CPU time, which tells an endless loop from a slow test on a busy machine, and by wall time,
for an endless wait. The bounds are per test, so that a hanging quick test is found quickly."""

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from scripts.mutant_coverage import Coverage
from scripts.mutant_worker import BROKEN, Slot
from scripts.mutations import Mutant

# The limit of a test: a constant plus a multiple of its time on the unchanged code.
CPU_SECONDS, CPU_TIMES = 2.0, 5.0
CLOCK_SECONDS, CLOCK_TIMES = 10.0, 10.0
START_SECONDS = 60.0
TURN = 0.005


class MutantResult(NamedTuple):
    mutant: Mutant
    survived: bool
    how: str  # the test that failed, or another reason


class _SelectedTests:
    """A pytest plugin: runs selected tests in the given order with time limits, and records the first failure."""

    def __init__(self, seconds: dict[str, float], result: Path) -> None:
        self._seconds = seconds
        self._order = {name: index for index, name in enumerate(seconds)}
        self._result = result

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self._order), key=lambda i: self._order[i.nodeid])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """The timers' signals end the process, even inside a regular expression that backtracks for ever."""
        seconds = self._seconds[nodeid]
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS + CPU_TIMES * seconds)
        signal.setitimer(signal.ITIMER_REAL, CLOCK_SECONDS + CLOCK_TIMES * seconds)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._result.write_text(report.nodeid)


class Runner:
    def __init__(self, covered: Coverage, slots: list[Slot], used_in: dict[str, str]) -> None:
        self._covered = covered
        self._slots = slots
        self._used_in = used_in  # for data and separate programs: file → file whose tests cover it
        self._killers: dict[str, Counter[str]] = {}  # per file: tests and test files that killed mutants
        self._rest: dict[Slot, list[str]] = {}

    def run(self, mutants: Sequence[Mutant]) -> Iterator[MutantResult]:
        try:
            yield from self._run(mutants)
        finally:
            for slot in self._slots:
                slot.stop()

    def _run(self, mutants: Sequence[Mutant]) -> Iterator[MutantResult]:
        todo = list(reversed(mutants))
        while todo or any(slot.mutant for slot in self._slots):
            for slot in self._slots:
                if slot.mutant is None and todo:
                    mutant = todo.pop()
                    first, rest = self._tests_of(mutant)
                    if first:
                        slot.change(mutant)
                        self._start(slot, first, rest)
                    else:
                        yield MutantResult(mutant, True, "no test runs it")
                elif slot.mutant is not None and (code := slot.poll()) is not None:
                    if code in (0, pytest.ExitCode.NO_TESTS_COLLECTED) and self._rest[slot]:
                        self._start(slot, self._rest[slot], [])
                    else:
                        yield self._collect(slot, slot.mutant, code)
            time.sleep(TURN)

    def _tests_of(self, mutant: Mutant) -> tuple[list[str], list[str]]:
        """In two parts, because collection costs more than the tests: first the test file with most kills, or
        named after the changed file; then all others."""
        tests = self._covered.tests_of(mutant, self._used_in.get(mutant.file, ""))
        killers = self._killers.setdefault(mutant.file, Counter())
        stem = Path(mutant.file).stem
        files = {test.partition("::")[0] for test in tests}
        best = max(sorted(files), key=lambda file: (killers[file], stem in file), default="")
        ordered = sorted(tests, key=lambda test: (-killers[test], self._covered.seconds[test], test))
        first = [test for test in ordered if test.partition("::")[0] == best]
        return first, [test for test in ordered if test.partition("::")[0] != best]

    def _start(self, slot: Slot, tests: list[str], rest: list[str]) -> None:
        self._rest[slot] = rest
        seconds = {test: self._covered.seconds[test] for test in tests}
        killer = slot.folder / "killer"
        killer.unlink(missing_ok=True)
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))

        def work() -> int:
            sys.dont_write_bytecode = True
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
            return pytest.main([*slot.options, *files], plugins=[_SelectedTests(seconds, killer)])

        slot.start(work, START_SECONDS + CLOCK_TIMES * sum(seconds.values()))

    def _collect(self, slot: Slot, mutant: Mutant, code: int) -> MutantResult:
        slot.restore()
        killer = slot.folder / "killer"
        if code == 0:
            return MutantResult(mutant, True, "all tests pass")
        if killer.exists():
            test = killer.read_text()
            self._killers[mutant.file].update((test, test.partition("::")[0]))
            return MutantResult(mutant, False, test)
        if code == pytest.ExitCode.NO_TESTS_COLLECTED:
            return MutantResult(mutant, True, "its tests are called otherwise now")
        if code == BROKEN:
            raise SystemExit(f"{slot.output()}\nmutants: {mutant.key} could not be run")
        return MutantResult(mutant, False, "stopped at its limit" if code < 0 else "cannot be imported")

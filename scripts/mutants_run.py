"""Running tests on mutants: a process each, forked from one that has imported what no mutant changes.

Each worker has a copy of the sources and tests, in which the changed module stands as a file: what a test starts
as a program of its own sees the change too. A mutant is bounded by processor time, so that one that loops for ever
is told from one that is slow on a busy machine, and by the clock, for one that waits for ever: each test apart, so
that a quick one that hangs is found out quickly."""

import gc
import importlib
import json
import os
import re
import resource
import shutil
import signal
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from .mutants_made import Mutant

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "src/bmad_autopilot"
# What a test may take: so much, and so many times what it took on the code as it is.
CPU_SECONDS, CPU_TIMES = 2.0, 5.0
CLOCK_SECONDS, CLOCK_TIMES = 10.0, 10.0
START_SECONDS = 60.0
MAX_MEMORY = 2 * 1024**3
TURN = 0.005
MAX_EXAMPLES = 30
_BROKEN = 70

_READY = ("hypothesis", "yaml", "click", "tomllib", "selectors", "difflib")  # imported before any fork
_OPTIONS = ["-x", "-m", "not real and not soak", "--tb=no"]


class Covered(NamedTuple):
    seconds: dict[str, float]  # by test
    tests: dict[str, dict[int, list[str]]]  # file below the package → line → tests that run it


class Ended(NamedTuple):
    mutant: Mutant
    survived: bool
    how: str  # the test that noticed, or what became of it


class Slot:
    """A worker's copy of the repository, as far as tests need it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._source = folder
        self.mutant: Mutant | None = None
        self.pid = 0
        self.deadline = 0.0

    def fill(self, source: Path) -> None:
        self._source = source
        self.folder.mkdir()
        for name in ("src", "tests"):
            shutil.copytree(source / name, self.folder / name)
        shutil.copy2(source / "pyproject.toml", self.folder)

    def change(self, mutant: Mutant) -> None:
        self.mutant = mutant
        path = self.folder / PACKAGE / mutant.file
        path.write_text(mutant.source(), "utf-8")

    def restore(self) -> None:
        assert self.mutant is not None
        place = f"{PACKAGE}/{self.mutant.file}"
        shutil.copy2(
            self._source / place, self.folder / place
        )  # with its time: the bytecode beside it is good again
        self.mutant = None

    def start(self, work: Callable[[], int], seconds: float) -> None:
        self.deadline = time.monotonic() + seconds
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self._settle()
                code = work()
            except BaseException:
                traceback.print_exc()
                code = _BROKEN
            sys.stdout.flush()
            os._exit(code)

    def _settle(self) -> None:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        null, output = (
            os.open(os.devnull, os.O_RDONLY),
            os.open(self.folder / "output", os.O_CREAT | os.O_TRUNC | os.O_RDWR),
        )
        for fd, target in ((null, 0), (output, 1), (output, 2)):
            os.dup2(fd, target)
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY, MAX_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.environ["PYTHONPATH"] = str(self.folder / "src")
        os.chdir(self.folder)

    def output(self) -> str:
        return (self.folder / "output").read_text("utf-8", "replace")

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None: it still runs."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if not pid and time.monotonic() < self.deadline:
            return None
        if not pid:
            os.kill(self.pid, signal.SIGKILL)
            _, status = os.waitpid(self.pid, 0)
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)  # what a test left behind
        self.pid = 0
        return os.waitstatus_to_exitcode(status)

    def stop(self) -> None:
        self.deadline = 0.0
        if self.pid:
            self.poll()


def get_ready(files: Sequence[str]) -> None:
    from hypothesis import HealthCheck, Phase, settings

    for name in _READY:
        importlib.import_module(name)
    settings.register_profile(
        "mutants",
        settings(deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]),
        max_examples=MAX_EXAMPLES,
        phases=(Phase.explicit, Phase.generate),  # that it fails is enough: nobody reads the smallest example
    )
    _compile_patterns(files)
    os.environ |= {"CI": "1", "HYPOTHESIS_PROFILE": "mutants", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    os.environ["MUTANT_UNDER_TEST"] = "1"  # tests that count to thousands count to hundreds
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    gc.collect()
    gc.freeze()


def _compile_patterns(files: Sequence[str]) -> None:
    """Half of a mutant's time went into regular expressions: `re` keeps these compiled, the modules go again."""
    re._MAXCACHE = 10_000  # type: ignore[attr-defined]
    for file in files:
        importlib.import_module(f"bmad_autopilot.{file.removesuffix('.py').replace('/', '.')}")
    for name in [name for name in sys.modules if name.partition(".")[0] == "bmad_autopilot"]:
        del sys.modules[name]


def cover(slot: Slot, tests: Sequence[str], left_out: Sequence[str]) -> Covered:
    """Run the tests on the code as it is, and note which lines each of them runs."""
    result = slot.folder / "covered.json"
    watch = _Watch(slot.folder, left_out, result)
    slot.start(lambda: pytest.main([*_OPTIONS, *_own(slot), *tests], plugins=[watch]), 1200.0)
    while (code := slot.poll()) is None:
        time.sleep(TURN)
    if code != 0:
        raise SystemExit(f"{slot.output()}\nmutants: the tests fail on the code as it is")
    data = json.loads(result.read_text())
    lines = {file: {int(line): ids for line, ids in found.items()} for file, found in data["tests"].items()}
    return Covered(data["seconds"], lines)


def _own(slot: Slot) -> list[str]:
    return [f"--basetemp={slot.folder}/tmp", f"--rootdir={slot.folder}"]


class _Watch:
    """A pytest plugin: coverage by test."""

    def __init__(self, folder: Path, left_out: Sequence[str], result: Path) -> None:
        import coverage

        self._package = f"{folder}/{PACKAGE}/"
        self._left_out = left_out
        self._result = result
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._coverage = coverage.Coverage(data_file=None, config_file=False, include=[f"{self._package}*"])

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if not any(name in item.nodeid for name in self._left_out)]
        self._coverage.start()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._coverage.switch_context(item.nodeid)
        yield

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        data = self._coverage.get_data()
        tests = {
            file.removeprefix(self._package): _contexts(data.contexts_by_lineno(file))
            for file in data.measured_files()
        }
        self._result.write_text(json.dumps({"seconds": self._seconds, "tests": tests}))


def _contexts(found: dict[int, list[str]]) -> dict[int, list[str]]:
    return {line: [name for name in names if name] for line, names in found.items()}


def _every(lines: dict[int, list[str]]) -> set[str]:
    return {test for tests in lines.values() for test in tests}


class _Chosen:
    """A pytest plugin: some tests in our own order, each bounded; the first that fails is named in a file."""

    def __init__(self, seconds: dict[str, float], result: Path) -> None:
        self._seconds = seconds
        self._order = {name: index for index, name in enumerate(seconds)}
        self._result = result

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self._order), key=lambda i: self._order[i.nodeid])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """What these timers send ends the process: even a regular expression that backtracks for ever."""
        seconds = self._seconds[nodeid]
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS + CPU_TIMES * seconds)
        signal.setitimer(signal.ITIMER_REAL, CLOCK_SECONDS + CLOCK_TIMES * seconds)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._result.write_text(report.nodeid)


class Runner:
    def __init__(self, covered: Covered, slots: list[Slot], used_in: dict[str, str]) -> None:
        self._covered = covered
        self._slots = slots
        self._used_in = used_in  # a program of its own, or data: file → file whose tests show what it does
        self._killers: dict[str, Counter[str]] = {}

    def run(self, mutants: Sequence[Mutant]) -> Iterator[Ended]:
        try:
            yield from self._run(mutants)
        finally:
            for slot in self._slots:
                slot.stop()

    def _run(self, mutants: Sequence[Mutant]) -> Iterator[Ended]:
        todo = list(reversed(mutants))
        while todo or any(slot.mutant for slot in self._slots):
            for slot in self._slots:
                if slot.mutant is None and todo:
                    mutant = todo.pop()
                    tests = self.tests_of(mutant)
                    if tests:
                        self._start(slot, mutant, tests)
                    else:
                        yield Ended(mutant, True, "no test runs it")
                elif slot.mutant is not None and (code := slot.poll()) is not None:
                    yield self._take_in(slot, slot.mutant, code)
            time.sleep(TURN)

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Those that run its line, or its file where it is run at import; who noticed most comes first."""
        own = self._covered.tests.get(mutant.file, {})
        found = (
            {test for line in mutant.lines for test in own.get(line, ())} if mutant.in_function else _every(own)
        )
        if not found or not mutant.in_function:
            found |= _every(self._covered.tests.get(self._used_in.get(mutant.file, ""), {}))
        killers = self._killers.get(mutant.file, Counter())
        return sorted(found, key=lambda test: (-killers[test], self._covered.seconds[test], test))

    def _start(self, slot: Slot, mutant: Mutant, tests: list[str]) -> None:
        slot.change(mutant)
        seconds = sum(self._covered.seconds[test] for test in tests)
        killer = slot.folder / "killer"
        killer.unlink(missing_ok=True)
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
        plugins = [_Chosen({test: self._covered.seconds[test] for test in tests}, killer)]

        def work() -> int:
            sys.dont_write_bytecode = True
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
            return pytest.main([*_OPTIONS, *_own(slot), *files], plugins=plugins)

        slot.start(work, START_SECONDS + CLOCK_TIMES * seconds)

    def _take_in(self, slot: Slot, mutant: Mutant, code: int) -> Ended:
        slot.restore()
        killer = slot.folder / "killer"
        if code == 0:
            return Ended(mutant, True, "all tests pass")
        if killer.exists():
            test = killer.read_text()
            self._killers.setdefault(mutant.file, Counter())[test] += 1
            return Ended(mutant, False, test)
        if code == pytest.ExitCode.NO_TESTS_COLLECTED:
            return Ended(mutant, True, "its tests are called otherwise now")
        if code == _BROKEN:
            raise SystemExit(f"{slot.output()}\nmutants: {mutant.key} could not be run")
        return Ended(mutant, False, "stopped at its limit" if code < 0 else "cannot be imported")

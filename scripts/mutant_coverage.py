"""Measures which tests run which lines, and how long each test takes."""

import ast
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import coverage
import pytest

from scripts.mutant_worker import PACKAGE, Slot
from scripts.mutations import Mutant

MOST_SECONDS = 1200.0
TURN = 0.05


class Coverage(NamedTuple):
    seconds: dict[str, float]  # by test
    tests: dict[str, dict[int, list[str]]]  # file below the package → line → tests that run it
    importers: dict[str, set[str]]  # file below the package → test files that import it

    def tests_of(self, mutant: Mutant, used_in: str) -> set[str]:
        """Tests that run its line; for code that runs at import, those that run or import its file. `used_in`: a
        file whose tests cover this one."""
        own = self.tests.get(mutant.file, {})
        found = {test for line in mutant.lines for test in own.get(line, ())} if mutant.in_function else set()
        if not found:  # a function may be called at import only
            importers = self.importers.get(mutant.file, ())
            found = {test for test in self.seconds if test.partition("::")[0] in importers}
            found |= _every(own) | _every(self.tests.get(used_in, {}))
        return found


def _every(lines: dict[int, list[str]]) -> set[str]:
    return {test for tests in lines.values() for test in tests}


def measure_coverage(
    slot: Slot, targets: Sequence[str], tests: Sequence[str], left_out: Sequence[str]
) -> Coverage:
    """Run the tests on the unchanged code and record which lines of these targets each one runs."""
    result = slot.folder / "covered.json"
    watch = _CoveragePlugin(f"{slot.folder}/{PACKAGE}/", targets, left_out, result)
    slot.start(lambda: pytest.main([*slot.options, *tests], plugins=[watch]), MOST_SECONDS)
    while (code := slot.poll()) is None:
        time.sleep(TURN)
    if code != 0:
        raise SystemExit(f"{slot.output()}\nmutants: the tests fail on the code as it is")
    data = json.loads(result.read_text())
    lines = {file: {int(line): ids for line, ids in found.items()} for file, found in data["tests"].items()}
    files = {test.partition("::")[0] for test in data["seconds"]}
    importers: dict[str, set[str]] = {}
    for file in sorted(files):
        for name in _imported((slot.folder / file).read_text("utf-8")):
            importers.setdefault(f"{name.replace('.', '/')}.py", set()).add(file)
    return Coverage(data["seconds"], lines, importers)


def _imported(source: str) -> Iterator[str]:
    """Imported modules of the package, without its name: `core.errors`."""
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            names = [str(node.module), *(f"{node.module}.{name}" for name in names)]
        yield from (name.partition(".")[2] for name in names if name.startswith("bmad_autopilot."))


class _CoveragePlugin:
    """A pytest plugin: coverage by test."""

    def __init__(self, package: str, targets: Sequence[str], left_out: Sequence[str], result: Path) -> None:
        self._package = package
        self._left_out = left_out
        self._result = result
        self._seconds: defaultdict[str, float] = defaultdict(float)
        include = [f"{package}{one}" if one.endswith(".py") else f"{package}{one}/*" for one in targets]
        self._coverage = coverage.Coverage(data_file=None, config_file=False, include=include)

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

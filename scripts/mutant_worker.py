"""A worker for mutants: a copy of the sources and tests, and a process forked from one that has imported the
modules that no mutant changes.

The mutated module is a file in the copy, so that programs started by tests run it too."""

import gc
import importlib
import os
import re
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings

from scripts.mutations import Mutant

PACKAGE = "src/bmad_autopilot"
MAX_MEMORY = 2 * 1024**3
MAX_EXAMPLES = 30
BROKEN = 70  # exit code if pytest itself could not run

_READY = ("yaml", "click", "tomllib", "selectors", "difflib")  # imported before any fork
_OPTIONS = ("-x", "-m", "not real and not soak", "--tb=no")


class Slot:
    """A worker's copy of the parts of the repository that tests need."""

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
        path = f"{PACKAGE}/{self.mutant.file}"
        # With its mtime, so that the cached bytecode is valid again.
        shutil.copy2(self._source / path, self.folder / path)
        self.mutant = None

    def start(self, work: Callable[[], int], seconds: float) -> None:
        self.deadline = time.monotonic() + seconds
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self._set_up_child()
                code = work()
            except BaseException:
                traceback.print_exc()
                code = BROKEN
            sys.stdout.flush()
            os._exit(code)

    def _set_up_child(self) -> None:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        output = os.open(self.folder / "output", os.O_CREAT | os.O_TRUNC | os.O_RDWR)
        for fd, target in ((os.open(os.devnull, os.O_RDONLY), 0), (output, 1), (output, 2)):
            os.dup2(fd, target)
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY, MAX_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.environ["PYTHONPATH"] = str(self.folder / "src")
        os.chdir(self.folder)

    @property
    def options(self) -> list[str]:
        """The options of pytest."""
        return [*_OPTIONS, f"--basetemp={self.folder}/tmp", f"--rootdir={self.folder}"]

    def output(self) -> str:
        return (self.folder / "output").read_text("utf-8", "replace")

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if not pid and time.monotonic() < self.deadline:
            return None
        if not pid:
            os.kill(self.pid, signal.SIGKILL)
            _, status = os.waitpid(self.pid, 0)
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        sweep(self.folder)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)

    def stop(self) -> None:
        self.deadline = 0.0
        if self.pid:
            self.poll()


def sweep(folder: Path) -> None:
    """Kill processes that tests left behind, identified by their working folder. Mutants of code that ends
    processes leave some, in their own sessions."""
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            with suppress(OSError):
                if Path(os.readlink(f"/proc/{name}/cwd")).is_relative_to(folder):
                    os.kill(int(name), signal.SIGKILL)


def preload(files: Sequence[str]) -> None:
    for name in _READY:
        importlib.import_module(name)
    settings.register_profile(
        "mutants",
        settings(deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]),
        max_examples=MAX_EXAMPLES,
        phases=(Phase.explicit, Phase.generate),  # no shrinking: a failure is enough
    )
    _compile_patterns(files)
    os.environ |= {"CI": "1", "HYPOTHESIS_PROFILE": "mutants", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    os.environ["MUTANT_UNDER_TEST"] = "1"  # tests that count to thousands count to hundreds
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    gc.collect()
    gc.freeze()


def _compile_patterns(files: Sequence[str]) -> None:
    """Fill the cache of `re` and unload the modules again: compiling patterns took half of a mutant's time."""
    re._MAXCACHE = 10_000  # type: ignore[attr-defined]
    for file in files:
        importlib.import_module(f"bmad_autopilot.{file.removesuffix('.py').replace('/', '.')}")
    for name in [name for name in sys.modules if name.partition(".")[0] == "bmad_autopilot"]:
        del sys.modules[name]

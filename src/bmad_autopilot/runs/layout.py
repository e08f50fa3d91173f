"""Paths of runs: `_bmad-output/.runs/<session branch>/<workflow>-<time>/steps/01-dev/attempt-1`."""

import os
import re
import time
from typing import NamedTuple

from ..core.errors import UsageError
from ..project.root import OUTPUT_FOLDER

ARCHIVE = "archive"
SESSION = "main"  # default session branch
MAX_NAME = 80
MAX_ATTEMPTS = 1000

_RUN = re.compile(r"(?P<workflow>.+)-(?P<time>\d{8}-\d{6})(?:-(?P<again>\d+))?\Z")
_STEP = re.compile(r"(?P<number>\d{2,})-(?P<name>.+)\Z")
_ATTEMPT = re.compile(r"attempt-(?P<number>\d+)\Z")


class AttemptLocation(NamedTuple):
    """The folder of one agent call."""

    session: str
    run: str
    step: str
    number: int
    folder: str

    @property
    def name(self) -> str:
        """The shortest unambiguous name a user can type."""
        return f"{self.run}/{self.step}/{self.number}"


def runs_folder(root: str) -> str:
    """`root`: the project in the main checkout, so that records survive a worktree's removal."""
    return os.path.join(root, OUTPUT_FOLDER, ".runs")


def folder_name(branch: str) -> str:
    """`feature/auth` → `feature-auth`: one rule for every branch and workflow that becomes a folder."""
    name = re.sub(r"[^\w.-]+", "-", branch).strip("-.")[:MAX_NAME]
    return f"{name}-branch" if name.lower() == ARCHIVE or not name else name


def make_run(runs: str, session: str, workflow: str, now: float) -> str:
    """Creates a new run's folder. Runs that start in the same second get different names, even in different
    sessions: git refs are named by the run alone."""
    parent = os.path.join(runs, folder_name(session))
    os.makedirs(parent, exist_ok=True)
    stem = f"{folder_name(workflow)}-{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}"
    existing = {name for _, name in (*find_runs(runs), *find_archived(runs)) if name.startswith(stem)}
    for again in range(1, MAX_ATTEMPTS):
        name = stem if again == 1 else f"{stem}-{again}"
        if name in existing:
            continue
        folder = os.path.join(parent, name)
        try:
            os.mkdir(folder)
            return folder
        except FileExistsError:
            continue
    raise UsageError(f"{MAX_ATTEMPTS} runs began in the same second", found=parent)


def attempt_folder(run: str, number: int, step: str, attempt: int) -> str:
    return os.path.join(run, "steps", f"{number:02}-{folder_name(step)}", f"attempt-{attempt}")


def list_attempts(run: str, number: int) -> list[str]:
    """Folders of one step's calls, in order."""
    steps = os.path.join(run, "steps")
    step = next((name for name in _folders(steps) if name.startswith(f"{number:02}-")), None)
    names = [name for name in _folders(f"{steps}/{step}") if _ATTEMPT.match(name)] if step else []
    return [f"{steps}/{step}/{name}" for name in sorted(names, key=lambda name: int(name.split("-")[1]))]


def list_calls(run: str) -> list[str]:
    """Folders of all calls of a run, in order."""
    numbers = sorted(int(match["number"]) for name in _folders(f"{run}/steps") if (match := _STEP.match(name)))
    return [folder for number in numbers for folder in list_attempts(run, number)]


def find_runs(runs: str) -> list[tuple[str, str]]:
    """Session and name of every run outside the archive."""
    sessions = (session for session in _folders(runs) if session != ARCHIVE)
    return [(session, run) for session in sessions for run in _folders(f"{runs}/{session}") if _RUN.match(run)]


def find_archived(runs: str) -> list[tuple[str, str]]:
    """Session and name of every run in the archive."""
    return find_runs(os.path.join(runs, ARCHIVE))


def find_attempts(runs: str) -> list[AttemptLocation]:
    """Every agent call, newest run first, and within a run the last call first."""
    found = [
        (run_start(run), attempt) for session, run in find_runs(runs) for attempt in _attempts(runs, session, run)
    ]
    found.sort(key=lambda item: (item[0], item[1].run, item[1].step, item[1].number), reverse=True)
    return [attempt for _, attempt in found]


def run_start(run: str) -> tuple[str, int]:
    match = _RUN.match(run)
    assert match is not None, run
    return match["time"], int(match["again"] or 1)


def is_within(folder: str, path: str) -> bool:
    """Whether a path read from a file stays inside `folder`, with `..` and links resolved."""
    if not path or os.path.isabs(path) or "\0" in path:
        return False
    top = os.path.realpath(folder)
    return os.path.realpath(os.path.join(top, path)).startswith(top + os.sep)


def _attempts(runs: str, session: str, run: str) -> list[AttemptLocation]:
    steps = f"{runs}/{session}/{run}/steps"
    return [
        AttemptLocation(session, run, step, int(match["number"]), f"{steps}/{step}/{attempt}")
        for step in _folders(steps)
        if _STEP.match(step)
        for attempt in _folders(f"{steps}/{step}")
        if (match := _ATTEMPT.match(attempt))
    ]


def _folders(path: str) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []

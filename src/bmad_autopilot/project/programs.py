"""Other programs: short questions to them (`git --version`; no shell, nothing on stdin, an end in any case), and
the virtual environment of Python in which those of a lane run."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from selectors import EVENT_READ, DefaultSelector
from typing import Any, NamedTuple

from ..core.errors import FileError
from ..files import read_bytes, write_atomic
from .gitdir import find_work_tree
from .root import Root

SECONDS = 5.0
MAX_OUTPUT = 1024 * 1024
AT_ONCE = 8

# Enough for any program to start, version managers' launchers included, and no place for a token.
PLAIN = frozenset(
    "PATH HOME USER LOGNAME SHELL LANG TERM TMPDIR TZ VOLTA_HOME ASDF_DIR ASDF_DATA_DIR NVM_DIR FNM_DIR "
    "MISE_DATA_DIR MISE_CONFIG_DIR".split()
)
PLAIN_PREFIXES = ("LC_", "XDG_")
# Set inside git's hooks: they would send our questions to another repository.
_GIT_STATE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")


class Answer(NamedTuple):
    code: int | None  # None: it did not end by itself
    out: str = ""
    err: str = ""
    problem: str = ""  # why there is no exit code, in words

    @property
    def ok(self) -> bool:
        return self.code == 0

    @property
    def why(self) -> str:
        """What went wrong, in one line."""
        said = next(
            (line.strip() for line in (*self.err.splitlines(), *self.out.splitlines()) if line.strip()), ""
        )
        return self.problem or said or f"exit code {self.code}"


class Question(NamedTuple):
    argv: tuple[str, ...]
    own_environment: bool = False  # the user's tokens and settings too: for git and gh alone


def find_program(name: str, path: str | None = None) -> str | None:
    """Where PATH has it, ours or the one given. Relative entries are passed over: they could name a file of the
    project."""
    return shutil.which(name, path=_search_path(path))


def find_all_programs(name: str) -> list[str]:
    """Every one of that name, as `which -a` lists them."""
    found = (shutil.which(name, path=folder) for folder in _search_path().split(os.pathsep))
    return list(dict.fromkeys(path for path in found if path))


def _search_path(path: str | None = None) -> str:
    entries = (os.environ.get("PATH", os.defpath) if path is None else path).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if os.path.isabs(entry))


def ask_all(questions: Mapping[str, Question], cwd: str, *, seconds: float = SECONDS) -> dict[str, Answer]:
    """Ask all of them side by side; a program that is not there has no answer."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = pool.map(lambda question: ask(question, cwd, seconds=seconds), questions.values())
    return {name: answer for name, answer in zip(questions, answers, strict=True) if answer is not None}


def ask(question: Question, cwd: str, *, seconds: float = SECONDS) -> Answer | None:
    """Run one program to its end or to the time limit. None: there is no such program."""
    path = find_program(question.argv[0])
    if path is None:
        return None
    try:
        child = subprocess.Popen(
            [path, *question.argv[1:]],
            cwd=cwd,
            env=_environment(question.own_environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # so that its children can be ended with it
        )
    except OSError as error:
        return Answer(None, problem=f"cannot be started: {error.strerror}")
    return _listen(child, seconds)


def _environment(own: bool) -> dict[str, str]:
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "NO_COLOR": "1", "DO_NOT_TRACK": "1"}
    quiet |= {"GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "GH_TELEMETRY": "0"}
    if own:
        kept = {name: value for name, value in os.environ.items() if name not in _GIT_STATE}
        return kept | quiet
    names = (name for name in os.environ if name in PLAIN or name.startswith(PLAIN_PREFIXES))
    return {name: os.environ[name] for name in names} | quiet


def _listen(child: subprocess.Popen[bytes], seconds: float) -> Answer:
    assert child.stdout is not None
    assert child.stderr is not None
    deadline = time.monotonic() + seconds
    heard = {child.stdout: bytearray(), child.stderr: bytearray()}
    problem = ""
    with DefaultSelector() as selector, child:
        for stream in heard:
            selector.register(stream, EVENT_READ)
        while selector.get_map() and not problem:
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            for key, _ in ready:
                data = os.read(key.fd, 65536)
                heard[key.fileobj] += data  # type: ignore[index]
                if not data:
                    selector.unregister(key.fileobj)
            if not ready:
                problem = f"no answer in {seconds:g} s"
            elif sum(map(len, heard.values())) > MAX_OUTPUT:
                problem = f"more than {MAX_OUTPUT // 1024} kB of output"
        problem = _end(child, deadline, problem, seconds)
    out, err = (bytes(data).decode("utf-8", "replace") for data in heard.values())
    return Answer(None if problem else child.returncode, out, err, problem)


def _end(child: subprocess.Popen[bytes], deadline: float, problem: str, seconds: float) -> str:
    """Wait for the end, bounded; whatever still runs then is killed with its children."""
    if not problem:
        try:
            child.wait(max(0.0, deadline - time.monotonic()))
            return ""
        except subprocess.TimeoutExpired:
            problem = f"no answer in {seconds:g} s"
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    return problem


# the virtual environment of a lane

VENV = ".venv"
_VENV_RECORD = "bmad-autopilot-venv.json"  # in the worktree's own git folder: gone with the worktree

# What installs into the environment that is active. `uv sync` does not: it has one of its own in each folder.
_INSTALLS = re.compile(
    r"\b(pip[\d.]*|poetry|pipenv|pdm|flit)\b[^;&|\n]*\b(install|sync|update|add)\b"
    r"|\bsetup\.py\s+(develop|install)\b|\beasy_install\b"
)
# Programs that run what stands in a file of the project.
_RUNNERS = {
    **dict.fromkeys(("make", "gmake"), ("GNUmakefile", "makefile", "Makefile")),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), ("package.json",)),
    **dict.fromkeys(("inv", "invoke"), ("tasks.py",)),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
}
_MAX_SCRIPT = 1024 * 1024
_OTHER_HOMES = frozenset(
    "PYTHONHOME CONDA_PREFIX CONDA_DEFAULT_ENV PYENV_VERSION PIP_USER PIP_TARGET PIP_PREFIX PIP_PYTHON "
    "UV_PROJECT_ENVIRONMENT UV_SYSTEM_PYTHON __PYVENV_LAUNCHER__".split()
)


class Venv(NamedTuple):
    """The virtual environment that was made for a worktree."""

    folder: str
    is_whole: bool  # False: it was begun, and a kill may have left half of it


def read_venv(git_dir: str, checkout: str) -> Venv | None:
    """Of the worktree with this git folder; None: it has none. The record says only which of two places it is: an
    agent can write there, too."""
    try:
        path = os.path.join(git_dir, _VENV_RECORD)
        data: Any = json.loads(read_bytes(path, limit=65536, follow=False))
        return Venv(venv_places(git_dir, checkout)[data["apart"] is True], data["whole"] is True)
    except (FileError, ValueError, LookupError, TypeError, RecursionError):
        return None


def write_venv(git_dir: str, checkout: str, venv: Venv) -> None:
    data = {"apart": venv.folder == venv_places(git_dir, checkout)[1], "whole": venv.is_whole}
    write_atomic(os.path.join(git_dir, _VENV_RECORD), json.dumps(data).encode())


def venv_places(git_dir: str, checkout: str) -> tuple[str, str]:
    """In the checkout, where tools look for it; and in the worktree's git folder, where that name is taken."""
    return os.path.join(checkout, VENV), os.path.join(git_dir, "bmad-autopilot-venv")


def installs_python_packages(setup: Iterable[str], others: Iterable[str], checkout: str) -> bool:
    """Whether the commands of a lane install into the Python environment that is active: those that set it up,
    with the scripts that they run, or others by their own words."""
    lines = [*setup, *others, *(text for line in setup for text in _scripts(line, checkout))]
    return any(map(_INSTALLS.search, lines))


def _scripts(line: str, checkout: str) -> Iterator[str]:
    """What stands in the files that a command runs: scripts of the project, and the files of its task runners."""
    for word in re.split(r"[\s;&|()<>'\"]+", line):
        for name in _RUNNERS.get(word, (word,) if word and not os.path.isabs(word) else ()):
            path = os.path.join(checkout, name)
            if os.path.isfile(path):
                with suppress(FileError):
                    yield read_bytes(path, limit=_MAX_SCRIPT).decode("utf-8", "replace")


def lane_environment(environment: Mapping[str, str], root: Root) -> dict[str, str]:
    """The environment for programs that run in this checkout: with the virtual environment of its worktree in
    place of the user's, where it has one. Nothing falls back to the user's: if the folder was removed meanwhile,
    pip refuses to install."""
    tree = find_work_tree(root.checkout) if root.is_linked else None
    venv = read_venv(tree.git_dir, root.checkout) if tree is not None else None
    if venv is None or not venv.is_whole:
        return dict(environment)
    active = [environment[name] for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if environment.get(name)]
    left = {os.path.join(folder, "bin") for folder in active}
    path = [
        entry
        for entry in environment.get("PATH", os.defpath).split(os.pathsep)
        if entry not in left and not _is_venv_of(root.path, entry)
    ]
    kept = {name: value for name, value in environment.items() if name not in _OTHER_HOMES}
    if "PYTHONPATH" in kept:
        entries = kept["PYTHONPATH"].split(os.pathsep)
        kept["PYTHONPATH"] = os.pathsep.join(_in_lane(entry, root) for entry in entries)
    own = os.path.join(venv.folder, "bin")
    return kept | {
        "VIRTUAL_ENV": venv.folder,
        "PATH": os.pathsep.join((own, *path)),
        "PIP_REQUIRE_VIRTUALENV": "1",
    }


def _is_venv_of(folder: str, entry: str) -> bool:
    """A virtual environment's programs inside this folder, as direnv puts them on PATH."""
    parent = os.path.dirname(os.path.normpath(entry))
    return parent.startswith(f"{folder}/") and os.path.isfile(os.path.join(parent, "pyvenv.cfg"))


def _in_lane(entry: str, root: Root) -> str:
    """The same folder in the lane's worktree, where it is one of the main checkout's."""
    is_main = entry == root.path or entry.startswith(f"{root.path}/")
    return root.checkout + entry[len(root.path) :] if is_main else entry

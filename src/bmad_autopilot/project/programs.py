"""Short questions to other programs (`git --version`): no shell, nothing on stdin, an end in any case."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from selectors import EVENT_READ, DefaultSelector
from typing import NamedTuple

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


def find_program(name: str) -> str | None:
    """Where PATH has it. Relative entries are passed over: they could name a file of the project."""
    return shutil.which(name, path=_search_path())


def find_all_programs(name: str) -> list[str]:
    """Every one of that name, as `which -a` lists them."""
    found = (shutil.which(name, path=folder) for folder in _search_path().split(os.pathsep))
    return list(dict.fromkeys(path for path in found if path))


def _search_path() -> str:
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
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

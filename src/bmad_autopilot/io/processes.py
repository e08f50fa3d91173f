"""Runs other programs without a shell, bounded in time and output.

`run_process` runs a given program file; `run_probe` asks one from PATH a short question (`git --version`)."""

import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector, SelectorKey
from typing import IO, NamedTuple

PROBE_SECONDS = 5.0
MAX_OUTPUT = 1024 * 1024
MAX_PARALLEL = 8

# Enough for any program to start, version managers included, and free of tokens.
BASE_ENVIRONMENT = frozenset(
    "PATH HOME USER LOGNAME SHELL LANG TERM TMPDIR TZ VOLTA_HOME ASDF_DIR ASDF_DATA_DIR NVM_DIR FNM_DIR "
    "MISE_DATA_DIR MISE_CONFIG_DIR".split()
)
BASE_ENVIRONMENT_PREFIXES = ("LC_", "XDG_")
# Set inside git hooks: they would direct our git calls to another repository.
_GIT_STATE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")


class ProcessOutput(NamedTuple):
    code: int | None  # None: it was killed or did not start
    out: bytes = b""
    err: str = ""
    problem: str = ""  # why there is no exit code

    @property
    def ok(self) -> bool:
        return self.code == 0

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "replace")

    @property
    def reason(self) -> str:
        """The reason of the failure, in one line."""
        lines = (line.strip() for line in (*self.err.splitlines(), *self.text.splitlines()))
        return self.problem or next(filter(None, lines), "") or f"exit code {self.code}"


class Probe(NamedTuple):
    argv: tuple[str, ...]
    inherits_environment: bool = False  # with the user's tokens and settings: only for git and gh


def find_program(name: str, path: str | None = None) -> str | None:
    """Find a program in PATH, ours or the given one. Relative entries are skipped: they could name a file of the
    project."""
    return shutil.which(name, path=_search_path(path))


def find_all_programs(name: str) -> list[str]:
    """All programs of that name, as `which -a` lists them."""
    found = (shutil.which(name, path=folder) for folder in _search_path().split(os.pathsep))
    return list(dict.fromkeys(path for path in found if path))


def _search_path(path: str | None = None) -> str:
    entries = (os.environ.get("PATH", os.defpath) if path is None else path).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if os.path.isabs(entry))


def run_probes(
    probes: Mapping[str, Probe], cwd: str, *, seconds: float = PROBE_SECONDS
) -> dict[str, ProcessOutput]:
    """Run all probes in parallel; a missing program has no result."""
    with ThreadPoolExecutor(MAX_PARALLEL) as pool:
        answers = pool.map(lambda question: run_probe(question, cwd, seconds=seconds), probes.values())
    return {name: answer for name, answer in zip(probes, answers, strict=True) if answer is not None}


def run_probe(probe: Probe, cwd: str, *, seconds: float = PROBE_SECONDS) -> ProcessOutput | None:
    """Run one program until it ends or reaches the time limit. None if there is no such program."""
    path = find_program(probe.argv[0])
    if path is None:
        return None
    argv, environment = [path, *probe.argv[1:]], _environment(probe.inherits_environment)
    try:
        return run_process(argv, environment, cwd=cwd, seconds=seconds, limit=MAX_OUTPUT, grace=0.0)
    except OSError as error:
        return ProcessOutput(None, problem=f"cannot be started: {error.strerror}")


def _environment(own: bool) -> dict[str, str]:
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "NO_COLOR": "1", "DO_NOT_TRACK": "1"}
    quiet |= {"GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "GH_TELEMETRY": "0"}
    if own:
        kept = {name: value for name, value in os.environ.items() if name not in _GIT_STATE}
        return kept | quiet
    names = (name for name in os.environ if name in BASE_ENVIRONMENT or name.startswith(BASE_ENVIRONMENT_PREFIXES))
    return {name: os.environ[name] for name in names} | quiet


# A child process with input: bytes in, bytes out, bounded in time and output.

MAX_ERRORS = 64 * 1024
GRACE = 2.0  # git removes its lock files on SIGTERM, not on SIGKILL
_CHUNK = 65536


def run_process(
    argv: Sequence[str | bytes],
    environment: Mapping[str, str],
    stdin_data: bytes = b"",
    *,
    seconds: float,
    limit: int,
    cwd: str | None = None,
    grace: float = GRACE,
    lock_fds: tuple[int, ...] = (),
) -> ProcessOutput:
    """Run `argv` with `stdin_data` as input and collect its output. It runs in a new session: it cannot prompt on
    the terminal, and a Ctrl-C does not interrupt a commit. `grace`: time to clean up before it is killed.
    `lock_fds`: lock descriptors it inherits."""
    with subprocess.Popen(
        argv,
        cwd=cwd,
        env=environment,
        stdin=subprocess.PIPE if stdin_data else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        pass_fds=lock_fds,
    ) as child:
        try:
            return _ProcessIO(child, stdin_data, limit).run(seconds)
        finally:
            if child.returncode is None:
                _kill_group(child, grace)


class _ProcessIO:
    def __init__(self, child: subprocess.Popen[bytes], feed: bytes, limit: int) -> None:
        assert child.stdout is not None
        assert child.stderr is not None
        self._child = child
        self._stdin_data = memoryview(feed)
        self._limit = limit
        self._out, self._err = bytearray(), bytearray()
        self._streams: dict[IO[bytes], bytearray] = {child.stdout: self._out, child.stderr: self._err}

    def run(self, seconds: float) -> ProcessOutput:
        deadline = time.monotonic() + seconds
        problem = ""
        with DefaultSelector() as selector:
            for stream in self._streams:
                selector.register(stream, EVENT_READ)
            if self._child.stdin is not None:
                os.set_blocking(self._child.stdin.fileno(), False)
                selector.register(self._child.stdin, EVENT_WRITE)
            while selector.get_map() and not problem:
                for key, _ in selector.select(max(0.0, deadline - time.monotonic())):
                    if not self._handle_ready(key):
                        selector.unregister(key.fileobj)
                        key.fileobj.close()  # type: ignore[union-attr]
                # A program that never stops writing to stderr is always ready.
                problem = self._problem(time.monotonic() < deadline, seconds)
        code = None if problem else self._exit_code(deadline)
        if code is None and not problem:
            problem = _timeout(seconds)
        return ProcessOutput(code, bytes(self._out), self._err.decode("utf-8", "replace"), problem)

    def _handle_ready(self, key: SelectorKey) -> bool:
        """Read or write one chunk. False at the end of the stream."""
        if key.fileobj is self._child.stdin:
            return self._write(key.fd)
        data = os.read(key.fd, _CHUNK)
        kept = self._streams[key.fileobj]  # type: ignore[index]
        kept += data
        if kept is self._err:
            del kept[:-MAX_ERRORS]
        return bool(data)

    def _write(self, fd: int) -> bool:
        try:
            written = os.write(fd, self._stdin_data[:_CHUNK])
        except BlockingIOError:
            return True
        except BrokenPipeError:  # it stopped reading; its exit code tells the result
            return False
        self._stdin_data = self._stdin_data[written:]
        return len(self._stdin_data) > 0

    def _problem(self, in_time: bool, seconds: float) -> str:
        if not in_time:
            return _timeout(seconds)
        return f"said more than {self._limit // 1024} kB" if len(self._out) > self._limit else ""

    def _exit_code(self, deadline: float) -> int | None:
        """Wait for the exit code. The streams are closed, so the process is about to end."""
        left = max(0.0, deadline - time.monotonic())
        if hasattr(os, "pidfd_open"):
            return self._child.wait() if _has_ended(self._child.pid, left) else None
        try:
            return self._child.wait(left)
        except subprocess.TimeoutExpired:
            return None


def _has_ended(pid: int, seconds: float) -> bool:
    """Wait for the exit of a process. Popen.wait(timeout) polls every millisecond: half of the time git takes."""
    fd = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        return bool(poll.poll(seconds * 1000))
    finally:
        os.close(fd)


def _timeout(seconds: float) -> str:
    return f"did not answer in {seconds:g} s"


def _kill_group(child: subprocess.Popen[bytes], grace: float) -> None:
    """Kill a process that was not waited for, and its children, which may outlive it."""
    if grace:
        _signal_group(child.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            child.wait(grace)
    _signal_group(child.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        child.wait(GRACE)


def _signal_group(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # macOS: EPERM if only zombies are left
        os.killpg(group, number)

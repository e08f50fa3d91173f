"""The project's own checks, run by us: all of them, each bounded in time and output, nothing left running."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from selectors import EVENT_READ, DefaultSelector
from typing import IO, NamedTuple

from ..agents.shim.redaction import CUT, RedactedStream, redact, secrets_of
from ..core.errors import FileError, Place
from . import keeper
from .excerpts import excerpt, plain, stable
from .failures import Failure, kind_of
from .reports import Check, CheckReport

MAX_OUTPUT = 10 * 1024 * 1024  # kept of one check: half from its start, half from its end
READ = 256 * 1024
ASK_SECONDS = 0.2  # between two questions whether it is to end; of silence, after which lines are written
END_SECONDS = keeper.GRACE + keeper.KILL_SECONDS + 5.0


Ends = Callable[[], bool]


class _Heard(NamedTuple):
    exit: int | None
    output: bytes


def run_checks(
    commands: Sequence[str],
    cwd: str,
    environment: Mapping[str, str],
    folder: str,
    *,
    seconds: float,
    ends: Ends | None = None,
    after: Callable[[str], None] | None = None,
) -> CheckReport:
    """Run each command in `cwd`, its output kept in `folder` as 01.log, 02.log …

    A failure does not stop the rest: whoever mends one wants to see them all. Interrupted, the one that runs is
    ended with everything it started; so it is once `ends` says so, asked now and then. `after`: called with each
    command once it has ended."""
    checks: list[Check] = []
    failures: list[Failure] = []
    marks: list[str] = []
    os.makedirs(folder, exist_ok=True)
    for number, command in enumerate(commands, 1):
        log = os.path.join(folder, f"{number:02}.log")
        began = time.monotonic()
        heard = _run(command, cwd, environment, log, seconds, ends)
        checks.append(Check(command, heard.exit, round(time.monotonic() - began, 3), log))
        if after is not None:
            after(command)
        if heard.exit != 0:
            text = redact(plain(heard.output))  # without its colours it may hold a secret that had one inside
            failures.append(_failure(command, heard.exit, text, seconds))
            marks.append(f"{command}\0{heard.exit}\0{stable(text)}")
    mark = sha256("\0\0".join(marks).encode("utf-8", "replace")).hexdigest()[:16] if marks else ""
    return CheckReport(tuple(checks), tuple(failures), mark)


def _failure(command: str, exit: int | None, text: str, seconds: float) -> Failure:
    shown = excerpt(text)
    if exit is None:
        shown = f"{shown}\n[did not end in {seconds:g} s, and was stopped]".lstrip()
    return Failure(command, exit, kind_of(exit, text), shown)


def _run(
    command: str, cwd: str, environment: Mapping[str, str], log: str, seconds: float, ends: Ends | None
) -> _Heard:
    try:
        file = _new_log(log)
    except OSError as error:
        raise FileError(f"cannot be written: {error.strerror}", place=Place(log)) from None
    with file:
        try:
            child = subprocess.Popen(
                [sys.executable, "-I", "-S", keeper.__file__, command],
                cwd=cwd,
                env=dict(environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a Ctrl-C in the terminal is ours to pass on
            )
        except (OSError, ValueError) as error:  # no such folder; a NUL in the command
            said = redact(f"cannot be started: {error}").encode("utf-8", "replace")
            file.write(said)
            return _Heard(127, said)
        with child:
            try:
                secrets = secrets_of({**os.environ, **environment})
                return _listen(child, file, log, time.monotonic() + seconds, ends, secrets)
            finally:
                _end(child)


def _new_log(path: str) -> IO[bytes]:
    """A new file: what an agent may have put in its place is removed, not written through."""
    with suppress(FileNotFoundError):
        os.unlink(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.fdopen(os.open(path, flags, 0o666), "wb", buffering=0)


def _listen(
    child: "subprocess.Popen[bytes]",
    file: IO[bytes],
    log: str,
    deadline: float,
    ends: Ends | None,
    secrets: Sequence[str],
) -> _Heard:
    """Until its output ends. From the time limit on the keeper is ending it; what it still says is kept too."""
    assert child.stdin is not None
    assert child.stdout is not None
    kept = _Kept(file, log, secrets)
    late = False
    with DefaultSelector() as selector:
        selector.register(child.stdout, EVENT_READ)
        while True:
            left = max(0.0, deadline - time.monotonic())
            ready = selector.select(left if ends is None and kept.is_flushed else min(left, ASK_SECONDS))
            data = os.read(child.stdout.fileno(), READ) if ready else b""
            if ready:
                kept.add(data)
            else:
                kept.flush()
            if ready and not data:
                break
            if time.monotonic() >= deadline or (not late and ends is not None and ends()):
                if late:
                    break
                late = True
                deadline = time.monotonic() + END_SECONDS
                child.stdin.close()
    return _Heard(None if late else _code(child, deadline), kept.finish())


def _code(child: "subprocess.Popen[bytes]", deadline: float) -> int | None:
    """Its output is closed, which a check may do long before it ends."""
    try:
        return child.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None


def _end(child: "subprocess.Popen[bytes]") -> None:
    """Tell the keeper to end the check, by closing its input, and wait until it has."""
    assert child.stdin is not None
    child.stdin.close()
    try:
        child.wait(END_SECONDS)
    except subprocess.TimeoutExpired:  # stuck in the kernel
        child.kill()


class _Kept:
    """Output on its way to a file, without its secrets: the head as it comes, of the rest the last part."""

    def __init__(self, file: IO[bytes], log: str, secrets: Sequence[str]) -> None:
        self._file = file
        self._log = log
        self._stream = RedactedStream(secrets)
        self._kept = bytearray()
        self._head = 0  # bytes of it, as they were printed
        self._rest = 0  # bytes after it
        self._beyond = bytearray()  # the first of those
        self._tail = bytearray()  # the last of those
        self.is_flushed = True

    def add(self, data: bytes) -> None:
        self.is_flushed = False
        room = MAX_OUTPUT // 2 - self._head
        if room > 0:
            self._head += len(data[:room])
            self._put(self._stream.add(data[:room]))
            data = data[room:]
        self._rest += len(data)
        self._beyond += data[: max(0, CUT - len(self._beyond))]
        self._tail += data
        if len(self._tail) > MAX_OUTPUT + CUT:
            del self._tail[: len(self._tail) - MAX_OUTPUT // 2 - CUT]

    def flush(self) -> None:
        """The check is silent: what it has said may be read by now, and a full disk is noticed."""
        if not self.is_flushed:
            self.is_flushed = True
            if not self._rest:
                self._put(self._stream.flush())

    def finish(self) -> bytes:
        tail = bytes(self._tail)
        dropped = self._rest - MAX_OUTPUT // 2
        if dropped > 0:
            self._put(self._stream.finish(bytes(self._beyond)))
            self._put(f"\n[… {dropped} bytes left out …]\n".encode())
            cut = len(tail) - MAX_OUTPUT // 2
            self._put(self._stream.tail(tail[max(0, cut - CUT) : cut], tail[cut:]))
        else:
            self._put(self._stream.add(tail) + self._stream.finish())
        return bytes(self._kept)

    def _put(self, data: bytes) -> None:
        self._kept += data
        self._write(data)

    def _write(self, data: bytes) -> None:
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            raise FileError(f"cannot be written: {error.strerror}", place=Place(self._log)) from None

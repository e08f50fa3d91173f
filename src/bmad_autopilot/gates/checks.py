"""Runs the project's checks and reports the results. Bounded in time and output; leaves no process running."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from selectors import EVENT_READ, DefaultSelector
from typing import IO, NamedTuple

from ..agents.shim.redact import CUT, RedactedStream, environment_secrets, redact
from ..core.errors import FileError, Location
from . import check_process
from .check_output import (
    CheckFailure,
    FailureKind,
    classify_failure,
    clean_output,
    failure_excerpt,
    normalize_failure,
)

# The report, stored as JSON with the hash of the checked tree.

MAX_REPORT = 4 * 1024 * 1024
MAX_FAILURE_TEXT = 12_000


class CheckResult(NamedTuple):
    command: str
    exit: int | None  # None: killed at the time limit
    seconds: float
    log: str  # path of its output


class CheckReport(NamedTuple):
    checks: tuple[CheckResult, ...] = ()
    failures: tuple[CheckFailure, ...] = ()
    signature: str = ""  # equal for equal failures; empty if all passed

    @property
    def passed(self) -> bool:
        """True without any command, too; check `is_empty` and say so in summaries."""
        return all(check.exit == 0 for check in self.checks)

    @property
    def is_empty(self) -> bool:
        return not self.checks

    @property
    def is_environment(self) -> bool:
        """Whether no failure can be fixed by changing code."""
        return bool(self.failures) and all(one.kind is FailureKind.ENVIRONMENT for one in self.failures)

    @property
    def failure_text(self) -> str:
        """All failures as text, for the next attempt or a person."""
        return "\n\n".join(map(_describe_failure, self.failures))[:MAX_FAILURE_TEXT]

    def to_json(self) -> str:
        return json.dumps(
            {
                "checks": [check._asdict() for check in self.checks],
                "failures": [failure._asdict() for failure in self.failures],
                "signature": self.signature,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> "CheckReport | None":
        """None if it is not a valid, consistent report: then the checks run again."""
        try:
            data = json.loads(text[:MAX_REPORT])
            checks = tuple(_read_check(one) for one in data["checks"])
            failures = tuple(_read_failure(one) for one in data["failures"])
            report = cls(checks, failures, _text(data["signature"]))
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        failed = [(check.command, check.exit) for check in checks if check.exit != 0]
        return report if failed == [(one.command, one.exit) for one in failures] else None


def _describe_failure(failure: CheckFailure) -> str:
    how = "was stopped at its time limit" if failure.exit is None else f"exit code {failure.exit}"
    return f"$ {failure.command}\n({how})\n{failure.excerpt}"


def _read_check(data: dict[str, object]) -> CheckResult:
    return CheckResult(
        _text(data["command"]), _exit(data["exit"]), float(_number(data["seconds"])), _text(data["log"])
    )


def _read_failure(data: dict[str, object]) -> CheckFailure:
    kind = FailureKind(_text(data["kind"]))
    return CheckFailure(_text(data["command"]), _exit(data["exit"]), kind, _text(data["excerpt"]))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(value)
    return value


def _exit(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(value)
    return value


MAX_OUTPUT = 10 * 1024 * 1024  # kept per check: half from its start, half from its end
READ_BYTES = 256 * 1024
POLL_SECONDS = 0.2  # interval for `should_stop`; silence after which output is flushed
END_SECONDS = check_process.GRACE + check_process.KILL_SECONDS + 5.0


ShouldStop = Callable[[], bool]


class _CommandOutput(NamedTuple):
    exit: int | None
    output: bytes


def run_checks(
    commands: Sequence[str],
    cwd: str,
    environment: Mapping[str, str],
    folder: str,
    *,
    seconds: float,
    should_stop: ShouldStop | None = None,
    on_command_end: Callable[[str], None] | None = None,
) -> CheckReport:
    """Run each command in `cwd` and write its output to `folder` as 01.log, 02.log …

    A failure does not stop the rest, so that all failures can be fixed together. On an interrupt, or once
    `should_stop` (polled) returns true, the running check is killed with all its children. `on_command_end` is
    called with each command after it ended."""
    checks: list[CheckResult] = []
    failures: list[CheckFailure] = []
    marks: list[str] = []
    os.makedirs(folder, exist_ok=True)
    for number, command in enumerate(commands, 1):
        log = os.path.join(folder, f"{number:02}.log")
        began = time.monotonic()
        heard = _run(command, cwd, environment, log, seconds, should_stop)
        checks.append(CheckResult(command, heard.exit, round(time.monotonic() - began, 3), log))
        if on_command_end is not None:
            on_command_end(command)
        if heard.exit != 0:
            text = redact(clean_output(heard.output))  # again: a colour code may have split a secret
            failures.append(_failure(command, heard.exit, text, seconds))
            marks.append(f"{command}\0{heard.exit}\0{normalize_failure(text)}")
    mark = sha256("\0\0".join(marks).encode("utf-8", "replace")).hexdigest()[:16] if marks else ""
    return CheckReport(tuple(checks), tuple(failures), mark)


def _failure(command: str, exit: int | None, text: str, seconds: float) -> CheckFailure:
    shown = failure_excerpt(text)
    if exit is None:
        shown = f"{shown}\n[did not end in {seconds:g} s, and was stopped]".lstrip()
    return CheckFailure(command, exit, classify_failure(exit, text), shown)


def _run(
    command: str,
    cwd: str,
    environment: Mapping[str, str],
    log: str,
    seconds: float,
    should_stop: ShouldStop | None,
) -> _CommandOutput:
    try:
        file = _create_log(log)
    except OSError as error:
        raise FileError(f"cannot be written: {error.strerror}", location=Location(log)) from None
    with file:
        try:
            child = subprocess.Popen(
                [sys.executable, "-I", "-S", check_process.__file__, command],
                cwd=cwd,
                env=dict(environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a Ctrl-C in the terminal must not reach it directly
            )
        except (OSError, ValueError) as error:  # no such folder; a NUL in the command
            said = redact(f"cannot be started: {error}").encode("utf-8", "replace")
            file.write(said)
            return _CommandOutput(127, said)
        with child:
            try:
                secrets = environment_secrets({**os.environ, **environment})
                return _collect_output(child, file, log, time.monotonic() + seconds, should_stop, secrets)
            finally:
                _stop(child)


def _create_log(path: str) -> IO[bytes]:
    """Create a new file. An existing entry, perhaps an agent's link, is removed and not written through."""
    with suppress(FileNotFoundError):
        os.unlink(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.fdopen(os.open(path, flags, 0o666), "wb", buffering=0)


def _collect_output(
    child: "subprocess.Popen[bytes]",
    file: IO[bytes],
    log: str,
    deadline: float,
    should_stop: ShouldStop | None,
    secrets: Sequence[str],
) -> _CommandOutput:
    """Read until the output ends. After the time limit check_process kills the check; its last output is kept."""
    assert child.stdin is not None
    assert child.stdout is not None
    kept = _OutputLog(file, log, secrets)
    late = False
    with DefaultSelector() as selector:
        selector.register(child.stdout, EVENT_READ)
        while True:
            left = max(0.0, deadline - time.monotonic())
            ready = selector.select(left if should_stop is None and kept.is_flushed else min(left, POLL_SECONDS))
            data = os.read(child.stdout.fileno(), READ_BYTES) if ready else b""
            if ready:
                kept.add(data)
            else:
                kept.flush()
            if ready and not data:
                break
            if time.monotonic() >= deadline or (not late and should_stop is not None and should_stop()):
                if late:
                    break
                late = True
                deadline = time.monotonic() + END_SECONDS
                child.stdin.close()
    return _CommandOutput(None if late else _code(child, deadline), kept.finish())


def _code(child: "subprocess.Popen[bytes]", deadline: float) -> int | None:
    """Wait for the exit code: a check may close its output long before it ends."""
    try:
        return child.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None


def _stop(child: "subprocess.Popen[bytes]") -> None:
    """Stop the check by closing the stdin of check_process, and wait until it has ended."""
    assert child.stdin is not None
    child.stdin.close()
    try:
        child.wait(END_SECONDS)
    except subprocess.TimeoutExpired:  # stuck in the kernel
        child.kill()


class _OutputLog:
    """Writes redacted output to the log: the head immediately, of the rest only the last part."""

    def __init__(self, file: IO[bytes], log: str, secrets: Sequence[str]) -> None:
        self._file = file
        self._log = log
        self._stream = RedactedStream(secrets)
        self._kept = bytearray()
        self._head = 0  # size of the head, before redaction
        self._rest = 0  # bytes after the head
        self._after_head = bytearray()  # the first bytes after the head
        self._tail = bytearray()  # the last bytes
        self.is_flushed = True

    def add(self, data: bytes) -> None:
        self.is_flushed = False
        room = MAX_OUTPUT // 2 - self._head
        if room > 0:
            self._head += len(data[:room])
            self._put(self._stream.add(data[:room]))
            data = data[room:]
        self._rest += len(data)
        self._after_head += data[: max(0, CUT - len(self._after_head))]
        self._tail += data
        if len(self._tail) > MAX_OUTPUT + CUT:
            del self._tail[: len(self._tail) - MAX_OUTPUT // 2 - CUT]

    def flush(self) -> None:
        """Write pending output while the check is silent, so that it can be read and a full disk is noticed."""
        if not self.is_flushed:
            self.is_flushed = True
            if not self._rest:
                self._put(self._stream.flush())

    def finish(self) -> bytes:
        tail = bytes(self._tail)
        dropped = self._rest - MAX_OUTPUT // 2
        if dropped > 0:
            self._put(self._stream.finish(bytes(self._after_head)))
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
            raise FileError(f"cannot be written: {error.strerror}", location=Location(self._log)) from None

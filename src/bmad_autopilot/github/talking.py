"""One conversation with a child process: bytes in, bytes out, a bound on time and on output."""

import os
import select
import signal
import subprocess
import time
from contextlib import suppress
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector, SelectorKey
from typing import IO, NamedTuple

MAX_ERRORS = 64 * 1024
GRACE = 2.0  # git takes its lock files away on SIGTERM, and leaves them on SIGKILL
_CHUNK = 65536


class Heard(NamedTuple):
    code: int | None  # None: it had to be ended
    out: bytes
    err: str
    problem: str = ""  # why there is no exit code


def talk(
    argv: list[bytes],
    environment: dict[str, str],
    feed: bytes,
    *,
    seconds: float,
    limit: int,
    held: tuple[int, ...] = (),
) -> Heard:
    """Start `argv`, give it `feed`, hear it out. It has a session of its own: no terminal to ask on, and a Ctrl-C
    meant for us does not tear a commit in two. `held`: descriptors of locks that it holds as long as it lives."""
    with subprocess.Popen(
        argv,
        env=environment,
        stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        pass_fds=held,
    ) as child:
        try:
            return _Conversation(child, feed, limit).hold(seconds)
        finally:
            _end(child)


class _Conversation:
    def __init__(self, child: subprocess.Popen[bytes], feed: bytes, limit: int) -> None:
        assert child.stdout is not None
        assert child.stderr is not None
        self._child = child
        self._feed = memoryview(feed)
        self._limit = limit
        self._out, self._err = bytearray(), bytearray()
        self._heard: dict[IO[bytes], bytearray] = {child.stdout: self._out, child.stderr: self._err}

    def hold(self, seconds: float) -> Heard:
        deadline = time.monotonic() + seconds
        problem = ""
        with DefaultSelector() as selector:
            for stream in self._heard:
                selector.register(stream, EVENT_READ)
            if self._child.stdin is not None:
                os.set_blocking(self._child.stdin.fileno(), False)
                selector.register(self._child.stdin, EVENT_WRITE)
            while selector.get_map() and not problem:
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                for key, _ in ready:
                    if not self._serve(key):
                        selector.unregister(key.fileobj)
                        key.fileobj.close()  # type: ignore[union-attr]
                problem = self._problem(bool(ready), seconds)
        code = None if problem else self._code(deadline)
        if code is None and not problem:
            problem = f"did not end in {seconds:g} s"
        return Heard(code, bytes(self._out), self._err.decode("utf-8", "replace"), problem)

    def _serve(self, key: SelectorKey) -> bool:
        """Read or write a little. False: this stream is at its end."""
        if key.fileobj is self._child.stdin:
            return self._write(key.fd)
        data = os.read(key.fd, _CHUNK)
        kept = self._heard[key.fileobj]  # type: ignore[index]
        kept += data
        if kept is self._err:
            del kept[:-MAX_ERRORS]
        return bool(data)

    def _write(self, fd: int) -> bool:
        try:
            written = os.write(fd, self._feed[:_CHUNK])
        except BlockingIOError:
            return True
        except BrokenPipeError:  # it has heard enough; its exit code says what it made of it
            return False
        self._feed = self._feed[written:]
        return len(self._feed) > 0

    def _problem(self, answered: bool, seconds: float) -> str:
        if not answered:
            return f"did not answer in {seconds:g} s"
        return f"said more than {self._limit // 1024} kB" if len(self._out) > self._limit else ""

    def _code(self, deadline: float) -> int | None:
        """Its streams are closed, so it ends about now."""
        left = max(0.0, deadline - time.monotonic())
        if hasattr(os, "pidfd_open"):
            return self._child.wait() if _has_ended(self._child.pid, left) else None
        try:
            return self._child.wait(left)
        except subprocess.TimeoutExpired:
            return None


def _has_ended(pid: int, seconds: float) -> bool:
    """Popen.wait with a limit sleeps a millisecond between two looks: half of what git itself takes."""
    fd = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        return bool(poll.poll(seconds * 1000))
    finally:
        os.close(fd)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Nothing of it goes on after this."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if child.poll() is not None:
            return
        with suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with suppress(subprocess.TimeoutExpired):
            child.wait(GRACE)

"""The shim's main loop: starts the agent, records its output, enforces the limits, and writes the result."""

from __future__ import annotations

import os
import select
import sys
import time

from . import attempt_files, process_tree, tree_snapshot
from .attempt_files import (
    CANCEL_FILE,
    EVENTS,
    build_result,
    claim_start,
    make_temp_folder,
    open_folder,
    read_order,
    read_time_limit,
    remove_temp_folder,
    restore_start_mark,
    split_run_folder,
    write_result,
)
from .process_tree import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .attempt_files import Order
    from .recorder import Recorder

# Escalation while the agent does not end: SIGINT to the agent, then SIGTERM and SIGKILL to all its processes.
_STAGES = ((signal.SIGINT, False), (signal.SIGTERM, True), (signal.SIGKILL, True))
_READ = 256 * 1024
_DRAIN = 16  # reads: a pipe holds less, and a process the agent left behind may print forever
_MAX_WAIT = 3600.0
STALL_SECONDS = 10.0  # for git while the agent runs: the shim reads no output meanwhile
_STOP_SECONDS = 20.0


def main() -> None:
    order = read_order(0)
    if order is None:
        return
    locks = [int(fd) for fd in sys.argv[1].split(",")]
    for fd in locks:
        os.set_inheritable(fd, False)  # the agent must not keep our locks alive
    os.chdir("/")
    supervisor = _Supervisor(order)
    supervisor.listen_to_signals()  # before any process can know our pid
    if claim_start(supervisor.records_fd, os.getpid()):
        supervisor.run()
    os._exit(0)  # the monitor waits for our exit, and nothing is left to clean up


class _Supervisor:
    def __init__(self, order: Order) -> None:
        self.order = order
        self.folder = order["folder"]
        run, self.attempt_path = split_run_folder(self.folder)
        # Opened before the agent can replace them.
        self.records_fd, self.run_fd = open_folder(self.folder), os.open(run, os.O_RDONLY | os.O_CLOEXEC)
        self.started_at = time.time()
        self.started = time.monotonic()
        self.quiet_since = self.started
        self.halfway_snapshot: tree_snapshot.TreeSnapshot | None = (
            None  # the work tree after half the stall limit without new output
        )
        self.pid = 0
        self.status: int | None = None
        self.ended_by = ""
        self.stage = 0
        self.stage_due = 0.0
        self.is_terminating = False
        self.recorder: Recorder | None = None
        self.poll = select.poll()
        self.pipes: dict[int, str] = {}
        self.stdin_left = order["stdin"]
        self.problems: list[str] = []

    def run(self) -> None:
        """Whatever goes wrong in the shim, the agent is ended and a result is written."""
        before: dict[str, list[str]] = {}
        try:
            process_tree.become_subreaper()
            make_temp_folder(self.order["private"])
            before = {
                other: tree_snapshot.worktree_status(other, self.order["environment"])
                for other in self.order["others"]
            }
            self._start()
            while self.status is None:
                self._tick()
        except process_tree.StartFailed as error:
            self.ended_by = attempt_files.NO_START
            self.problems.append(str(error))
        except Exception as error:
            self.problems.append(f"{type(error).__name__}: {error}")
            self.ended_by = self.ended_by or (attempt_files.SIGNAL if self.pid else attempt_files.NO_START)
        self._end(before)

    def _record(self, stream: str, data: bytes) -> list[dict[str, object] | str]:
        if self.recorder is None:
            from .recorder import Recorder  # imported on the first output, so as not to delay the agent's start

            self.recorder = Recorder(EVENTS, self.order["secrets"], self.started, self.records_fd)
        return self.recorder.feed(stream, data)

    # -- starting

    def listen_to_signals(self) -> None:
        self.wakeup, write = os.pipe()
        for fd in (self.wakeup, write):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._on_term)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        self.poll.register(self.wakeup, select.POLLIN)

    def _on_term(self, *_: object) -> None:
        self.is_terminating = True

    def _start(self) -> None:
        inputs, outputs, errors = os.pipe(), os.pipe(), os.pipe()
        self.pid = process_tree.start(
            self.order["argv"],
            self.order["environment"],
            self.order["worktree"],
            (inputs[0], outputs[1], errors[1]),
        )
        for fd in (inputs[0], outputs[1], errors[1]):
            os.close(fd)
        for fd, stream in ((outputs[0], "text"), (errors[0], "error")):
            os.set_blocking(fd, False)
            self.pipes[fd] = stream
            self.poll.register(fd, select.POLLIN)
        self.stdin = inputs[1]
        os.set_blocking(self.stdin, False)
        self._write_stdin()

    # -- while it runs

    def _tick(self) -> None:
        """Wait for the next event and handle it."""
        for fd, _ in self.poll.poll(self._wait_ms()):
            if fd == self.wakeup:
                os.read(fd, 4096)
            elif fd == self.stdin:
                self._write_stdin()
            else:
                self._read_output(fd)
        self._reap()
        if self.status is None:
            self._check_limits()

    def _wait_ms(self) -> int:
        due = [self.stage_due] if self.ended_by else [*self._deadlines()]
        wait = min([*(moment - time.monotonic() for moment in due), _MAX_WAIT])
        return max(0, int(wait * 1000) + 1)

    def _deadlines(self) -> list[float]:
        stall = self.order["stall_limit"]
        due = [self.started + self._time_limit()]
        if stall:
            due.append(self.quiet_since + (stall if self.halfway_snapshot else stall / 2))
        return due

    def _time_limit(self) -> float:
        self.order["time_limit"] = read_time_limit(self.folder, self.order["time_limit"])
        return self.order["time_limit"]

    def _write_stdin(self) -> None:
        """Write the prompt as fast as the agent reads it."""
        try:
            while self.stdin_left:
                self.stdin_left = self.stdin_left[os.write(self.stdin, self.stdin_left[:_READ]) :]
        except BlockingIOError:
            self.poll.register(self.stdin, select.POLLOUT)
            return
        except OSError:  # the agent has closed its stdin
            pass
        try:
            self.poll.unregister(self.stdin)
        except KeyError:
            pass
        os.close(self.stdin)
        self.stdin = -1

    def _read_output(self, fd: int) -> bool:
        """Read once from the pipe. False if it is empty or closed."""
        try:
            data = os.read(fd, _READ)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self.poll.unregister(fd)
            os.close(fd)
            del self.pipes[fd]
            return False
        for line in self._record(self.pipes[fd], data):
            self.quiet_since, self.halfway_snapshot = time.monotonic(), None
            if isinstance(line, dict) and self._lacks_skill(line):
                self._stop(attempt_files.GUARD)
        return True

    def _lacks_skill(self, event: dict[str, object]) -> bool:
        guard = self.order["guard"]
        if guard is None or any(event.get(key) != value for key, value in guard[0].items()):
            return False
        self.order["guard"] = None  # the first such event counts
        lists = [event.get(name) for name in guard[1]]
        known = [names for names in lists if isinstance(names, list)]
        return bool(known) and not any(guard[2] in names for names in known)

    def _reap(self) -> None:
        """Reap the agent and orphans of its that became our children."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.pid:
                self.status = status

    def _check_limits(self) -> None:
        now = time.monotonic()
        if self.ended_by:
            if now >= self.stage_due:
                self._next_stage()
            return
        stall = self.order["stall_limit"]
        if self.is_terminating:
            asked = os.path.exists(f"{self.folder}/{CANCEL_FILE}")
            self._stop(attempt_files.CANCEL if asked else attempt_files.SIGNAL)
        elif now >= self.started + self._time_limit():
            self._stop(attempt_files.TIME_LIMIT)
        elif stall and now >= self.quiet_since + stall / 2:
            self._check_stall(now, stall)

    def _check_stall(self, now: float, stall: float) -> None:
        """Silence, or repeating the same output, is a stall only if the work tree does not change either."""
        if self.halfway_snapshot is None:
            self.halfway_snapshot = self._take_snapshot(for_comparison=True)
        elif now >= self.quiet_since + stall:
            if self._take_snapshot(for_comparison=True) == self.halfway_snapshot:
                self._stop(attempt_files.STALL)
            else:
                self.quiet_since, self.halfway_snapshot = time.monotonic(), None

    def _take_snapshot(self, *, for_comparison: bool = False) -> tree_snapshot.TreeSnapshot:
        """`for_comparison`: with less time, and without leaving objects in the repository."""
        private = self.order["private"]
        scratch, seconds = (f"{private}/objects", STALL_SECONDS) if for_comparison else ("", tree_snapshot.SECONDS)
        environment = self.order["environment"]
        return tree_snapshot.look(self.order["worktree"], environment, f"{private}/index", scratch, seconds)

    # -- ending it

    def _stop(self, by: str) -> None:
        if not self.ended_by:
            self.ended_by = by
            self._next_stage()

    def _next_stage(self) -> None:
        number, include_descendants = _STAGES[min(self.stage, len(_STAGES) - 1)]
        process_tree.send_signal(self.pid, number, include_descendants=include_descendants)
        if self.stage == 0 and self.order["stop"]:
            self._run_stop()
        self.stage += 1
        self.stage_due = time.monotonic() + self.order["grace"]

    def _run_stop(self) -> None:
        """Run the launcher's stop command: our signals do not reach processes behind a launcher."""
        code, _ = tree_snapshot.run(self.order["stop"], self.order["environment"], _STOP_SECONDS)
        if code != 0:
            self.problems.append(f"the launcher's stop command failed ({code})")

    def _end(self, before: dict[str, list[str]]) -> None:
        ended, seconds = time.time(), time.monotonic() - self.started
        self._drain()
        may_go_on = self.order["outlived"] and not self.ended_by
        left_over = process_tree.kill_descendants(self.pid) if self.pid and not may_go_on else 0
        self._drain()
        code = os.waitstatus_to_exitcode(self.status) if self.status is not None else None
        self.ended_by = self.ended_by or attempt_files.EXIT
        done = self._take_snapshot()
        left_over += 0 if may_go_on else process_tree.kill_descendants(self.pid)  # left by a git filter
        kept = self._keep_work(done) if self.ended_by != attempt_files.EXIT or code != 0 else None
        environment = self.order["environment"]
        outside = [other for other, was in before.items() if tree_snapshot.is_changed(other, environment, was)]
        events = self._close_recorder()
        self.problems += [done.problem, remove_temp_folder(self.order["private"])]
        result = build_result(
            self.order["id"],
            (self.started_at, ended, seconds),
            self.ended_by,
            code,
            done,
            kept=kept,
            outside=outside,
            left_over=left_over,
            events=events,
            problems=self.problems,
        )
        try:
            write_result(self.records_fd, result)
        finally:
            restore_start_mark(self.run_fd, self.attempt_path, os.getpid())

    def _keep_work(self, done: tree_snapshot.TreeSnapshot) -> dict[str, str] | None:
        """Keep interrupted work under its own ref, before anything can reset the work tree."""
        if self.ended_by == attempt_files.NO_START:
            return None
        order = self.order
        return tree_snapshot.keep_work(
            order["worktree"], order["environment"], done, order["keep_ref"], self.ended_by, order["id"]
        )

    def _close_recorder(self) -> dict[str, int] | None:
        if self.recorder is None:
            return None
        if self.recorder.overlong:
            many = self.recorder.overlong
            self.recorder.note(f"{many} line{'s were' if many > 1 else ' was'} too long, and cut")
        self.recorder.close()
        if self.recorder.problem:
            self.problems.append(f"events: {self.recorder.problem}")
        return {
            "lines": self.recorder.lines,
            "bytes": self.recorder.size,
            "dropped": self.recorder.dropped,
            "overlong": self.recorder.overlong,
        }

    def _drain(self) -> None:
        """Read what is left in the pipes, up to a bound: a process the agent left behind may keep them open."""
        for fd in list(self.pipes):
            for _ in range(_DRAIN):
                if not self._read_output(fd):
                    break

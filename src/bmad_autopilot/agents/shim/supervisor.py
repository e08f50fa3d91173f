"""The shim's life: start the agent, write down what it says, end it when it must end, say how it ended."""

from __future__ import annotations

import os
import select
import sys
import time

from . import children, endings, work
from .order import read_order
from .private import make_private, remove_private
from .records import (
    CANCEL,
    EVENTS,
    claim_start,
    keep_mark,
    open_folder,
    read_time_limit,
    result_of,
    run_and_rest,
    write_result,
)
from .signals import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .order import Order
    from .recorder import Recorder

# While asking does not help: a Ctrl-C for the agent, then an end for all it started, then no more asking.
_STAGES = ((signal.SIGINT, False), (signal.SIGTERM, True), (signal.SIGKILL, True))
_READ = 256 * 1024
_DRAIN = 16  # reads: a pipe holds less, and whoever the agent left behind may print for ever
_MAX_WAIT = 3600.0
STALL_SECONDS = 10.0  # for git, while the agent runs and we are deaf
_STOP_SECONDS = 20.0


def main() -> None:
    order = read_order(0)
    if order is None:
        return
    locks = [int(fd) for fd in sys.argv[1].split(",")]
    for fd in locks:
        os.set_inheritable(fd, False)  # ours: the agent must not keep them alive
    os.chdir("/")
    supervisor = _Supervisor(order)
    supervisor.listen_to_signals()  # before anybody can know our pid
    if claim_start(supervisor.records, os.getpid()):
        supervisor.run()
    os._exit(0)  # whoever waits for us waits for our end; nothing is left to tidy up


class _Supervisor:
    def __init__(self, order: Order) -> None:
        self.order = order
        self.folder = order["folder"]
        run, self.names = run_and_rest(self.folder)
        # Opened before the agent can put anything in their place.
        self.records, self.run_folder = open_folder(self.folder), os.open(run, os.O_RDONLY | os.O_CLOEXEC)
        self.began = time.time()
        self.started = time.monotonic()
        self.quiet_since = self.started
        self.half_time: work.Work | None = None  # the work tree after half the stall limit without a new word
        self.pid = 0
        self.status: int | None = None
        self.by = ""
        self.stage = 0
        self.stage_due = 0.0
        self.told_to_end = False
        self.recorder: Recorder | None = None
        self.poll = select.poll()
        self.pipes: dict[int, str] = {}
        self.stdin_left = order["stdin"]
        self.problems: list[str] = []

    def run(self) -> None:
        """Whatever goes wrong with us, the agent is ended and the call gets its result."""
        before: dict[str, list[str]] = {}
        try:
            children.become_subreaper()
            make_private(self.order["private"])
            before = {other: work.changes(other, self.order["environment"]) for other in self.order["others"]}
            self._start()
            while self.status is None:
                self._turn()
        except children.StartFailed as error:
            self.by = endings.NO_START
            self.problems.append(str(error))
        except Exception as error:
            self.problems.append(f"{type(error).__name__}: {error}")
            self.by = self.by or (endings.SIGNAL if self.pid else endings.NO_START)
        self._end(before)

    def _record(self, stream: str, data: bytes) -> list[dict[str, object] | str]:
        if self.recorder is None:
            from .recorder import Recorder  # not before the agent speaks: its start would only be held up

            self.recorder = Recorder(EVENTS, self.order["secrets"], self.started, self.records)
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
        self.told_to_end = True

    def _start(self) -> None:
        inputs, outputs, errors = os.pipe(), os.pipe(), os.pipe()
        self.pid = children.start(
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
        self._feed()

    # -- while it runs

    def _turn(self) -> None:
        """Wait for whatever comes first, and see to it."""
        for fd, _ in self.poll.poll(self._wait_ms()):
            if fd == self.wakeup:
                os.read(fd, 4096)
            elif fd == self.stdin:
                self._feed()
            else:
                self._hear(fd)
        self._reap()
        if self.status is None:
            self._judge_time()

    def _wait_ms(self) -> int:
        due = [self.stage_due] if self.by else [*self._limits()]
        wait = min([*(moment - time.monotonic() for moment in due), _MAX_WAIT])
        return max(0, int(wait * 1000) + 1)

    def _limits(self) -> list[float]:
        stall = self.order["stall_limit"]
        due = [self.started + self._time_limit()]
        if stall:
            due.append(self.quiet_since + (stall if self.half_time else stall / 2))
        return due

    def _time_limit(self) -> float:
        self.order["time_limit"] = read_time_limit(self.folder, self.order["time_limit"])
        return self.order["time_limit"]

    def _feed(self) -> None:
        """Hand over the prompt as fast as the agent takes it."""
        try:
            while self.stdin_left:
                self.stdin_left = self.stdin_left[os.write(self.stdin, self.stdin_left[:_READ]) :]
        except BlockingIOError:
            self.poll.register(self.stdin, select.POLLOUT)
            return
        except OSError:  # it does not want it
            pass
        try:
            self.poll.unregister(self.stdin)
        except KeyError:
            pass
        os.close(self.stdin)
        self.stdin = -1

    def _hear(self, fd: int) -> bool:
        """Read what is there, once. False: nothing is, or there will be no more."""
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
        for said in self._record(self.pipes[fd], data):
            self.quiet_since, self.half_time = time.monotonic(), None
            if isinstance(said, dict) and self._lacks_skill(said):
                self._stop(endings.GUARD)
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
        """Collect the agent, or an orphan of its that became ours."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.pid:
                self.status = status

    def _judge_time(self) -> None:
        now = time.monotonic()
        if self.by:
            if now >= self.stage_due:
                self._next_stage()
            return
        stall = self.order["stall_limit"]
        if self.told_to_end:
            asked = os.path.exists(f"{self.folder}/{CANCEL}")
            self._stop(endings.CANCEL if asked else endings.SIGNAL)
        elif now >= self.started + self._time_limit():
            self._stop(endings.TIME_LIMIT)
        elif stall and now >= self.quiet_since + stall / 2:
            self._judge_stall(now, stall)

    def _judge_stall(self, now: float, stall: float) -> None:
        """Silence, or saying the same again and again, is a stall only if the work stands still as well."""
        if self.half_time is None:
            self.half_time = self._look(passing=True)
        elif now >= self.quiet_since + stall:
            if self._look(passing=True) == self.half_time:
                self._stop(endings.STALL)
            else:
                self.quiet_since, self.half_time = time.monotonic(), None

    def _look(self, *, passing: bool = False) -> work.Work:
        """`passing`: only to compare; it is given less time, and leaves nothing in the repository."""
        private = self.order["private"]
        scratch, seconds = (f"{private}/objects", STALL_SECONDS) if passing else ("", work.SECONDS)
        environment = self.order["environment"]
        return work.look(self.order["worktree"], environment, f"{private}/index", scratch, seconds)

    # -- ending it

    def _stop(self, by: str) -> None:
        if not self.by:
            self.by = by
            self._next_stage()

    def _next_stage(self) -> None:
        number, everyone = _STAGES[min(self.stage, len(_STAGES) - 1)]
        children.tell(self.pid, number, everyone=everyone)
        if self.stage == 0 and self.order["stop"]:
            self._run_stop()
        self.stage += 1
        self.stage_due = time.monotonic() + self.order["grace"]

    def _run_stop(self) -> None:
        """What runs behind a launcher does not hear our signals."""
        code, _ = work.run(self.order["stop"], self.order["environment"], _STOP_SECONDS)
        if code != 0:
            self.problems.append(f"the launcher's stop command failed ({code})")

    def _end(self, before: dict[str, list[str]]) -> None:
        ended, seconds = time.time(), time.monotonic() - self.started
        self._drain()
        may_go_on = self.order["outlived"] and not self.by
        left_over = children.kill_descendants(self.pid) if self.pid and not may_go_on else 0
        self._drain()
        code = os.waitstatus_to_exitcode(self.status) if self.status is not None else None
        self.by = self.by or endings.EXIT
        done = self._look()
        left_over += 0 if may_go_on else children.kill_descendants(self.pid)  # what a filter of git's has left
        kept = self._keep(done) if self.by != endings.EXIT or code != 0 else None
        environment = self.order["environment"]
        outside = [other for other, was in before.items() if work.is_changed(other, environment, was)]
        events = self._close_recorder()
        self.problems += [done.problem, remove_private(self.order["private"])]
        result = result_of(
            self.order["id"],
            (self.began, ended, seconds),
            self.by,
            code,
            done,
            kept=kept,
            outside=outside,
            left_over=left_over,
            events=events,
            problems=self.problems,
        )
        try:
            write_result(self.records, result)
        finally:
            keep_mark(self.run_folder, self.names, os.getpid())

    def _keep(self, done: work.Work) -> dict[str, str] | None:
        """Work that was cut short, under a ref of its own, before anybody can think of resetting it."""
        if self.by == endings.NO_START:
            return None
        order = self.order
        return work.keep(order["worktree"], order["environment"], done, order["keep_ref"], self.by, order["id"])

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
        """Take what the pipes still hold. Somebody the agent left behind may keep them open for ever."""
        for fd in list(self.pipes):
            for _ in range(_DRAIN):
                if not self._hear(fd):
                    break

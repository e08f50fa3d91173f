"""Watching a run: a log, a log above lines that live, or events as JSON. Each is told every entry as it is
written, and progress in between."""

import os
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from .live import Live
from .log_lines import render
from .outlet import Outlet
from .run_events import event
from .run_log import RunLog
from .run_now import RunNow
from .terminal import Terminal

Data = Mapping[str, Any]

MAX_LANES = 12  # lines that are drawn anew at the most


class RunView:
    """What all three have in common. Entries are taken one after another: Ctrl-C is told from wherever it hits."""

    def __init__(self) -> None:
        self.outlet = Outlet()
        self._told: deque[tuple[str, Data, float]] = deque()
        self._busy = False

    def __call__(self, kind: str, data: Data, at: float) -> None:
        self._told.append((kind, data, at))
        if self._busy:
            return
        self._busy = True
        try:
            while self._told:
                self.take(*self._told.popleft())
        finally:
            self._busy = False

    def take(self, kind: str, data: Data, at: float) -> None:
        raise NotImplementedError

    def catch_up(self, entries: Iterable[tuple[str, Data, float]]) -> None:
        """What was told before, to somebody else."""

    def say(self, lines: Iterable[str]) -> None:
        """For a person, beside the entries."""
        self.outlet.write("".join(f"{line}\n" for line in lines))

    def close(self) -> None:
        """Nothing more is drawn anew."""


class LogView(RunView):
    def __init__(self, out: Terminal, log: RunLog, key_width: int) -> None:
        super().__init__()
        self.out = out
        self._logs = {"": log}  # by lane: each tells its own steps
        self._key_width = key_width

    def take(self, kind: str, data: Data, at: float) -> None:
        self.say(self.lines(kind, data, at))

    def catch_up(self, entries: Iterable[tuple[str, Data, float]]) -> None:
        for kind, data, at in entries:
            self._log_of(data).lines(kind, data, at)

    def _log_of(self, data: Data) -> RunLog:
        lane = str(data.get("lane", ""))
        if lane not in self._logs:
            self._logs[lane] = self._logs[""].another()
        return self._logs[lane]

    def lines(self, kind: str, data: Data, at: float) -> list[str]:
        found = self._log_of(data).lines(kind, data, at)
        return [text for line in found for text in render(line, self.out, self._key_width)]


class LiveView(LogView):
    def __init__(self, out: Terminal, log: RunLog, key_width: int, stories: int) -> None:
        super().__init__(out, log, key_width)
        self._stories = stories
        self._now = {"": RunNow(stories)}  # by lane
        self._live = Live(out, self.outlet.write)

    def take(self, kind: str, data: Data, at: float) -> None:
        self._now_of(data).take(kind, data, at)
        self.out.remeasure()
        lines = self.lines(kind, data, at)
        if lines:
            self._live.above(lines, self._at_work())
        else:
            self._live.show(self._at_work())

    def _now_of(self, data: Data) -> RunNow:
        lane = str(data.get("lane", ""))
        return self._now.setdefault(lane, RunNow(self._stories if not lane else 0))

    def _at_work(self) -> list[str]:
        """All that is said of one lane; of several a line each."""
        found = [lines for lines in (now.lines(self.out) for now in self._now.values()) if lines]
        if len(found) <= 1:
            return [line for lines in found for line in lines]
        more = len(found) - MAX_LANES
        return [*(lines[0] for lines in found[:MAX_LANES]), *([f"  and {more} more"] if more > 0 else [])]

    def catch_up(self, entries: Iterable[tuple[str, Data, float]]) -> None:
        told = list(entries)
        super().catch_up(told)
        for kind, data, at in told:
            self._now_of(data).take(kind, data, at)

    def say(self, lines: Iterable[str]) -> None:
        self._live.above(lines, ())

    def close(self) -> None:
        self._live.clear()


class EventView(RunView):
    def take(self, kind: str, data: Data, at: float) -> None:
        self.outlet.write(event(kind, data, at) + "\n")

    def say(self, lines: Iterable[str]) -> None:
        """Nothing but JSON stands there."""


def can_live(out: Terminal) -> bool:
    """A terminal that takes being drawn on, and somebody in front of it."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("CI") or os.environ.get("TERM") in (None, "", "dumb")
    return out.is_terminal and not plain

"""Views of a running run: a log, a log above live status lines, or JSON events. Each is an event sink that
receives every journal entry and the progress in between."""

import json
import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..core.text import printable
from .format import clock_or_date, elapsed, money, pluralize, render_log_line
from .run_log import RunLog
from .terminal import MARGIN, LiveArea, Terminal, display_width

# The live status: two or three lines that are redrawn in place.

Data = Mapping[str, Any]

_END_KINDS = frozenset("ended check asked answered finished left waiting".split())


class LiveStatus:
    """The current activity of one lane. `stories`: planned number of stories; 0: not shown."""

    def __init__(self, stories: int = 0) -> None:
        self._stories = stories
        self._started_stories: list[str] = []
        self._activity: tuple[str, ...] = ()
        self._spent: tuple[str, ...] = ()
        self._last = ""
        self._dollars = 0.0

    def handle_event(self, kind: str, data: Data, at: float) -> None:
        if kind == "story" and data.get("story") not in self._started_stories:
            self._started_stories.append(str(data.get("story")))
        elif kind == "call":
            self._set_activity(str(data.get("story", "")), str(data.get("step", "")))
        elif kind == "progress":
            self._progress(data)
        elif kind == "checking":
            self._set_activity(str(data.get("story", "")), "checks")
        elif kind == "resting":
            end = data.get("until")
            self._set_activity(
                self._started_stories[-1] if self._started_stories else "",
                f"waits until {clock_or_date(end, at)}" if end else "waits",
            )
        elif kind in _END_KINDS:
            self._dollars += float(data.get("dollars") or 0.0)
            self._set_activity()

    def _set_activity(self, *what: str) -> None:
        self._activity, self._spent, self._last = tuple(filter(None, what)), (), ""

    def _progress(self, data: Data) -> None:
        """May belong to a call that an earlier session started: then no `call` entry has set the activity yet."""
        if not self._activity:
            story = str(data.get("story") or (self._started_stories[-1] if self._started_stories else ""))
            self._set_activity(story, str(data.get("step", "")))
        words = [elapsed(float(data.get("seconds") or 0.0))]
        if data.get("tokens"):
            words.append(pluralize(int(data["tokens"]), "token"))
        if data.get("dollars") is not None:
            words.append(money(float(data["dollars"])))
        self._spent = tuple(words)
        self._last = str(data.get("last") or "")

    def lines(self, out: Terminal) -> list[str]:
        if not self._activity:
            return []
        mark = "●" if out.unicode else "*"
        parts = [f"{mark} {printable(' · '.join(self._activity))}", *self._spent, *self._run_totals()]
        last = [f"  {printable(self._last)}"] if self._last else []
        return [*_pack_lines(parts, out.width - MARGIN), *last]

    def _run_totals(self) -> Iterator[str]:
        if self._stories > 1 and self._started_stories:
            yield f"story {len(self._started_stories)} of {max(self._stories, len(self._started_stories))}"
        if self._dollars:
            yield f"{money(self._dollars)} so far"


def _pack_lines(parts: list[str], width: int) -> list[str]:
    """Join the parts into as few lines as fit: narrow windows get more lines, but no figure is cut."""
    lines = [parts[0]]
    for part in parts[1:]:
        longer = f"{lines[-1]} · {part}"
        if display_width(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(f"  {part}")
    return lines


# JSON events, one object per line.

VERSION = 1


def event_json(kind: str, data: Mapping[str, Any], at: float) -> str:
    """One line of JSON in pure ASCII, so that neither the pipe's encoding nor an agent's text can break it."""
    head = {"version": VERSION, "event": kind, "at": round(at, 3)}
    return json.dumps(head | {name: value for name, value in data.items() if name not in head}, default=str)


# Standard output may fail (`| head`, a closed window, a full disk): the run continues without it.

CLOSED_MESSAGE = "nobody reads the output any more; the run goes on (bmad status shows it, Ctrl-C leaves it)"


class PipeSafeOutput:
    """Unbuffered standard output: a signal handler may write in the middle of a line. Errors close it silently."""

    def __init__(self) -> None:
        sys.stdout.flush()
        self._fd = sys.stdout.fileno()
        self._encoding = sys.stdout.encoding or "utf-8"
        self.is_closed = False
        self.closed_message = CLOSED_MESSAGE  # printed to standard error when it closes

    def write(self, text: str) -> None:
        if self.is_closed:
            return
        data = text.encode(self._encoding, "replace")
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError:
            self.is_closed = True
            self._report_closed()

    def _report_closed(self) -> None:
        try:
            sys.stderr.write(f"bmad: {self.closed_message}\n")
            sys.stderr.flush()
        except OSError:
            pass


MAX_LANES = 12  # live lines, one per lane


class RunView:
    """Base of the views. Queues events, because a Ctrl-C handler may emit one while another is being handled."""

    def __init__(self) -> None:
        self.output = PipeSafeOutput()
        self._queue: deque[tuple[str, Data, float]] = deque()
        self._busy = False

    def __call__(self, kind: str, data: Data, at: float) -> None:
        self._queue.append((kind, data, at))
        if self._busy:
            return
        self._busy = True
        try:
            while self._queue:
                self.handle_event(*self._queue.popleft())
        finally:
            self._busy = False

    def handle_event(self, kind: str, data: Data, at: float) -> None:
        raise NotImplementedError

    def replay(self, entries: Iterable[tuple[str, Data, float]]) -> None:
        """Update the state from past events without printing them."""

    def print_lines(self, lines: Iterable[str]) -> None:
        """Print lines for the user that are not events."""
        self.output.write("".join(f"{line}\n" for line in lines))

    def close(self) -> None:
        """Stop drawing live lines."""


class LogView(RunView):
    def __init__(self, out: Terminal, log: RunLog, key_width: int) -> None:
        super().__init__()
        self.out = out
        self._logs = {"": log}  # by lane
        self._key_width = key_width

    def handle_event(self, kind: str, data: Data, at: float) -> None:
        self.print_lines(self.lines(kind, data, at))

    def replay(self, entries: Iterable[tuple[str, Data, float]]) -> None:
        for kind, data, at in entries:
            self._log_of(data).lines(kind, data, at)

    def _log_of(self, data: Data) -> RunLog:
        lane = str(data.get("lane", ""))
        if lane not in self._logs:
            self._logs[lane] = self._logs[""].for_other_run()
        return self._logs[lane]

    def lines(self, kind: str, data: Data, at: float) -> list[str]:
        found = self._log_of(data).lines(kind, data, at)
        return [text for line in found for text in render_log_line(line, self.out, self._key_width)]


class LiveView(LogView):
    def __init__(self, out: Terminal, log: RunLog, key_width: int, stories: int) -> None:
        super().__init__(out, log, key_width)
        self._stories = stories
        self._statuses = {"": LiveStatus(stories)}  # by lane
        self._live = LiveArea(out, self.output.write)

    def handle_event(self, kind: str, data: Data, at: float) -> None:
        self._status_of(data).handle_event(kind, data, at)
        self.out.remeasure()
        lines = self.lines(kind, data, at)
        if lines:
            self._live.print_above(lines, self._live_lines())
        else:
            self._live.show(self._live_lines())

    def _status_of(self, data: Data) -> LiveStatus:
        lane = str(data.get("lane", ""))
        return self._statuses.setdefault(lane, LiveStatus(self._stories if not lane else 0))

    def _live_lines(self) -> list[str]:
        """All lines of a single lane; one line each for several lanes."""
        found = [lines for lines in (now.lines(self.out) for now in self._statuses.values()) if lines]
        if len(found) <= 1:
            return [line for lines in found for line in lines]
        more = len(found) - MAX_LANES
        return [*(lines[0] for lines in found[:MAX_LANES]), *([f"  and {more} more"] if more > 0 else [])]

    def replay(self, entries: Iterable[tuple[str, Data, float]]) -> None:
        events = list(entries)
        super().replay(events)
        for kind, data, at in events:
            self._status_of(data).handle_event(kind, data, at)

    def print_lines(self, lines: Iterable[str]) -> None:
        self._live.print_above(lines, ())

    def close(self) -> None:
        self._live.clear()


class EventView(RunView):
    def handle_event(self, kind: str, data: Data, at: float) -> None:
        self.output.write(event_json(kind, data, at) + "\n")

    def print_lines(self, lines: Iterable[str]) -> None:
        """Prints nothing: the output is JSON only."""


def supports_live_view(out: Terminal) -> bool:
    """An interactive terminal that supports redrawing, outside CI."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("CI") or os.environ.get("TERM") in (None, "", "dumb")
    return out.is_terminal and not plain

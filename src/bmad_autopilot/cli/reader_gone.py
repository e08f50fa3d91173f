"""Leaving, as for Ctrl-C, once nobody reads our output any more: `bmad autopilot | head -1`. Whoever waits for
hours writes nothing in them, and would not notice."""

import os
import select
import signal
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

GONE = "nobody reads the output any more: left, as by Ctrl-C; bmad autopilot goes on (bmad status shows where)"


@contextmanager
def leaves_without_reader() -> Iterator[None]:
    """Only a pipe has a reader who can go away: a window that is closed says so itself, a file never does."""
    out = sys.stdout.fileno()
    if not stat.S_ISFIFO(os.fstat(out).st_mode):
        yield
        return
    over, end = os.pipe()
    watcher = threading.Thread(target=_watch, args=(out, over), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        os.close(end)
        watcher.join()
        os.close(over)


def _watch(out: int, over: int) -> None:
    poll = select.poll()
    poll.register(out, 0)  # that the other end is closed is told unasked
    poll.register(over, 0)
    ready = [fd for fd, _ in poll.poll()]
    if over not in ready:
        # To that thread: a signal that another one takes wakes nobody who waits there.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

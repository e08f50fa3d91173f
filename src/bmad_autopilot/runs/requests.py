"""What somebody at another terminal asks of a run under way: `request.json` in its folder, until it is resumed; of
the autopilot and all its runs: in the folder of the project's state, until the next supervisor."""

import os
import time
from contextlib import suppress
from enum import StrEnum

from ..core.errors import FileError
from .json_files import read_object, text_of, write_object
from .times import iso

NAME = "request.json"


class Ask(StrEnum):
    PAUSE = "pause"  # before the next agent call
    STOP = "stop"  # now; an agent at work goes on
    STOP_NOW = "stop-now"  # and its agent ends too


_KNOWN = {ask.value: ask for ask in Ask}


def request_path(run: str) -> str:
    return os.path.join(run, NAME)


def put_request(run: str, ask: Ask) -> None:
    data = {"version": 1, "ask": ask.value, "at": iso(time.time()), "pid": os.getpid()}
    write_object(request_path(run), data)


def read_request(run: str) -> Ask | None:
    """None where nothing is asked, or nobody can read what."""
    try:
        data = read_object(request_path(run))
    except FileError:
        return None
    return _KNOWN.get(text_of(data.get("ask"))) if data else None


def clear_request(run: str) -> None:
    with suppress(OSError):
        os.unlink(request_path(run))

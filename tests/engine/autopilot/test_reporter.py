"""One forge for all lanes: its door was made for one at a time."""

import threading
from typing import cast

import pytest

from bmad_autopilot.core.forge_errors import ForgeError, ForgeErrorKind
from bmad_autopilot.engine.autopilot.reporter import locked_forge
from bmad_autopilot.github.forge import Forge


class Narrow:
    def __init__(self) -> None:
        self.inside = 0
        self.most = 0
        self.entered = threading.Semaphore(0)
        self.go = threading.Event()

    def pace(self, seconds: float) -> float:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.entered.release()
        assert self.go.wait(30)
        self.inside -= 1
        return seconds * 2

    def repository(self) -> None:
        raise ForgeError(ForgeErrorKind.UNAVAILABLE, "away")


def test_lanes_use_it_one_after_another() -> None:
    narrow = Narrow()
    forge, found = locked_forge(cast(Forge, narrow)), []
    threads = [threading.Thread(target=lambda: found.append(forge.pace(1.0))) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert narrow.entered.acquire(timeout=30)
    narrow.go.set()
    for thread in threads:
        thread.join(30)
    assert (found, narrow.most) == ([2.0] * 4, 1)


def test_what_goes_wrong_frees_it_for_the_next() -> None:
    narrow = Narrow()
    narrow.go.set()
    forge = locked_forge(cast(Forge, narrow))
    with pytest.raises(ForgeError):
        forge.repository()
    other: list[float] = []
    thread = threading.Thread(target=lambda: other.append(forge.pace(1.0)))
    thread.start()
    thread.join(30)
    assert other == [2.0]

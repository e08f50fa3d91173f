"""The simulated GitHub in real time: what its people and robots do happens while somebody watches."""

import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from .bare import BareRefs
from .clock import SimClock
from .faults import Fault, GitHubFaults
from .forge import SimForge
from .model import VIEWER, SimGitHub


class LiveForge(SimForge):
    """Each look at it first lets happen what is due by the clock on the wall."""

    def __init__(
        self, model: SimGitHub, faults: GitHubFaults | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(model, faults, VIEWER)
        self._clock = clock

    def _begin(self, call: str, *, is_effect: bool) -> Fault | None:
        time_line = self.model.clock
        assert isinstance(time_line, SimClock)
        time_line.advance(self._clock())
        return super()._begin(call, is_effect=is_effect)


def live_github(folder: Path, seed: int = 0) -> SimGitHub:
    """A repository in this folder that real git can push to."""
    return SimGitHub(SimClock(time.time()), BareRefs(folder), Random(seed))  # noqa: S311 - seeds, not secrets

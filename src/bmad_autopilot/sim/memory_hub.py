"""What lies beyond the machine of a world in memory: the simulated GitHub, and what goes wrong on the way."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from ..engine.delivery.lines import TakenIn
from ..github.forge import ForgeError, Trouble
from .github.faults import RETRY_AFTER, Fault, GitHubFaults
from .github.forge import SimForge
from .github.model import SimGitHub
from .github.records import SimRepository
from .github.refs import MemoryRefs

if TYPE_CHECKING:
    from .memory import World


class Hub:
    """One for all supervisors of a world: GitHub does not die with them."""

    def __init__(self, world: "World", rng: Random, faults: GitHubFaults, repository: SimRepository) -> None:
        self.refs = MemoryRefs(world.git)
        self.model = SimGitHub(world, self.refs, rng, repository)
        self.faults = faults
        self.forge = SimForge(self.model, faults)
        self.merges: dict[tuple[str, str, str], TakenIn] = {}  # what two commits make of each other never changes
        self.before_merge: Callable[[], object] = lambda: None  # what happens in the moment before ours
        self.codes: dict[str, str] = {}  # of commits

    def stumble(self, call: str, *, is_effect: bool) -> bool:
        """ForgeError where git does not get through. True: it does, and its answer is lost."""
        fault = self.faults.pick(call, is_effect=is_effect)
        if fault in (None, Fault.STALE):
            return False
        if fault is Fault.LOST:
            return True
        trouble = Trouble.LIMIT if fault in (Fault.LIMIT, Fault.SECONDARY) else Trouble.AWAY
        raise ForgeError(trouble, f"{call}: {fault}", until=self.model.now + RETRY_AFTER)

"""The simulated GitHub of the demo, inside the process that delivers: a bare repository that real git pushes to,
with a CI, a Copilot and a maintainer fast enough to watch."""

from pathlib import Path

from ..core.errors import UsageError
from ..git.branches import Branches
from ..git.git import Git
from ..github.forge import Forge
from .github.checks import PASSED, CIJob, JobResult, ReadFile, SimCI
from .github.forge import LiveForge, live_github
from .github.people import SimCopilot, SimMaintainer
from .github.records import SimPull
from .github.reviews import Remark

DELAY_SECONDS = 1.0  # CI and the maintainer; Copilot takes twice as long
_RED = b"ledger/reports: 1 failed\nAssertionError: the ledger has no page about its reviews\n"
_REMARK = "A negative amount is added up as it is. Is that meant?"


def demo_forge(git: Git, remote: str) -> Forge:
    """The forge of a rehearsal. Its remote must be a bare repository on this machine: nothing leaves it."""
    path = Path(Branches(git, remote).remote_url())
    if not (path / "HEAD").is_file():
        raise UsageError("a rehearsal needs a bare repository as its remote", found=str(path))
    hub = live_github(path)
    SimCI(hub, [CIJob("test", _passes_once_reviewed, appears_after=0.2, starts_after=0.2, duration=DELAY_SECONDS)])
    SimCopilot(hub, _first_review, duration=2 * DELAY_SECONDS)
    SimMaintainer(hub, delay=DELAY_SECONDS)
    return LiveForge(hub)


def _passes_once_reviewed(read: ReadFile, attempt: int) -> JobResult:
    """Fails until an agent has answered a review, so that one fix round covers both."""
    return (
        PASSED if any(read(f"docs/review-epic-{epic}.md") for epic in range(1, 10)) else JobResult("failure", _RED)
    )


def _first_review(pull: SimPull, review: int) -> list[Remark]:
    epic = pull.head_ref.rpartition("-")[2]
    path = f"src/ledger/{'list_accounts' if epic == '1' else 'list_payments'}.py"
    return [Remark(path, 1, _REMARK)] if review == 0 else []

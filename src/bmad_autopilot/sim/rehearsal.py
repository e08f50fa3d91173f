"""GitHub as the demo plays it, in the process of whoever delivers: a bare repository that real git pushes to, CI,
Copilot and a maintainer, each quick enough to be watched."""

from pathlib import Path

from ..core.errors import UsageError
from ..github.branches import Branches
from ..github.forge import Forge
from ..github.git import Git
from .github.ci import PASS, Job, Read, SimCI, Verdict
from .github.copilot import SimCopilot
from .github.live import LiveForge, live_github
from .github.people import SimMaintainer
from .github.records import SimPull
from .github.reviewing import Remark

MOMENT = 1.0  # seconds that each of them takes
_RED = b"ledger/reports: 1 failed\nAssertionError: the ledger has no page about its reviews\n"
_REMARK = "A negative amount is added up as it is. Is that meant?"


def forge_for(git: Git, remote: str) -> Forge:
    """The remote must be a bare repository on this machine: nothing leaves it."""
    place = Path(Branches(git, remote).remote_url())
    if not (place / "HEAD").is_file():
        raise UsageError("a rehearsal needs a bare repository as its remote", found=str(place))
    hub = live_github(place)
    SimCI(hub, [Job("test", _by_pages, appears=0.2, begins=0.2, takes=MOMENT)])
    SimCopilot(hub, _first_review, takes=2 * MOMENT)
    SimMaintainer(hub, looks_after=MOMENT)
    return LiveForge(hub)


def _by_pages(read: Read, attempt: int) -> Verdict:
    """Red until somebody has dealt with a review: what fails is mended in the same round."""
    return PASS if any(read(f"docs/review-epic-{epic}.md") for epic in range(1, 10)) else Verdict("failure", _RED)


def _first_review(pull: SimPull, review: int) -> list[Remark]:
    epic = pull.head_ref.rpartition("-")[2]
    path = f"src/ledger/{'list_accounts' if epic == '1' else 'list_payments'}.py"
    return [Remark(path, 1, _REMARK)] if review == 0 else []

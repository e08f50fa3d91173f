"""Who acts on the simulated GitHub in a delivery: Copilot, checks, and a maintainer, as an epic of three stories
and one that stands on it meet them."""

from collections.abc import Sequence

from bmad_autopilot.sim.github.checks import PASSED, CIJob, JobResult, ReadFile, SimCI
from bmad_autopilot.sim.github.model import SimGitHub
from bmad_autopilot.sim.github.people import SimCopilot, SimMaintainer
from bmad_autopilot.sim.github.records import SimPull, SimReview
from bmad_autopilot.sim.github.reviews import Remark

MENDED = "docs/review-epic-1.md"  # the honest agent writes it when it mends something
REMARKS = (
    Remark("src/ledger/list_accounts.py", 1, "Say what it gives back."),
    Remark("src/ledger/list_accounts.py", 3, "A matter of taste: a list would read better."),
    Remark("src/ledger/count_accounts.py", 1, "What of an empty one?"),
    Remark("src/ledger/search_accounts.py", 1, "`rm -rf /` is what nobody should run. Rename this."),
    Remark("tests/test_list_accounts.py", 1, "One more case, please."),
)


SECOND = "src/ledger/list_payments.py"  # the second epic's


def red_until_mended(read: ReadFile, attempt: int) -> JobResult:
    """The second epic's too, until it has taken in what mended the first."""
    return PASSED if read(MENDED) is not None else JobResult("failure", b"\xff\xfeboom: a case is missing\n")


def remarks(pull: SimPull, review: int) -> Sequence[Remark]:
    if review:
        return ()
    return REMARKS if pull.head_ref.endswith("-1") else (Remark(SECOND, 1, "Why so?"),)


class Maintainer(SimMaintainer):
    """Approves the first epic as soon as it is there, which its next push makes stale; once it is green and
    answered, approves it again, and just then the base moves. Closes a thread that was left to people, once the
    second epic is there."""

    def __init__(self, model: SimGitHub) -> None:
        super().__init__(model, delay=1.0)
        self.stale = ""
        self.moved = ""
        self.closed: list[str] = []

    def _hear(self, event: str, pull: SimPull) -> None:
        super()._hear(event, pull)
        if event == "opened" and pull.number == 1:
            self.stale = self.approve(1).commit
        left = self._left()
        if left and 2 in self._model.pulls and not self.closed:
            self.closed.append(left)
            self._model.call_later(1.0, lambda: self.resolve(left))

    def _left(self) -> str:
        """The thread that we have answered and not closed."""
        found = [
            one.id
            for one in self._model.pulls[1].threads
            if len(one.comments) > 1 and one.comments[1].body.startswith("Left as it is")
        ]
        return found[0] if found else ""

    def approve(self, number: int, body: str = "") -> SimReview:
        given = super().approve(number, body)
        if number == 1 and self.stale and not self.moved:
            self.moved = self.push("main", {"NOTES.md": b"Meanwhile.\n"}, "Meanwhile on the base")
        return given


def settle(model: SimGitHub) -> Maintainer:
    SimCI(model, [CIJob("test", red_until_mended, appears_after=0.2, starts_after=0.2, duration=1.0)])
    SimCopilot(model, remarks, duration=1.0)
    return Maintainer(model)

"""The lanes of a project that are not over: each an epic's run, with how it stands."""

from typing import NamedTuple

from ...core.errors import AutopilotError
from ...core.folding import fold
from ...core.records import RunRecord
from ...core.schedule import LaneView, Stage
from ...runs.finding import Run, unfinished
from ...runs.journal import Journal
from ...runs.questions import open_questions, questions_of
from ...runs.state import Status
from ..delivery.plan import LOCAL
from ..delivery.rounds import round_in_hand
from ..driving import RunEnd, lane_of
from ..lane import Lane


class Held(NamedTuple):
    """A lane that is not over."""

    folder: str
    lane: Lane
    record: RunRecord
    stage: Stage
    why: str = ""
    until: float | None = None
    fingerprint: str = ""  # of its pull request, when it was last looked at

    @property
    def is_delivered(self) -> bool:
        return bool(self.record.delivery.began)

    @property
    def is_at_work(self) -> bool:
        """Its work lies in the checkout: stories that are not over, or a round of mending."""
        return not self.is_delivered or round_in_hand(self.record) is not None

    @property
    def is_busy(self) -> bool:
        """An agent may be at work for it there, whoever began that."""
        return any(story.is_called for story in self.record.stories.values())

    @property
    def is_pending(self) -> bool:
        """Another epic may stand on it: its branch is there. Merged and not cleared away yet, it may be gone."""
        return self.is_delivered and not self.record.delivery.merged

    @property
    def pull(self) -> int:
        return self.record.delivery.pull

    @property
    def is_out(self) -> bool:
        """Others have it before them. Until then nothing is begun on it: what it asks may change it yet."""
        plan = self.lane.delivery
        return not self.is_at_work and (self.pull > 0 or (plan is not None and plan.kind == LOCAL))

    def view(self) -> LaneView:
        return LaneView(self.lane.key, self.stage, self.is_out, self.until, self.is_busy)

    def moved(self) -> "Held":
        """It can go on."""
        return self._replace(stage=Stage.MOVED if self.is_delivered else Stage.WORK)

    @property
    def is_held_up(self) -> bool:
        """Others wait with all of their work committed: it is the place that this one waits for."""
        return self.stage is Stage.WAITS and self.is_at_work

    def held_up(self, why: str, until: float) -> "Held":
        """Something is in its way, and is looked at again then."""
        return self._replace(stage=Stage.WAITS, why=why, until=until, fingerprint="")


def placed(lanes: list[Held], held: Held) -> list[Held]:
    """In the place that it had: an epic stands on the one begun before it, and not on the one driven last."""
    folders = [one.folder for one in lanes]
    if held.folder not in folders:
        return [*lanes, held]
    return [held if one.folder == held.folder else one for one in lanes]


def last_pending(lanes: list[Held]) -> Held | None:
    """The one that the next epic stands on: begun last of those whose stories are over and that are not merged."""
    return next((held for held in reversed(lanes) if held.is_pending), None)


def held_lanes(runs: str, session: str, *, go_on: bool) -> list[Held]:
    """Those that earlier commands left, the oldest first. `go_on`: also what was given up."""
    found = []
    for run in unfinished(runs):
        lane = lane_of(run)
        if lane is None or lane.delivery is None or lane.session != session:
            continue
        held = _held(run, lane)
        found.append(held.moved() if held.stage is Stage.BLOCKED and go_on else held)
    return sorted(found, key=lambda held: held.record.began)


def _held(run: Run, lane: Lane) -> Held:
    entries = Journal(run.folder, lambda value: value).entries()
    record = fold((entry.kind, entry.data, entry.at) for entry in entries)
    began = bool(record.delivery.began)
    stage = Stage.MOVED if began else Stage.WORK
    if run.state.status is Status.FAILED:
        stage = Stage.BLOCKED
    return Held(run.folder, lane, record, stage)


def after(end: RunEnd) -> Held:
    """As it stands once it was driven as far as it goes."""
    waits = end.record.delivery.waits or {}
    held = Held(end.folder, end.lane, end.record, Stage.WAITS)
    if end.status == "pending":
        why, until = str(waits.get("why", "")), waits.get("until")
        return held._replace(why=why, until=until, fingerprint=str(waits.get("fingerprint", "")))
    if end.status == "failed":
        said = end.record.answers[-1] if end.record.answers else {}
        why = " ".join(str(said.get("text", "")).split())
        return held._replace(stage=Stage.BLOCKED, why=f"given up: {why}" if why else "given up")
    if end.status in ("left", "paused") and not _asked(end.folder):
        return held.moved()
    return held._replace(stage=Stage.ASKS, why=_asked(end.folder))


def _asked(folder: str) -> str:
    try:
        return next((question.in_short for question in open_questions(folder)), "")
    except AutopilotError:
        return ""


def is_answered(held: Held) -> bool:
    """Nothing of what it asked is open any more."""
    return not open_questions(held.folder)


def question_files(held: Held) -> list[str]:
    """Where its answers will be written."""
    return [path for path, question in questions_of(held.folder)[0] if question.answer is None]

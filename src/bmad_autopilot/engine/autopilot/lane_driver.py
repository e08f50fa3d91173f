"""Starts or resumes one lane and runs it until it ends or waits: its checkout, its limits, its events."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...core.scheduling import EpicCandidate
from ...project.config import Config
from ..lane import LOCAL, DeliveryPlan, Lane
from ..ports import EventSink, Prompter
from ..runner import RunEnd
from .epics import EpicStart
from .lanes import ControlRequests, LaneState
from .options import AutopilotOptions, Budgets
from .ports import LaneRunContext, SupervisorPorts, SupervisorWaiter
from .reporter import EventReporter, OwnedRuns
from .scheduler import LaneScheduler
from .workers import LaneWaiter

# An epic's delivery plan, from the project's settings and the command line.


def delivery_plan(
    config: Config, epic: EpicCandidate, start: EpicStart, base: str, *, draft: bool = False
) -> DeliveryPlan:
    hub = config.github
    return DeliveryPlan(
        kind=config.delivery,
        base=base,
        onto=start.onto,
        title=epic.title,
        merge=config.merge,
        review=config.require_review,
        checks=config.require_checks,
        rounds=hub.max_rounds,
        review_patience=hub.review_patience * 60.0,
        check_patience=hub.check_patience * 60.0,
        approval_patience=hub.approval_patience * 3600.0,
        grace=float(hub.check_grace),
        reruns=hub.rerun_failed,
        conflicts=hub.conflicts,
        trusted=hub.trusted,
        labels=() if config.delivery == LOCAL else (*hub.labels, f"epic-{epic.number}"),
        draft=draft,
    )


class EventListeners(NamedTuple):
    """The components that receive every lane's journal events."""

    reporter: EventReporter
    scheduler: LaneScheduler
    budgets: Budgets
    waiting: SupervisorWaiter

    def for_lane(self, lane: Lane) -> EventSink:
        report = self.reporter.for_lane(lane.key, lane.epic or "")

        def on_event(kind: str, data: Mapping[str, Any], at: float) -> None:
            if kind == "stopping":  # also if the lane had nothing left to do and reports no other status
                self.waiting.stop_count += 1
            self.scheduler.on_event(lane.key, kind, data)
            note = self.budgets.on_event(kind, data)
            report(kind, data, at)
            if note:
                self.reporter.notify(note)
            if kind == "ended" and self.budgets.reached():
                self.waiting.wake()

        return on_event


class LaneDriver:
    """`base`: the branch all work goes to. `lanes`: the unfinished lanes at the time of the call."""

    def __init__(
        self,
        ports: SupervisorPorts,
        config: Config,
        options: AutopilotOptions,
        base: str,
        owned_runs: OwnedRuns,
        listeners: EventListeners,
        requests: ControlRequests,
        human: Prompter | None,
        lanes: Callable[[], list[LaneState]],
    ) -> None:
        self._checkouts = ports.checkouts
        self._forge = ports.forge
        self._config = config
        self._options = options
        self._base = base
        self._owned_runs = owned_runs
        self._listeners = listeners
        self._requests = requests
        self._human = human
        self._lanes = lanes

    def start(self, epic: EpicCandidate, start: EpicStart, waiting: LaneWaiter | None) -> RunEnd:
        checkout = self._checkouts.create(epic.key, start.branch, start.commit)
        lane = checkout.new_lane(epic.key)._replace(
            branch=start.branch,
            session=self._options.session,
            unattended=dict(self._options.unattended),
            delivery=delivery_plan(self._config, epic, start, self._base, draft=self._options.draft),
        )
        folder = checkout.make_run(lane)
        self._owned_runs.add(folder)
        return checkout.start(lane, folder, self._context(lane, waiting))

    def resume(self, state: LaneState, waiting: LaneWaiter | None) -> RunEnd:
        self._owned_runs.add(state.folder)
        checkout = self._checkouts.reopen(state)
        return checkout.resume(state.folder, self._context(state.lane, waiting))

    def _context(self, lane: Lane, waiting: LaneWaiter | None) -> LaneRunContext:
        limits = self._listeners.scheduler.limits(lane.key)._replace(
            is_autopilot_paused=self._requests.is_paused,
            find_checkout_blocker=lambda: self._checkouts.occupied_reason(lane.key, self._lanes()),
        )
        return LaneRunContext(
            self._listeners.for_lane(lane), limits, self._forge, waiting, self._human, self._options.unattended
        )

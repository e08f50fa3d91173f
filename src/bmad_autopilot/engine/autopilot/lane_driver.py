"""Starts or resumes one lane and runs it until it ends or waits: its checkout, its limits, its events."""

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...core.lane_scope import LaneScope
from ...core.scheduling import EpicCandidate
from ...github.forge import Forge
from ...project.config import Config
from ...project.project import Project
from ..commits import first_variables
from ..lane import LOCAL, DeliveryPlan, Lane
from ..ports import EventSink, Prompter
from ..run_setup import NO_CAPS, find_target_row, new_lane
from ..runner import RunEnd, make_run_folder, resume_lane, run_lane
from ..slots import LaneLimits
from ..waiting import Waiter
from .checkouts import LaneCheckouts
from .epics import EpicStart
from .lanes import ControlRequests, LaneState
from .options import AutopilotOptions, Budgets
from .reporter import EventReporter, OwnedRuns
from .scheduler import LaneScheduler

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
    waiting: Waiter  # the supervisor's

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
    """`base`: the branch all work goes to. `occupied_reason`: why a lane cannot have the shared checkout."""

    def __init__(
        self,
        project: Project,
        options: AutopilotOptions,
        base: str,
        checkouts: LaneCheckouts,
        owned_runs: OwnedRuns,
        listeners: EventListeners,
        requests: ControlRequests,
        human: Prompter | None,
        forge: Callable[[], Forge],
        occupied_reason: Callable[[str], str],
    ) -> None:
        self._project = project
        self._options = options
        self._base = base
        self._checkouts = checkouts
        self._owned_runs = owned_runs
        self._listeners = listeners
        self._requests = requests
        self._human = human
        self._forge = forge
        self._occupied_reason = occupied_reason

    def start(self, epic: EpicCandidate, start: EpicStart, waiting: Waiter | None) -> RunEnd:
        project = self._checkouts.create(epic.key, start.branch, start.commit)
        lane = self._lane(project, epic, start)
        folder = make_run_folder(project, lane)
        self._owned_runs.add(folder)
        return run_lane(
            project,
            lane,
            folder,
            self._listeners.for_lane(lane),
            self._human,
            resumed=False,
            variables=first_variables(lane, os.path.basename(project.root.path)),
            forge=lambda git, remote: self._forge(),
            limits=self._limits(epic.key),
            waiter=waiting,
        )

    def _lane(self, project: Project, epic: EpicCandidate, start: EpicStart) -> Lane:
        lane = new_lane(
            project, LaneScope.EPIC, find_target_row(project, LaneScope.EPIC, epic.key), NO_CAPS, None, False
        )
        return lane._replace(
            branch=start.branch,
            session=self._options.session,
            unattended=dict(self._options.unattended),
            delivery=delivery_plan(self._project.config, epic, start, self._base, draft=self._options.draft),
        )

    def resume(self, state: LaneState, waiting: Waiter | None) -> RunEnd:
        self._owned_runs.add(state.folder)
        return resume_lane(
            self._checkouts.reopen(state),
            state.folder,
            self._listeners.for_lane(state.lane),
            self._human,
            NO_CAPS,
            unattended=self._options.unattended,
            forge=lambda git, remote: self._forge(),
            limits=self._limits(state.lane.key),
            waiter=waiting,
        )

    def _limits(self, key: str) -> LaneLimits:
        limits = self._listeners.scheduler.limits(key)
        return limits._replace(
            is_autopilot_paused=self._requests.is_paused, find_checkout_blocker=lambda: self._occupied_reason(key)
        )

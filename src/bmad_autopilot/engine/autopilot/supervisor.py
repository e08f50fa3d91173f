"""The autopilot's main loop: chooses a lane or a new epic, runs it, and monitors the lanes that wait.
While one epic waits for an approval the next one is started."""

import time
from collections.abc import Callable
from typing import NamedTuple

from ...core.errors import (
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_HUMAN,
    EXIT_INTERRUPTED,
    AutopilotError,
    ConflictError,
    UsageError,
)
from ...core.forge_errors import TRANSIENT_FOR_POLLS, ForgeError, ForgeErrorKind
from ...core.run_ending import RunEnding
from ...core.scheduling import EpicCandidate, LaneChoice, LaneStage, choose_lane, is_checkout_free
from ...core.transitions import EpicPhase
from ...git.branches import Branches
from ...git.git import Git, RaceError
from ...project.config import Config
from ...project.project import Project
from ...runs.layout import runs_folder
from ...runs.supervisor_lock import AUTOPILOT, ControlRequest, hold_supervisor_lock
from ..delivery.branch_actions import AGAIN
from ..delivery.observe import PATIENCE
from ..lane import LOCAL
from ..policy import with_base_settings
from ..ports import EventSink, Prompter
from ..runner import RunEnd
from ..start_agent import has_usable_agents
from ..waiting import Waiter
from ..world.delivery import ForgeFactory
from .checkouts import LaneCheckouts, check_forge, check_remote, require_base_branch
from .epics import Epics, EpicSearch, EpicStart, ProjectEpics, check_patterns
from .lane_driver import EventListeners, LaneDriver
from .lanes import ControlRequests, FailedStart, LaneState, LaneTable, RunFolders, strongest_request
from .monitor import RESCAN, LaneMonitor
from .options import AutopilotOptions, Budgets
from .ports import RunRegistry, SupervisorPorts
from .reporter import EventReporter, LazyForge, LogFiles, OwnedRuns
from .scheduler import LaneScheduler, load_estimates
from .workers import InlineWorker, LaneResult, LaneWork, ThreadWorkers, Workers

JOIN = 30.0  # seconds to wait for workers at the end


class AutopilotResult(NamedTuple):
    exit_code: int
    merged: tuple[str, ...]  # epics merged by this command
    lanes: tuple[LaneState, ...]  # unfinished
    why: str = ""
    limit_reached: str = ""  # the limit that ended the command
    failed_starts: tuple[tuple[str, FailedStart], ...] = ()  # epics that could not be started


def run_autopilot(
    project: Project,
    options: AutopilotOptions,
    *,
    on_event: EventSink,
    human: Prompter | None = None,
    forge: ForgeFactory | None = None,
    clock: Callable[[], float] = time.time,
) -> AutopilotResult:
    project.bmad.require_supported()
    check_patterns(options.patterns)
    project = with_base_settings(project, on_event)
    with hold_supervisor_lock(project.state_folder, AUTOPILOT) as supervision:
        reporter = EventReporter(LogFiles(project.root.path), on_event, clock)
        ports = build_ports(project, options, reporter, supervision, forge, clock)
        return supervise(project.config, options, ports, reporter, human)


def build_ports(
    project: Project,
    options: AutopilotOptions,
    reporter: EventReporter,
    registry: RunRegistry,
    forge: ForgeFactory | None,
    clock: Callable[[], float],
) -> SupervisorPorts:
    """The real ports: run folders, git, threads, the forge."""
    git, remote, use_worktrees = Git(project.root.checkout), project.config.github.remote, options.parallel > 0
    branches, waiter, estimates = Branches(git, remote), Waiter(), load_estimates(project)
    workers: Workers = ThreadWorkers(waiter.wake) if use_worktrees else InlineWorker()
    return SupervisorPorts(
        clock=clock,
        waiter=waiter,
        workers=workers,
        store=RunFolders(runs_folder(project.root.path), options.session),
        checkouts=LaneCheckouts(project, branches, reporter.notify, use_worktrees=use_worktrees),
        branches=branches,
        forge=LazyForge(git, remote, forge, waiter, is_shared=use_worktrees),
        epics=ProjectEpics(project),
        registry=registry,
        estimates=estimates,
        can_call=lambda: has_usable_agents(project, estimates.workflow.steps),
        state_folder=project.state_folder,
    )


def supervise(
    config: Config,
    options: AutopilotOptions,
    ports: SupervisorPorts,
    reporter: EventReporter,
    human: Prompter | None = None,
) -> AutopilotResult:
    """Run the lanes on these ports until nothing is left to do, or a person stops it. Closes the waiter."""
    workers, waiter, forge = ports.workers, ports.waiter, ports.forge
    lane_table = LaneTable(ports.store, [])

    def on_stop(times: int) -> None:
        """Report the stop. With one lane at a time this runs only between two lanes: then an agent is running only
        if its lane has not been resumed yet. With several, each lane may have one."""
        forge.stop_waits()
        workers.stop(times)
        is_idle = not workers.active_lanes and not any(state.is_busy for state in lane_table.lanes)
        reporter.report_stopping(times, is_idle=is_idle)

    try:
        with waiter.signals(on_stop):
            lanes = ports.store.unfinished(resume_all=options.resume_all)
            base = _check_preconditions(config, ports, lanes)
            lane_table.lanes = lanes
            return Supervisor(config, options, ports, reporter, human, lane_table, base).run()
    finally:
        if workers.active_lanes:  # stop every worker before the supervisor lock is released
            forge.stop_waits()
            workers.stop(max(1, waiter.stop_count))
            workers.join(JOIN)
        waiter.close()


def _check_preconditions(config: Config, ports: SupervisorPorts, lanes: list[LaneState]) -> str:
    """Returns the base branch."""
    ports.checkouts.check(lanes)
    for state in lanes:
        ports.store.clear_request(state.folder)  # was meant for an earlier command
    if config.delivery != LOCAL:  # before git contacts the remote, which may not be on GitHub
        check_remote(ports.branches, config.github.remote)
        check_forge(ports.forge())
    return require_base_branch(ports.branches, config)


class Supervisor:
    """`base`: the branch all work goes to."""

    def __init__(
        self,
        config: Config,
        options: AutopilotOptions,
        ports: SupervisorPorts,
        reporter: EventReporter,
        human: Prompter | None,
        lane_table: LaneTable,
        base: str,
    ) -> None:
        self.config = config
        self.options = options
        self._ports = ports
        self._reporter = reporter
        self._lane_table = lane_table
        self._now = ports.clock
        self._waiting = ports.waiter
        self._workers = ports.workers
        self._checkouts = ports.checkouts
        self._scheduler = LaneScheduler(
            options.parallel,
            self._waiting.wake,
            fixes_first=config.github.mend_first,
            seconds=ports.estimates.step_seconds,
            can_call=ports.can_call,
        )
        self._budgets = Budgets(options.bounds, ports.clock)
        self._requests = ControlRequests(ports.store.request, ports.state_folder, self._budgets)
        self._owned_runs = OwnedRuns(ports.registry)
        self._epics = Epics(ports, config, options, base, reporter.notify)
        self._search = EpicSearch(
            self._epics, lane_table, self._scheduler, reporter.notify, ports.clock, self._has_active_lanes
        )
        self._monitor = LaneMonitor(ports, config, base, self._requests, options.bounds.until)
        listeners = EventListeners(reporter, self._scheduler, self._budgets, self._waiting)
        self._driver = LaneDriver(
            ports,
            config,
            options,
            base,
            self._owned_runs,
            listeners,
            self._requests,
            human,
            lambda: lane_table.lanes,
        )
        self._blocked_since: dict[str, float] = {}  # lane → since when its work tree is blocked

    @property
    def lanes(self) -> list[LaneState]:
        return self._lane_table.lanes

    # the loop

    def run(self) -> AutopilotResult:
        self._checkouts.tidy({state.lane.key for state in self.lanes})
        self._owned_runs.adopt(state.folder for state in self.lanes)
        return self._loop()

    def _loop(self) -> AutopilotResult:
        while True:
            ended = self._collect()
            if ended is not None:
                return ended
            self._read_stop_request()
            if self._waiting.stop_count:
                return self._stop()
            driven = self._workers.active_lanes
            if self._requests.is_paused():
                if not driven:
                    return self._finish(
                        EXIT_FAILED if self._lane_table.is_blocked else EXIT_HUMAN, ControlRequest.PAUSE.value
                    )
                self._workers.wake()
                self._waiting.wait_until(self._now() + RESCAN, (self._request_file(),))
                continue
            for key in self._lane_table.apply_requests(driven):
                self._scheduler.limits(key).merge_turn.release()  # its merge may take long
            views = [state.view() for state in self._lane_table.idle(driven)]
            room = self._scheduler.has_room() if self.options.parallel else is_checkout_free(views)
            most = self.config.github.max_pending
            epics = iter(()) if self.options.once else self._search.search()
            choice = choose_lane(views, epics, max_open=most, has_room=room, driven_count=len(driven))
            if choice.phase in (EpicPhase.DONE, EpicPhase.BLOCKED) and driven:
                choice = LaneChoice(EpicPhase.WAIT_COPILOT)  # until the running lanes return
            if not driven or choice.key:
                self._report_choice(choice)
            ended = self._act(choice)
            if ended is not None:
                return ended

    def _request_file(self) -> str:
        """Where a request to all lanes is written."""
        return self._ports.store.request_file(self._ports.state_folder)

    def _report_choice(self, choice: LaneChoice) -> None:
        state = self._lane_table.find(choice.key)
        epic = state.lane.epic if state else choice.key.removeprefix("epic-")
        self._reporter.report_choice(choice.phase, choice.key, epic or "", self.lanes)

    def _has_active_lanes(self) -> bool:
        return bool(self._workers.active_lanes) or any(state.stage is LaneStage.WAITS for state in self.lanes)

    def _act(self, choice: LaneChoice) -> AutopilotResult | None:
        if choice.phase is EpicPhase.DONE:
            return self._finish(EXIT_FAILED if self._lane_table.failed_starts else EXIT_DONE)
        if choice.phase is EpicPhase.BLOCKED:
            request = strongest_request(self.lanes, self._ports.store.request)
            code = EXIT_HUMAN if request in (None, ControlRequest.PAUSE) else EXIT_INTERRUPTED
            return self._finish(
                EXIT_FAILED if self._lane_table.is_blocked else code, request.value if request else ""
            )
        if choice.phase is EpicPhase.WAIT_COPILOT:
            is_over = self.options.once and not self._workers.active_lanes
            if is_over:
                return self._finish(EXIT_HUMAN)
            self._wait_for_lanes()
            return None
        if choice.phase is EpicPhase.FIND_EPIC:
            self._start_epic(self._search.candidate(choice.key))
            return None
        state = self._lane_table.find(choice.key)
        assert state is not None
        self._resume_lane(state)
        return None

    def _collect(self) -> AutopilotResult | None:
        """Process the results of the lanes that have returned."""
        for result in self._workers.take_completed():
            self._scheduler.mark_completed(result.key, succeeded=result.end is not None)
            self._monitor.check_now()
            if result.end is None:
                self._handle_failure(result)
                continue
            ended = self._handle_end(result.end)
            if ended is not None:
                return ended
        return None

    def _handle_failure(self, result: LaneResult) -> None:
        """The other lanes continue. A login error affects every lane and is raised. A conflict before the run
        exists (the lane's branch or worktree is occupied) is not retried."""
        error = result.error
        assert error is not None
        if isinstance(error, ForgeError) and error.kind is ForgeErrorKind.LOGIN:
            raise error
        is_passing = isinstance(error, RaceError)  # another git process was faster, or holds a lock
        is_refused = isinstance(error, UsageError | ConflictError) and not is_passing
        is_in_the_way = is_refused and not self._lane_table.has_run(result.key)
        retry = not is_in_the_way and self._scheduler.record_crash(result.key)
        self._reporter.report_failure(result, retry)
        self._lane_table.record_failure(result.key, result.why, result.hint, retry=retry)

    def _stop(self) -> AutopilotResult:
        """Leave every lane as it is. Agents keep running unless the user asks for a stop again."""
        self._ports.forge.stop_waits()
        for waited in self._checkouts.describe_setup():
            self._reporter.notify(f"{waited} is waited for; Ctrl-C again, or bmad stop --now, ends it")
        self._workers.stop(self._waiting.stop_count)
        while not self._workers.join(0.2):
            self._read_stop_request()
            self._workers.stop(self._waiting.stop_count)
            if self._waiting.stop_count > 1:
                self._checkouts.stop_setup()
        for result in self._workers.take_completed():
            if result.end is not None:
                self._handle_end(result.end)
            else:
                self._reporter.report_failure(result, retry=False)
        return self._finish(EXIT_INTERRUPTED, "stopped")

    def _handle_end(self, end: RunEnd) -> AutopilotResult | None:
        self._lane_table.record_end(end)
        if end.status.is_over:
            self._owned_runs.remove(end.folder)
            if end.record.delivery.merged:
                self._reporter.report_merged(end.lane.key, end.lane.epic or end.lane.key)
                self._checkouts.remove(end.lane.key)
        elif end.status.is_stopped and not self.options.parallel:
            is_stopped = end.status is RunEnding.DETACHED or self._requests.stops() > 0
            return self._finish(EXIT_INTERRUPTED if is_stopped else EXIT_HUMAN, end.status)
        return None

    # driving

    def _start_epic(self, epic: EpicCandidate) -> None:
        self._lane_table.start(epic)
        if self._scheduler.retry_delay(epic.key):  # it crashed before: find its start point after the delay
            self._launch(epic, lambda: self._epics.start(epic, self.lanes))
            return
        try:
            start = self._epics.start(epic, self.lanes)
        except AutopilotError as error:
            if not self.options.parallel:
                raise
            self._handle_failed_start(epic.key, error)
            return
        self._launch(epic, lambda: start)

    def _launch(self, epic: EpicCandidate, start: Callable[[], EpicStart]) -> None:
        self._scheduler.start_epic(epic)
        self._drive(epic.key, lambda waiting: self._driver.start(epic, start(), waiting))

    def _handle_failed_start(self, key: str, error: AutopilotError) -> None:
        """An unreachable forge affects all epics; any other error only this one."""
        if isinstance(error, ForgeError) and error.kind in TRANSIENT_FOR_POLLS:
            self._lane_table.cancel_start(key)
            self._search.postpone(error)
        else:
            self._handle_failure(LaneResult(key, None, error, str(error)))

    def _resume_lane(self, state: LaneState) -> None:
        key = state.lane.key
        why = self._checkouts.check_out(state, self.lanes)
        if why and self._is_overdue(key):
            self._blocked_since.pop(key)
            error = ConflictError(f"the work tree: {why}")
            self._reporter.report_failure(LaneResult(key, None, error, str(error)), retry=False)
            self._lane_table.record_failure(key, error.description, retry=False)
            self._scheduler.limits(key).merge_turn.release()
            return
        if why:
            until = self._now() + AGAIN
            self._lane_table.make_wait(state, f"the work tree: {why}", until)
            self._reporter.report_waiting(state, f"the work tree: {why}", until)
            self._scheduler.limits(key).merge_turn.release()
            return
        self._blocked_since.pop(key, None)
        self._scheduler.resume_lane(state)
        self._drive(key, lambda waiting: self._driver.resume(state, waiting))

    def _is_overdue(self, key: str) -> bool:
        """Whether the lane's work tree has been blocked for too long. Another lane's unfinished work does not
        count: it ends by itself, or with a person's answer."""
        if self._checkouts.occupied_reason(key, self.lanes):
            self._blocked_since.pop(key, None)
            return False
        return self._now() >= self._blocked_since.setdefault(key, self._now()) + PATIENCE

    def _drive(self, key: str, work: LaneWork) -> None:
        """Run the lane; after a crash with a delay, because the cause may be gone by then."""
        self._workers.start(key, work, self._scheduler.retry_delay(key))

    def _read_stop_request(self) -> None:
        self._waiting.stop_count = max(self._waiting.stop_count, self._requests.stops())

    def _wait_for_lanes(self) -> None:
        idle = self._lane_table.idle(self._workers.active_lanes)
        ready = self._monitor.wait(idle, self._waiting, self._workers, self._scheduler, self._search.retry_at)
        self._search.expire_retry()
        self._lane_table.make_ready(ready)

    def _finish(self, code: int, why: str = "") -> AutopilotResult:
        reached = self._budgets.reached() if why in (ControlRequest.PAUSE.value, "paused") else ""
        why = why or "; ".join(f"{key}: {one.why}" for key, one in self._lane_table.failed_starts.items())
        if reached or why == ControlRequest.PAUSE:
            self._lane_table.park_idle(reached.partition(":")[0] or "paused")
        self._reporter.log_left(self.lanes)
        given_up = tuple(self._lane_table.failed_starts.items())
        return AutopilotResult(code, tuple(self._lane_table.merged), tuple(self.lanes), why, reached, given_up)
